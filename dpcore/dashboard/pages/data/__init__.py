"""Content of the page `pages/data.py`: from a file to a table with a declared public schema."""
