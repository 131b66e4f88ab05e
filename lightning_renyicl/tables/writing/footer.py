"""What stands below a table."""

from __future__ import annotations

from typing import Any

from lightning_renyicl.tables.scores import Table, dataset_of
from lightning_renyicl.tables.spec import Spec

LONGEST = 6
"""Metrics that a footer names one by one."""


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
