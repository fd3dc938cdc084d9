"""Content of the page `pages/responses.py`: randomized reports, and what is learned from them."""
