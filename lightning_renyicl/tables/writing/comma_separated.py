"""A table as CSV."""

from __future__ import annotations

import csv
import io

from lightning_renyicl.tables.scores import Table


def comma_separated(table: Table) -> str:
    """Every cell as a line: paper's label, paper's number, ours; empty where there is none."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "column", "paper", "mean", "std", "n", "scale", "dataset"])
    for (row, column), cell in table.cells.items():
        n = len(cell.score.values)
        numbers = [f"{cell.score.mean:.4f}" if n else "", f"{cell.score.std:.4f}" if n > 1 else "", n or ""]
        writer.writerow([row, column, cell.paper, *numbers, table.scale, cell.dataset])
    return text.getvalue()
