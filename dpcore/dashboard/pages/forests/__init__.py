"""Content of the page `pages/forests.py`: trees of private classifiers."""
