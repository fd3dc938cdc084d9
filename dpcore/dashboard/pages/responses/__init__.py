"""What the page `pages/responses.py` shows."""
