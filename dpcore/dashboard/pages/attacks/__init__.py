"""Content of the page `pages/attacks.py`: attacks on published numbers, and a guessing game."""
