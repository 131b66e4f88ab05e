"""What a table consists of: its rows and columns, and the training that each cell asks for."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from lightning_renyicl.tables.training import Training, read_yaml

SCALES = ("smoke", "small", "paper")
CONFIGS = Path("configs")
SPECS = CONFIGS / "tables"
SEEDS = {"smoke": 1, "small": 3, "paper": 5}


@dataclass(frozen=True)
class Line:
    """A row or a column.

    Attributes:
        label: the paper's label; headings of several levels are joined by " / ".
        config: the configuration that its cells train, a path under ``configs/`` without ``.yaml``.
        fills: what takes the place of ``{}`` in the other line's ``config``, ``overlays`` and ``metric``.
        overlays: configurations laid over that.
        by_column: overlays of a row in single columns, laid over all others: what was chosen for that data.
        one_of: configurations of which each is laid over those and trained; a cell has the best by ``Spec.choose_by``.
        metric: key in ``result.json``, where it isn't the table's.
        unit: unit of a column's numbers, where it isn't the table's.
        only: columns that a row fills, as others would show the same.
        without: columns that a row doesn't fill, each with why.
        scales: overlays of each scale at which its cells can run; of rows and columns that give none, at every scale.
        timed_on: an overlay for each scale, with made-up data of the same shape, to time a step without the data.
        gain_over: another line; each cell also prints its gain over that line's.
        difference: two other lines; each cell is the first's minus the second's, and nothing is trained.
        missing: what the suite lacks to run its cells.
    """

    label: str
    config: str | None = None
    fills: str | None = None
    overlays: tuple[str, ...] = ()
    by_column: dict[str, tuple[str, ...]] = field(default_factory=dict)
    one_of: tuple[str, ...] = ()
    metric: str | None = None
    unit: str | None = None
    only: tuple[str, ...] = ()
    without: dict[str, str] = field(default_factory=dict)
    scales: dict[str, tuple[str, ...]] | None = None
    timed_on: dict[str, str] | None = None
    gain_over: str | None = None
    difference: tuple[str, str] | None = None
    missing: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether the other line has to fill something of it."""
        return any("{}" in text for text in (self.config or "", self.metric or "", *self.overlays))

    def filled_by(self, other: Line) -> Line:
        """The line with what the other one fills."""
        if other.fills is None:
            return self
        config, metric = (text and text.replace("{}", other.fills) for text in (self.config, self.metric))
        overlays = tuple(overlay.replace("{}", other.fills) for overlay in self.overlays)
        return replace(self, config=config, metric=metric, overlays=overlays)

    @property
    def reason(self) -> str | None:
        """Why its cells are not run; None if they can be."""
        return f"for want of {self.missing}" if self.missing else None


