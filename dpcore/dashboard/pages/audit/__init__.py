"""What the page `pages/audit.py` shows."""
