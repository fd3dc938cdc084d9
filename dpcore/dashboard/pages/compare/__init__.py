"""Content of the page `pages/compare.py`: comparisons of methods on the same rows."""
