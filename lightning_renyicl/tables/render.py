"""A table as Markdown, LaTeX, CSV and a picture."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightning_renyicl.atomic import old_name, write_text
from lightning_renyicl.tables.scores import Cell, Score, Table, dataset_of
from lightning_renyicl.tables.spec import Spec

EMPTY = "—"
LONGEST = 6
"""Metrics that a footer names one by one."""


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


def write(table: Table, folder: Path) -> list[Path]:
    """Writes ``NAME.md``, ``.tex``, ``.csv`` and ``.png`` into a folder; at scales but the paper's ``NAME-SCALE``.

    Where a table has points, ``NAME-points.png`` too; where it has curves and the runs have left theirs,
    ``NAME-curves.png``.
    """
    from lightning_renyicl.tables.picture import picture

    stem = stem_of(table)
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for suffix, content in ((".md", markdown), (".tex", latex), (".csv", comma_separated)):
        found.append(folder / (stem + suffix))
        write_text(found[-1], content(table))
    found.append(folder / f"{stem}.png")
    picture(table, found[-1])
    if table.spec.points:
        from lightning_renyicl.tables.points import points

        found.append(folder / f"{stem}-points.png")
        points(table, found[-1])
    if table.spec.curves and any(run.curves.exists() for run in table.runs):
        from lightning_renyicl.tables.curves import curves

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
    for suffix in (".md", ".tex", ".csv", ".png", "-points.png", "-curves.png"):
        file_of_it = folder / (stem + suffix)
        if file_of_it.exists():
            file_of_it.rename(folder / (old + suffix))
    return f"of {len(lost)} numbers in {written} there are no runs here: it is kept as {folder / old}.csv"


def rows(table: Table) -> list[Row]:
    """For each row of the paper: ours, the paper's and the difference, as far as there are any."""
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


def footer(table: Table) -> list[str]:
    """What a reader has to know of the numbers: how, on what and where they were made."""
    spec, results = table.spec, table.results
    minutes = sum(result["seconds"] for result in results) / 60
    spent = f"{minutes / 60:.1f} hours" if minutes > 90 else f"{minutes:.1f} minutes"
    # what a protocol with folds of its own reports is not of the validation split, but of its own test folds
    where = "on the test split" if spec.split == "test" else "as `fit` reports it"
    bold = (
        f" Bold: ahead of every other one of its {spec.best_of.removesuffix('s')} by more than the spread, the root of "
        "the summed variances of the two."
    )
    ours = [
        f"Ours: {metrics(spec)} in {spec.units} {where} at the last epoch, mean ± standard deviation (seeds)."
        + ("" if spec.best_of == "none" else bold),
        f"Scale: {table.scale}. " + (f"Runs: {len(results)}, {spent}." if results else "No runs yet."),
    ]
    lines = ours if any(cell.not_run is None for cell in table.cells.values()) else ["Nothing of it can run yet."]
    facts = {
        "Flags": [flag for flag in (" ".join(table.flags),) if flag and results],
        "Epochs": [str(result["epoch"]) for result in results if result.get("epoch") is not None],
        "Data": [dataset_of(result) for result in results],
        "Versions": [versions_of(result) for result in results],
        "Device": [result.get("device", "unknown") for result in results],
        "Commit": [result.get("commit") or "none" for result in results],
    }
    lines += [f"{title}: {'; '.join(dict.fromkeys(each))}." for title, each in facts.items() if each]
    if any(cell.stale for cell in table.cells.values()):
        lines.append("‡: what it was made of has changed since, as said below; `RERUN=stale` runs it again.")
    lines += [f"{remark}." for remark in table.remarks]
    if table.unreplayed:
        lines.append(f"Without a replay, so that a change of code cannot be seen: {', '.join(table.unreplayed)}.")
    lines += [f"Not run, {reason}: {', '.join(labels)}." for reason, labels in reasons(table).items()]
    return lines + list(spec.notes)


def metrics(spec: Spec) -> str:
    """What cells show, and which ones where it isn't the same in all."""
    columns: dict[str, dict[str, None]] = {}
    for row in spec.rows:
        for column in spec.rows[row].only or spec.columns:
            columns.setdefault(spec.metric_of(row, column), {})[column] = None
    if len(columns) == 1:
        return f"`{next(iter(columns))}`"
    if len(columns) == len(spec.columns) > LONGEST:
        return f"`{next(iter(columns))}` to `{next(reversed(columns))}`, a column each,"
    return ", ".join(f"`{metric}` ({', '.join(own)})" for metric, own in columns.items())


def reasons(table: Table) -> dict[str, list[str]]:
    """Why cells are not run, and the rows or columns (else the cells) that it holds for."""
    found: dict[str, list[str]] = {}
    for line in (*table.spec.rows.values(), *table.spec.columns.values()):
        if line.reason:
            found.setdefault(line.reason, []).append(line.label)
    for (row, column), cell in table.cells.items():
        if cell.not_run and not table.spec.rows[row].reason and not table.spec.columns[column].reason:
            found.setdefault(cell.not_run, []).append(f"{row} × {column}")
    return found


def versions_of(result: dict[str, Any]) -> str:
    """Packages and their versions."""
    return ", ".join(f"{name} {version}" for name, version in result.get("versions", {}).items())


def markdown(table: Table) -> str:
    """GitHub's Markdown."""
    heads = ["", "", *table.spec.columns]
    lines = [f"# {table.spec.name}: {table.spec.title}", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows(table):
        cells = [f"**{cell.text}**" if cell.bold else cell.text for cell in row.cells]
        lines.append(f"| {' | '.join([row.label, row.source, *cells])} |")
    return "\n".join([*lines, "", *(f"{line}\n" for line in footer(table))])


def latex(table: Table) -> str:
    """A ``table`` environment with booktabs' rules."""
    import pandas as pd

    printed = rows(table)
    levels = [label.split(" / ") for label in table.spec.columns]
    depth = max(map(len, levels))
    heads = [tuple(map(tex, [""] * (depth - len(level)) + level)) for level in levels]
    cells = [[rf"\textbf{{{tex(c.text)}}}" if c.bold else tex(c.text) for c in row.cells] for row in printed]
    frame = pd.DataFrame(
        cells,
        index=pd.MultiIndex.from_tuples([(tex(row.label), row.source) for row in printed]),
        columns=pd.MultiIndex.from_tuples(heads) if depth > 1 else [head for (head,) in heads],
    )
    text = frame.style.to_latex(
        hrules=True,
        sparse_index=False,
        multicol_align="c",
        column_format="ll" + "c" * len(heads),
        position="t",
        position_float="centering",
        caption=tex(table.spec.title),
        label=f"tab:{table.spec.name}",
    )
    below = "\n".join(rf"\par\footnotesize {tex(line)}" for line in footer(table))
    return text.replace(r"\end{table}", f"{below}\n\\end{{table}}")


_TEX = {
    "\\": r"\textbackslash{}",
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "α": r"$\alpha$",
    "γ": r"$\gamma$",
    "τ": r"$\tau$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "²": "$^2$",
    "†": r"$^\dag$",
    "‡": r"$^\ddag$",
    "ρ": r"$\rho$",
    "—": "---",
    "é": r"\'e",
    "…": r"\dots{}",
    "`": "",
}


def tex(text: str) -> str:
    """Text as LaTeX, whatever its input encoding."""
    return "".join(_TEX.get(sign, sign) for sign in text)


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
