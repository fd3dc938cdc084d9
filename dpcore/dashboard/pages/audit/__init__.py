"""Content of the page `pages/audit.py`: attacks on every method and on the user's own rows."""
