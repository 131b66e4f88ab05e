"""What a table prints: its rows of words, whatever the format."""

from __future__ import annotations

from dataclasses import dataclass

from lightning_renyicl.tables.scores import Cell, Score, Table

EMPTY = "—"


@dataclass(frozen=True)
class Text:
    """What a cell prints.

    Attributes:
        text: the words.
        bold: whether it is marked as the best.
    """

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Row:
    """A printed row: the paper's label on the first of those that belong to it."""

    label: str
    source: str
    cells: list[Text]


def rows(table: Table) -> list[Row]:
    """The lines of each row of the paper: ours, the paper's and the difference, as far as there are any."""
    printed = []
    for name in table.spec.rows:
        cells = [table.cells[name, column] for column in table.spec.columns]
        places = [decimals(table, column) for column in table.spec.columns]
        printed.append(Row(name, "ours", [ours(cell, digits) for cell, digits in zip(cells, places, strict=True)]))
        if any(cell.paper for cell in cells):
            printed.append(Row("", "paper", [Text(papers(cell)) for cell in cells]))
        # made-up data have nothing to do with the paper's
        if table.scale != "smoke" and any(cell.paper and cell.score for cell in cells):
            gaps = [difference(cell, digits) for cell, digits in zip(cells, places, strict=True)]
            printed.append(Row("", "difference", [Text(gap) for gap in gaps]))
    return printed


def decimals(table: Table, column: str) -> int:
    """Digits after the point that the paper prints in a column; where it prints none, 1 for per cent and 2 else."""
    printed = [table.cells[row, column].paper for row in table.spec.rows if table.cells[row, column].paper]
    return max(
        (len(number.partition(".")[2]) for number in printed),
        default=1 if table.spec.unit_of(column) == "per cent" else 2,
    )


def ours(cell: Cell, digits: int) -> Text:
    """Mean ± standard deviation (n), the gain, and ‡ if stale."""
    if cell.not_run is not None:
        return Text("not run")
    if not cell.score:
        return Text(EMPTY)
    text = spread(cell.score, digits)
    if cell.gain:
        text += f" ({cell.gain.mean:+.{digits}f})"
    return Text(text + ("‡" if cell.stale else ""), cell.best)


def spread(score: Score, digits: int) -> str:
    """Mean ± standard deviation (n); of one value only the mean."""
    n = len(score.values)
    middle = f"{score.mean:.{digits}f}"
    return f"{middle} (1)" if n == 1 else f"{middle} ± {score.std:.{digits}f} ({n})"


def papers(cell: Cell) -> str:
    """The paper's number as it prints it."""
    text = cell.paper + (f" ± {cell.spread}" if cell.spread else "")
    return text + (f" ({float(cell.paper_gain):+.1f})" if cell.paper_gain else "")


def difference(cell: Cell, digits: int) -> str:
    """Ours minus the paper's."""
    return f"{cell.score.mean - float(cell.paper):+.{digits}f}" if cell.paper and cell.score else ""
