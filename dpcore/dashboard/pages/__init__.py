"""What each page shows: its numbers, pictures and words, in a folder of its own."""
