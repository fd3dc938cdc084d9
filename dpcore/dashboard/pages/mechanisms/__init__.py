"""Content of the page `pages/mechanisms.py`: live charts of mechanisms on made-up numbers."""
