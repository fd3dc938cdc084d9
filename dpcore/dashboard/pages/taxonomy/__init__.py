"""What the page `pages/taxonomy.py` shows."""