@dataclass(frozen=True)
class Spec:
    """A table as ``configs/tables/NAME.yaml`` gives it.

    Attributes:
        name: the make target.
        title: one line.
        metric: key in ``result.json``, where neither row nor column has one.
        unit: unit of what is printed: shares are printed in per cent, other numbers as they are.
        points: two columns; a picture has every row as a point, the first column across, the second up. Rows are called
            ``A / B / C``: a panel for each A, a colour for each B and a mark for each C.
        lines: what the second parts of the rows' labels are called, which are ``A / B``; a picture has a panel for each
            A, and in it a line for each column over the Bs in order.
        curves: columns of ``metrics.csv`` that are drawn over the steps, by what they are called, the first as it was
            logged and smoothed, others smoothed and dashed; of rows whose labels are ``A / B`` all with the same A
            side by side.
        known: a column of it with what all curves are held against.
        choose_by: key in ``result.json`` of the validation accuracy that lines with ``one_of`` choose by.
        split: ``test``: the checkpoint is scored by ``lightning test``; ``val``: by ``fit`` itself at its end.
        seeds: number of seeds at each scale.
        shares: another table, whose trainings of the same configurations serve here too.
        best_of: whether the best is marked among a column's rows or a row's columns; ``none`` where more isn't better.
        rows: rows by their labels, in order.
        columns: columns by their labels, in order.
        notes: what a reader has to know, printed below the table.
    """

    name: str
    title: str
    rows: dict[str, Line]
    columns: dict[str, Line]
    metric: str = "online_probe/top1"
    unit: str = "per cent"
    points: tuple[str, ...] = ()
    lines: str | None = None
    curves: dict[str, list[str]] = field(default_factory=dict)
    known: str | None = None
    choose_by: str | None = None
    split: str = "test"
    seeds: dict[str, int] = field(default_factory=SEEDS.copy)
    shares: str | None = None
    best_of: str = "columns"
    notes: tuple[str, ...] = ()

    def cell(self, row: str, column: str, scale: str) -> tuple[Training, ...] | str:
        """What a cell trains, or why nothing is trained for it; the empty string if it is a difference of cells.

        Several trainings are what the best is chosen from.
        """
        lines = self._lines(row, column)
        if any(line.difference for line in lines):
            return ""
        for line in lines:
            if line.reason:
                return line.reason
        only = lines[0].only
        if only and column not in only:
            return f"the same as in {' and '.join(only)}"
        if column in lines[0].without:
            return lines[0].without[column]
        config = next((line.config for line in lines if line.config), None)
        if config is None:
            return "no configuration yet"
        if any(line.scales is not None and scale not in line.scales for line in lines):
            return f"nothing to run at scale {scale}"
        own = [config, *lines[0].overlays, *lines[1].overlays, *lines[0].by_column.get(column, ())]
        scaled = [overlay for line in lines for overlay in (line.scales or {}).get(scale, ())]
        stand_in = next((line.timed_on.get(scale) for line in lines if line.timed_on), None)
        choices = [[choice] for line in lines for choice in line.one_of] or [[]]
        return tuple(self._training([*own, *choice], scaled, stand_in, scale) for choice in choices)

    def _lines(self, row: str, column: str) -> tuple[Line, Line]:
        """A row and a column, each with what the other one fills."""
        across, down = self.rows[row], self.columns[column]
        return across.filled_by(down), down.filled_by(across)

    def metric_of(self, row: str, column: str) -> str:
        """The key in ``result.json`` of what a cell shows."""
        across, down = self._lines(row, column)
        return across.metric or down.metric or self.metric

    def unit_of(self, column: str) -> str:
        """The unit of the numbers in a column."""
        return self.columns[column].unit or self.unit

    @property
    def units(self) -> str:
        """The unit of all numbers; of columns that differ, each with the last part of their labels."""
        columns: dict[str, dict[str, None]] = {}
        for column in self.columns:
            columns.setdefault(self.unit_of(column), {})[column.split(" / ")[-1]] = None
        if len(columns) == 1:
            return next(iter(columns))
        return ", ".join(f"{unit} ({', '.join(own)})" for unit, own in columns.items())

    def _training(self, own: list[str], scaled: list[str], stand_in: str | None, scale: str) -> Training:
        training = Training(
            table=self.name,
            scale=scale,
            name="+".join(Path(part).name for part in own),
            configs=tuple(path_of(part) for part in own + scaled),
            split=self.split,
            timed_on=None if stand_in is None else path_of(stand_in),
        )
        if self.shares is not None:
            for other in load(self.shares).trainings(scale):
                if (other.name, other.configs) == (training.name, training.configs):
                    return replace(other, split=training.split)
        return training

    def trainings(self, scale: str, column: str = "") -> list[Training]:
        """Every training of the table, each once, in the order of its cells.

        Args:
            scale: smoke, small or paper.
            column: only those of columns with this label, or with it as a part between " / ".

        Raises:
            ValueError: no column has.
        """
        chosen = [label for label in self.columns if column in ("", label, *label.split(" / "))]
        if not chosen:
            raise ValueError(f"{self.name} has no column {column}; its columns are {', '.join(self.columns)}")
        cells = (self.cell(row, label, scale) for row in self.rows for label in chosen)
        return list(dict.fromkeys(training for cell in cells if not isinstance(cell, str) for training in cell))


def path_of(part: str) -> str:
    """The file of a configuration that a specification names."""
    return str(CONFIGS / f"{part}.yaml")


def names() -> list[str]:
    """Every table, in the paper's order, then the others."""
    if not SPECS.is_dir():
        raise FileNotFoundError(f"there is no folder {SPECS} here: run this in the project's folder")

    def order(name: str) -> tuple[int, str]:
        number = name.removeprefix("table")
        return (int(number), "") if number.isdigit() else (10**6, name)

    return sorted((path.stem for path in SPECS.glob("*.yaml")), key=order)


