"""The page Statistics: how statistics are chosen, and how their answers are shown."""
