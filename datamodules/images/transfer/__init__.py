"""Data of the paper's transfer tasks."""
