"""Methods that learn from randomized answers."""
