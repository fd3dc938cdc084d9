"""What the page `pages/networks.py` shows."""
