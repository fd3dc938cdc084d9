"""Content of the page `pages/networks.py`: the graph and the clusters of a released network."""
