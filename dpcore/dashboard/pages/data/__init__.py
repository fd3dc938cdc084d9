"""What the page `pages/data.py` shows."""
