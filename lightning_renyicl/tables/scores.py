"""The numbers of a table: the paper's and those of the runs that are done."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from lightning_renyicl.tables.spec import SPECS, Spec
from lightning_renyicl.tables.training import Run, Status, Training, status

PERCENT = 100


@dataclass(frozen=True)
class Score:
    """Values of several seeds.

    Attributes:
        values: scores by seed, in the table's unit.
    """

    values: dict[int, float]

    @property
    def mean(self) -> float:
        """Their mean; NaN of none."""
        return mean(self.values.values()) if self.values else math.nan

    @property
    def std(self) -> float:
        """Their sample standard deviation; NaN of fewer than two."""
        return stdev(self.values.values()) if len(self.values) > 1 else math.nan

    def __sub__(self, other: Score) -> Score:
        """Differences of the seeds that both have."""
        return Score(
            {seed: self.values[seed] - other.values[seed] for seed in self.values.keys() & other.values.keys()}
        )

    def __bool__(self) -> bool:
        return bool(self.values)

    def ahead_of(self, other: Score) -> bool:
        """Whether the means differ by more than the standard deviation of a difference of two single runs."""
        return self.mean - other.mean > math.hypot(self.std, other.std)


@dataclass
class Cell:
    """A cell of a table.

    Attributes:
        paper: the paper's number as printed; the empty string if it has none.
        spread: what the paper prints after ±.
        paper_gain: what the paper prints in parentheses.
        score: score of the runs that are done.
        gain: over the line that the specification names.
        not_run: why nothing is trained for it; None if something is.
        dataset: what the runs used.
        stale: whether any of its runs is.
        best: whether it is ahead of what it is compared with.
    """

    paper: str = ""
    spread: str = ""
    paper_gain: str = ""
    score: Score = Score({})
    gain: Score = Score({})
    not_run: str | None = None
    dataset: str = ""
    stale: bool = False
    best: bool = False


@dataclass
class Table:
    """Everything that a rendered table says.

    Attributes:
        spec: rows and columns.
        scale: smoke, small or paper.
        cells: cells by their labels of row and column.
        results: contents of ``result.json`` of the runs that are done.
        remarks: what is stale, has failed or lacks its metric.
        flags: flags of the commands.
        runs: those that the results are of.
        unreplayed: names of trainings whose results have no replay to hold against later code.
    """

    spec: Spec
    scale: str
    cells: dict[tuple[str, str], Cell]
    results: list[dict[str, Any]]
    remarks: list[str]
    flags: tuple[str, ...] = ()
    runs: list[Run] = field(default_factory=list)
    unreplayed: list[str] = field(default_factory=list)


def collect(spec: Spec, scale: str, root: Path, flags: tuple[str, ...] = ()) -> Table:
    """Reads the results of a table's runs."""
    printed = paper(spec.name)
    table = Table(spec, scale, {}, [], [], flags)
    states = look(table, root)
    known: dict[tuple[tuple[Training, ...], str, str], tuple[Score, str, bool]] = {}
    for row in spec.rows:
        for column in spec.columns:
            value, spread = printed.get((row, column), ("", ""))
            cell = Cell(value, spread, printed.get((row, f"{column}, gain"), ("", ""))[0])
            trainings = spec.cell(row, column, scale)
            if isinstance(trainings, str):
                cell.not_run = trainings or None
            else:
                key = trainings, spec.metric_of(row, column), spec.unit_of(column)
                if key not in known:
                    known[key] = score_of(*key, states, table)
                cell.score, cell.dataset, cell.stale = known[key]
            table.cells[row, column] = cell
    subtract(table)
    mark_best(table)
    table.remarks = list(dict.fromkeys(table.remarks))  # several columns may show the same runs
    return table


def look(table: Table, root: Path) -> dict[Training, list[Status]]:
    """What every run's folder says, by training and seed; the table gets results, and what has failed or is stale."""
    seeds = range(table.spec.seeds[table.scale])
    states = {}
    for training in table.spec.trainings(table.scale):
        runs = [Run(training, seed, root, table.flags) for seed in seeds]
        found = states[training] = [status(run) for run in runs]
        done = [(run, each.result) for run, each in zip(runs, found, strict=True) if each.result is not None]
        table.runs += [run for run, _ in done]
        table.results += [result for _, result in done]
        failed = [run for run, each in zip(runs, found, strict=True) if each.state in ("failed", "damaged")]
        table.remarks += [f"Failed: {run.folder}" for run in failed]
        if done and not runs[0].replay.exists():
            table.unreplayed.append(training.name)
        stale = dict.fromkeys(reason for each in found if each.state == "stale" for reason in each.reasons)
        if stale:
            table.remarks.append(f"Stale: {training.name} ({'; '.join(stale)})")
    return states


