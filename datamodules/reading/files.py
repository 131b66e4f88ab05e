"""Tables in files, read as they are: CSV and TSV, which may be compressed, and Parquet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from lightning.pytorch.utilities import rank_zero_info

from datamodules.labels import some
from datamodules.reading.cleaning import cleaned
from datamodules.reading.index_columns import is_index
from datamodules.reading.layout import Layout
from datamodules.reading.parquet_files import read_parquet
from datamodules.reading.text_files import read_text

if TYPE_CHECKING:
    import pyarrow as pa


def read_table(
    path: Path, layout: Layout | None = None, named: Collection[str | None] = ()
) -> tuple[dict[str, pa.ChunkedArray], list[str]]:
    """The columns of a table, in the file's order. Those of text files are text, without the blanks around values.

    The index that pandas writes beside the columns is left out, with a line that says so, and so are columns without
    a name. Another line names the texts that stand for a missing value.

    Returns:
        The columns by name, and the names of those that were left out.

    Args:
        path: ``.parquet`` or ``.pq``, else text: ``.tsv`` and ``.tab`` have tabs, others commas between values. Text
            may be compressed: ``.gz``, ``.bz2``, ``.zst``, ``.lz4``.
        layout: how values are written.
        named: columns that are wanted even if they are an index.

    Raises:
        ValueError: a file that is damaged, too large or no such table; lines of different length, by number; names
            given twice.
        OSError: a file that cannot be read.
    """
    import pyarrow as pa

    layout = layout or Layout()
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "no such file"
        raise FileNotFoundError(f"{path}: {what}")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    index: list[str] = []
    if suffixes and suffixes[-1] in (".parquet", ".pq"):
        table, index = read_parquet(path, layout)
    else:
        tabs = any(suffix in (".tsv", ".tab") for suffix in suffixes)
        table = read_text(path, layout, layout.delimiter or ("\t" if tabs else ","))
    names = [str(name).strip() for name in table.column_names]
    left_out = [name for name in names if name not in named and (name in index or is_index(name))]
    if left_out:
        rank_zero_info(f"{path}: left out as the index of its rows: {some(left_out)} (another name would keep it)")
    twice = [name for name, count in Counter(names).items() if count > 1 and name not in left_out]
    if twice:
        raise ValueError(f"{path} has several columns of the same name: {some(twice)}")
    columns, marks = {}, {}
    for name in names:
        column, table = table.column(0), table.remove_column(0)  # for the memory
        if name not in left_out:
            if pa.types.is_null(column.type):
                column = column.cast(pa.string())
            columns[name], marks[name] = cleaned(column, layout, name, path)
    if not columns:
        raise ValueError(f"{path} has no columns beside the index of its rows")
    if any(marks.values()):
        found = [f"{', '.join(map(repr, texts))} in {name}" for name, texts in marks.items() if texts]
        rank_zero_info(f"{path}: texts that stand for missing values: {some(found)} (missing says which do)")
    return columns, left_out
