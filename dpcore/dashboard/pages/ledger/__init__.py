"""What the page `pages/ledger.py` shows."""
