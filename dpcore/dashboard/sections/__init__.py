"""Parts of pages that stand for themselves."""
