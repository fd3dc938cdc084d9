"""The content of the dashboard's pages: one package of charts, controls and texts for each page."""