@cache
def load(name: str) -> Spec:
    """Reads ``configs/tables/NAME.yaml``.

    Raises:
        ValueError: an unknown table, key, line or scale.
    """
    path = SPECS / f"{name}.yaml"
    if name not in names():
        raise ValueError(f"there is no table {name}; there are {', '.join(names())}")
    content = read_yaml(path)
    check_keys(path, content, Spec, {"name"})
    if not isinstance(content.get("title"), str):
        raise ValueError(f"{path} has no title")
    lines: dict[str, dict[str, Line]] = {}
    for kind in ("rows", "columns"):
        if not isinstance(content.get(kind), dict):
            raise ValueError(f"{path}: {kind} must be labels, each with its keys")
        lines[kind] = {str(label): line(path, str(label), keys or {}) for label, keys in content[kind].items()}
        for one in lines[kind].values():
            for other in (*(one.difference or ()), *filter(None, [one.gain_over])):
                if other not in lines[kind]:
                    raise ValueError(f"{path}: {one.label} names {other}, which is none of the {kind}")
    for kind, columns in (("rows", lines["columns"].keys()), ("columns", set())):
        for one in lines[kind].values():
            if wrong := {*one.only, *one.without, *one.by_column} - columns:
                told = ", ".join(sorted(wrong))
                raise ValueError(
                    f"{path}: {one.label}: only, without and by_column are for rows, and name columns, got {told}"
                )
    points = strings(path, "points", content.get("points"))
    if points and not (len(points) == 2 and lines["columns"].keys() >= set(points)):
        raise ValueError(f"{path}: points names two columns, got {', '.join(points)}")
    if content.get("lines") and not all(label.count(" / ") == 1 for label in lines["rows"]):
        raise ValueError(f"{path}: lines needs rows called A / B, got {', '.join(lines['rows'])}")
    if any(one.unit for one in lines["rows"].values()):
        raise ValueError(f"{path}: only columns have a unit of their own")
    for kind, other in (("rows", "columns"), ("columns", "rows")):
        is_open = any(one.is_open for one in lines[kind].values())
        fill = [bool(one.fills) for one in lines[other].values() if not one.missing and not one.difference]
        if any(fill) != is_open or (is_open and not all(fill)):
            raise ValueError(f"{path}: a {{}} in {kind} needs all {other} to say what fills it")
    seeds = SEEDS | (content.get("seeds") or {})
    notes = strings(path, "notes", content.get("notes"))
    spec = Spec(name=name, **{**content, **lines, "seeds": seeds, "points": points, "notes": notes})
    if any(one.one_of for kind in lines.values() for one in kind.values()) and not spec.choose_by:
        raise ValueError(f"{path}: one_of needs choose_by, the validation accuracy to choose by")
    if all(any(one.one_of for one in kind.values()) for kind in lines.values()):
        raise ValueError(f"{path}: either rows or columns have one_of, not both")
    if spec.split not in ("test", "val") or spec.best_of not in ("columns", "rows", "none"):
        raise ValueError(f"{path}: split is test or val, best_of is columns, rows or none")
    curved = spec.curves.values() if isinstance(spec.curves, dict) else [None]
    if not all(isinstance(keys, list) and keys for keys in curved):
        raise ValueError(f"{path}: curves are names, each with a list of columns of metrics.csv, got {spec.curves}")
    if spec.shares is not None and (spec.shares not in names() or spec.shares == name or load(spec.shares).shares):
        raise ValueError(f"{path}: shares names another table that shares none itself, got {spec.shares}")
    check_scales(path, seeds)
    if not all(isinstance(count, int) and count > 0 for count in seeds.values()):
        raise ValueError(f"{path}: seeds are numbers of at least 1, got {seeds}")
    return spec


def line(path: Path, label: str, keys: dict[str, Any]) -> Line:
    """A row or column of a specification."""
    check_keys(path, keys, Line, {"label"})
    given = keys.keys() & {"overlays", "one_of", "difference", "only"}
    lists: dict[str, Any] = {key: strings(path, f"{label}: {key}", keys[key]) for key in given}
    if len(lists.get("difference", ("", ""))) != 2:
        raise ValueError(f"{path}: {label}: difference names two lines, got {keys['difference']}")
    if not isinstance(keys.get("without", {}), dict):
        raise ValueError(f"{path}: {label}: without gives columns a reason each, got {keys['without']!r}")
    if not isinstance(keys.get("by_column", {}), dict):
        raise ValueError(f"{path}: {label}: by_column gives columns a list of overlays each, got {keys['by_column']!r}")
    lists["by_column"] = {
        column: strings(path, f"{label}: {column}", own) for column, own in keys.get("by_column", {}).items()
    }
    scales = keys.get("scales")
    if scales is not None:
        check_scales(path, scales)
        scales = {scale: strings(path, f"{label}: {scale}", parts) for scale, parts in scales.items()}
    check_scales(path, keys.get("timed_on") or {})
    return Line(label=label, **{**keys, **lists, "scales": scales})


def strings(path: Path, what: str, value: Any) -> tuple[str, ...]:
    """A list of a specification."""
    if value is not None and not isinstance(value, list):
        raise ValueError(f"{path}: {what} must be a list, got {value!r}")
    return tuple(map(str, value or ()))


def check_scales(path: Path, scales: Any) -> None:
    """Raises ValueError for keys that are no scales."""
    check = scales.keys() - set(SCALES) if isinstance(scales, dict) else {str(scales)}
    if check:
        raise ValueError(f"{path}: unknown scale {', '.join(sorted(map(str, check)))}; there are {', '.join(SCALES)}")


def check_keys(path: Path, keys: Any, schema: type, given: set[str]) -> None:
    """Raises ValueError for keys that a class doesn't have."""
    if not isinstance(keys, dict):
        raise ValueError(f"{path}: expected keys with values, got {keys!r}")
    known = {each.name for each in fields(schema)} - given
    unknown = sorted(map(str, keys.keys() - known))
    if unknown:
        raise ValueError(f"{path}: unknown {', '.join(unknown)}; there are {', '.join(sorted(known))}")
