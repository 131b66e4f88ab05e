"""Tables: data sets, how files become rows of numbers and how rows are augmented."""
