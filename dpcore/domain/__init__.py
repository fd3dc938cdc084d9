"""What is public about a table: columns, their values and bounds, and how a domain is divided."""
