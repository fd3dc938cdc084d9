"""Methods that go down the columns' taxonomies and release groups of rows."""
