"""Content of the page `pages/taxonomy.py`: trees of counts, and the editor of taxonomies."""
