"""Public knowledge of a data set: columns, values and bounds, and partitions of the domain."""
