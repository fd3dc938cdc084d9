"""Start: the doors to lessons, to a table of one's own, and to a first look."""
