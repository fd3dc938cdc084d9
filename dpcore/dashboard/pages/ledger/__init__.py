"""Content of the page `pages/ledger.py`: the privacy loss of all runs, by data set."""
