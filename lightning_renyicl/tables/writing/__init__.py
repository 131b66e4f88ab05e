"""How a table is written: a file a format, and pictures."""
