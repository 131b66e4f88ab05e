"""Columns of your own files, text or Parquet, for every domain that reads them."""
