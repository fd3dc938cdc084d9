"""What the page `pages/compare.py` shows."""
