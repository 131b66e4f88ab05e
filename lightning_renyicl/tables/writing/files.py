"""The files of a table."""

from __future__ import annotations

import csv
from pathlib import Path

from lightning_renyicl.atomic import old_name, write_text
from lightning_renyicl.tables.scores import Table
from lightning_renyicl.tables.writing.comma_separated import comma_separated
from lightning_renyicl.tables.writing.latex import latex
from lightning_renyicl.tables.writing.markdown import markdown

FORMATS = {".md": markdown, ".tex": latex, ".csv": comma_separated}
"""The text of a table's file, by its suffix."""


def write(table: Table, folder: Path) -> list[Path]:
    """Writes ``NAME.md``, ``.tex``, ``.csv`` and ``.png`` into a folder; at scales but the paper's ``NAME-SCALE``.

    Where a table has points or lines, ``NAME-points.png`` or ``NAME-lines.png`` too; where it has curves and the runs
    have left theirs, ``NAME-curves.png``.
    """
    from lightning_renyicl.tables.writing.picture import picture

    stem = stem_of(table)
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for suffix, content in FORMATS.items():
        found.append(folder / (stem + suffix))
        write_text(found[-1], content(table))
    found.append(folder / f"{stem}.png")
    picture(table, found[-1])
    if table.spec.points:
        from lightning_renyicl.tables.writing.points import points

        found.append(folder / f"{stem}-points.png")
        points(table, found[-1])
    if table.spec.lines:
        from lightning_renyicl.tables.writing.lines import lines

        found.append(folder / f"{stem}-lines.png")
        lines(table, found[-1])
    if table.spec.curves and any(run.curves.exists() for run in table.runs):
        from lightning_renyicl.tables.writing.curves import curves

        found.append(folder / f"{stem}-curves.png")
        curves(table, found[-1])
    return found


def stem_of(table: Table) -> str:
    """What its files are called, without suffixes."""
    return table.spec.name if table.scale == "paper" else f"{table.spec.name}-{table.scale}"


def keep_fuller(table: Table, folder: Path) -> str | None:
    """Renames the files of a table that has numbers where this one has none, to the first free ``NAME-old``.

    Returns:
        Which numbers are meant and where they are now; None if there are none.

    Raises:
        ValueError: a CSV file that isn't a table's.
    """
    stem = stem_of(table)
    written = folder / f"{stem}.csv"
    if not written.exists():
        return None
    with written.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    if any(not {"row", "column", "mean"} <= line.keys() for line in lines):
        raise ValueError(f"{written} is not a table's: move it away")
    there = {(line["row"], line["column"]) for line in lines if line["mean"]}
    lost = there & {key for key, cell in table.cells.items() if not cell.score}
    if not lost:
        return None
    old = old_name(stem, lambda name: any(folder.glob(f"{name}.*")))
    for suffix in (*FORMATS, ".png", "-points.png", "-lines.png", "-curves.png"):
        file_of_it = folder / (stem + suffix)
        if file_of_it.exists():
            file_of_it.rename(folder / (old + suffix))
    return f"of {len(lost)} numbers in {written} there are no runs here: it is kept as {folder / old}.csv"
