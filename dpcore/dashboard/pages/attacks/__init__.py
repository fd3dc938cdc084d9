"""What the page `pages/attacks.py` shows."""
