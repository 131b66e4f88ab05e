"""Tables in Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from datamodules.reading.layout import Layout, too_large
from datamodules.reading.text_files import reason
from datamodules.reading.values import is_text

if TYPE_CHECKING:
    import pyarrow as pa

WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
"""Bytes of a value; text and whatever else is not of a fixed width begins with a place of 4."""
ROWS = 256
"""Rows that are unpacked at a time where a value may be of any size."""


def read_parquet(path: Path, layout: Layout) -> tuple[pa.Table, list[str]]:
    """The columns of a Parquet file, and which of them pandas wrote as the rows' index.

    Raises:
        ValueError: a file that is damaged, too large or no Parquet.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            size, schema = _unpacked(file.metadata), file.schema_arrow
        if size <= layout.limit:
            # text as it is packed, every value once: a small file may repeat a long one
            packed = [field.name for field in schema if is_text(field.type)]
            size += _of_no_fixed_size(path, schema, layout.limit)
        if size <= layout.limit:
            table = parquet.read_table(path, partitioning=None, read_dictionary=packed)
            size += sum(_repeated(column) for column in table.columns if pa.types.is_dictionary(column.type))
        if size <= layout.limit:
            for number, field in enumerate(table.schema):
                if field.name in packed and pa.types.is_dictionary(field.type):
                    kind = schema.field(field.name).type
                    table = table.set_column(number, pa.field(field.name, kind), table.column(number).cast(kind))
        metadata = schema.pandas_metadata
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} is no Parquet file or damaged: {reason(error)}") from error
    if size > layout.limit:
        raise too_large(path, size, layout.limit)
    index = metadata.get("index_columns") if isinstance(metadata, dict) else None
    return table, [name for name in index if isinstance(name, str)] if isinstance(index, list) else []


def _unpacked(metadata: pa.parquet.FileMetaData) -> int:
    """Bytes that a file takes at least when it is unpacked, as it says itself."""
    size = 0
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            column = metadata.row_group(group).column(number)
            size += max(column.total_uncompressed_size, column.num_values * WIDTHS.get(column.physical_type, 4))
    return size


def _of_no_fixed_size(path: Path, schema: pa.Schema, limit: int) -> int:
    """Bytes of lists and whatever else may repeat a long value, read some rows at a time until they are too many."""
    import pyarrow as pa
    from pyarrow import parquet

    known = (is_text, pa.types.is_primitive, pa.types.is_decimal, pa.types.is_dictionary)
    names = [field.name for field in schema if not any(is_known(field.type) for is_known in known)]
    size = 0
    if names:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS, columns=names):
                size += batch.nbytes
                if size > limit:
                    break
    return size


def _repeated(column: pa.ChunkedArray) -> int:
    """Bytes that text takes when each of its values stands where it belongs."""
    import pyarrow.compute as pc

    size = 0
    for chunk in column.chunks:
        if is_text(chunk.type.value_type) and len(chunk):
            lengths = pc.binary_length(chunk.dictionary).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            size += int(lengths[chunk.indices.drop_null().to_numpy(zero_copy_only=False)].sum())
    return size
