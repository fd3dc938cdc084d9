"""What the page `pages/mechanisms.py` shows."""
