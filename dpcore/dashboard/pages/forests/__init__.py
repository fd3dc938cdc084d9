"""What the page `pages/forests.py` shows."""
