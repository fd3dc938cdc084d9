"""Content of the page `pages/home.py`: lessons, the user's own table, and a first release."""
