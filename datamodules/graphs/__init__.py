"""Graphs: data sets, how they are packed into tensors and how they are augmented."""
