"""Methods that release rows from a network of columns."""