def score_of(
    trainings: tuple[Training, ...], metric: str, unit: str, states: dict[Training, list[Status]], table: Table
) -> tuple[Score, str, bool]:
    """Values of a cell's seeds, the data that they used, and whether any is stale."""
    values: dict[int, float] = {}
    datasets: dict[str, None] = {}
    for seed, found in enumerate(zip(*(states[training] for training in trainings), strict=True)):
        results = [each.result for each in found if each.result is not None]
        if len(results) < len(trainings):
            continue  # the best of those that there are need not be the best
        value = chosen([result["metrics"] for result in results], metric, table.spec.choose_by)
        if value is None:
            known = all(metric in result["metrics"] for result in results)
            table.remarks.append(f"{trainings[0].name}, seed {seed}, has no {'finite ' if known else ''}{metric}")
            continue
        values[seed] = PERCENT * value if unit == "per cent" else value
        datasets |= dict.fromkeys(map(dataset_of, results))
    stale = any(each.state == "stale" for training in trainings for each in states[training])
    return Score(values), "; ".join(datasets), stale


def chosen(candidates: list[dict[str, float | None]], metric: str, choose_by: str | None) -> float | None:
    """The metric of the candidate that is best by validation, the first of equals.

    Where a protocol with folds gives both for each of them, ``svm/fold0/accuracy`` beside ``svm/accuracy``, every fold
    chooses by itself, so that its test samples have no part in the choice.
    """
    if choose_by is None:
        return candidates[0].get(metric)
    values = []
    for k in count():
        keys = [f"{key.rpartition('/')[0]}/fold{k}/{key.rpartition('/')[2]}" for key in (metric, choose_by)]
        present = [key in candidate for candidate in candidates for key in keys]
        if not any(present):
            break
        if not all(present):
            raise ValueError(f"{keys[0]} is in some of the results that {metric} is chosen from, but not in all")
        values.append(best([(candidate[keys[1]], candidate[keys[0]]) for candidate in candidates]))
    values = values or [best([(candidate.get(choose_by), candidate.get(metric)) for candidate in candidates])]
    finite = [value for value in values if value is not None]
    return mean(finite) if len(finite) == len(values) else None


def best(candidates: list[tuple[float | None, float | None]]) -> float | None:
    """The second number of the pair with the highest first one."""
    return max(candidates, key=lambda pair: -math.inf if pair[0] is None else pair[0])[1]


def subtract(table: Table) -> None:
    """Fills cells that are differences of others, and gains."""
    for (row, column), cell in table.cells.items():
        across, down = table.spec.columns[column], table.spec.rows[row]
        pair = [(name, column) for name in down.difference or ()] or [(row, name) for name in across.difference or ()]
        if pair:
            first, second = (table.cells[key] for key in pair)
            cell.score = first.score - second.score
            cell.not_run = first.not_run or second.not_run
            cell.dataset, cell.stale = first.dataset, first.stale or second.stale
        if across.gain_over or down.gain_over:
            over = (row, across.gain_over) if across.gain_over else (down.gain_over, column)
            base = table.cells[over]  # type: ignore[index]
            if cell.score.values.keys() == base.score.values.keys():
                cell.gain = cell.score - base.score
                cell.stale = cell.stale or (base.stale and bool(cell.gain))


def mark_best(table: Table) -> None:
    """Marks a cell that is ahead of every other one of its column, or of its row, by more than the spread."""
    if table.spec.best_of == "none":
        return
    down = table.spec.best_of == "columns"
    for key, cell in table.cells.items():
        others = [
            other
            for name, other in table.cells.items()
            if name != key and name[down] == key[down] and not other.not_run and not is_difference(table, name)
        ]
        # as long as one is missing, none is the best
        compared = bool(others) and not is_difference(table, key)
        cell.best = compared and all(cell.score.ahead_of(other.score) for other in others)


def is_difference(table: Table, key: tuple[str, str]) -> bool:
    """Whether a cell is one cell minus another."""
    return bool(table.spec.rows[key[0]].difference or table.spec.columns[key[1]].difference)


def dataset_of(result: dict[str, Any]) -> str:
    """The data as really used: its class, the samples in each split, and how much of an epoch was left out."""
    data = result.get("data") or {"name": "unknown"}
    facts = [f"{size:,} {split}" for split, size in data.get("samples", {}).items() if size]
    trainer = (result["config"] or {}).get("trainer", {})
    for split in ("train", "val", "test"):
        limit = trainer.get(f"limit_{split}_batches")
        if isinstance(limit, int):
            facts.append(f"{split} limited to {limit} batch{'' if limit == 1 else 'es'}")
        elif limit not in (None, 1.0):
            facts.append(f"{split} limited to {limit} of its batches")
    return f"{data['name']} ({', '.join(facts)})" if facts else str(data["name"])


def paper(table: str) -> dict[tuple[str, str], tuple[str, str]]:
    """The paper's numbers and spreads of a table, as printed, by labels of row and column."""
    with (SPECS / "paper.csv").open(newline="", encoding="utf-8") as file:
        return {
            (line["row"], line["column"]): (line["value"], line["spread"])
            for line in csv.DictReader(file)
            if f"table{line['table']}" == table
        }
