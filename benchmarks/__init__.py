"""What we measure and how to measure it again; each module prints its figures."""
