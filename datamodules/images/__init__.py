"""Images: data sets, how they are read and how they are augmented."""
