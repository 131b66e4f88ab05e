"""Points of a table's rows, read back from the picture."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from PIL import Image

from lightning_renyicl.tables.scores import Cell, Score, Table
from lightning_renyicl.tables.spec import Line, Spec
from lightning_renyicl.tables.writing import files
from lightning_renyicl.tables.writing import picture as pictures
from lightning_renyicl.tables.writing.points import points

LABELS = ["Digits / CPC / Base", "Digits / CPC / Hard", "Digits / RMLCPC / Base", "CIFAR-10 / CPC / Base"]


@pytest.fixture
def table():
    """Of four rows two have both numbers, one a single seed, and one lacks the second."""
    columns = {"information": Line("information", unit="nats"), "top-1": Line("top-1"), "loss": Line("loss")}
    spec = Spec("figure", "A figure", {row: Line(row) for row in LABELS}, columns, points=("information", "top-1"))
    scores = [(Score({0: 1.0, 1: 3.0}), Score({0: 50.0, 1: 70.0})), (Score({0: 4.0}), Score({0: 80.0}))]
    scores += [(Score({0: 5.0}), Score({})), (Score({}), Score({}))]
    cells = {(row, column): Cell() for row in LABELS for column in columns}
    for row, (x, y) in zip(LABELS, scores, strict=True):
        cells[row, "information"], cells[row, "top-1"] = Cell(score=x), Cell(score=y)
    return Table(spec, "small", cells, [], [])


def test_points(table, monkeypatch, tmp_path):
    drawn, errorbar = [], Axes.errorbar

    def _errorbar(axis, *args, **kwargs):
        container = errorbar(axis, *args, **kwargs)
        drawn.append((axis, args, kwargs, container.lines[0]))
        return container

    monkeypatch.setattr(Axes, "errorbar", _errorbar)
    points(table, tmp_path / "points.png")
    with Image.open(tmp_path / "points.png") as image:
        image.verify()
    (left, first, bars, base), (also_left, second, no_bars, hard) = drawn
    assert left is also_left
    assert (first, second) == ((2.0, 60.0), (4.0, 80.0))
    assert (bars["xerr"], bars["yerr"]) == (pytest.approx(2**0.5), pytest.approx(200**0.5))
    assert (no_bars["xerr"], no_bars["yerr"]) == (0.0, 0.0)
    assert to_hex(base.get_color()) == to_hex(hard.get_color())
    assert base.get_marker() != hard.get_marker()
    assert (left.get_xlabel(), left.get_ylabel()) == ("information, nats", "top-1, per cent")
    titles = {axis.get_title(): [text.get_text() for text in axis.texts] for axis in left.figure.axes}
    assert titles == {"Digits": [], "CIFAR-10": ["not run"]}


def test_written_with_the_table(table, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "picture", lambda _, path: path.write_text("a picture"))
    assert [path.name for path in files.write(table, tmp_path)][-1] == "figure-small-points.png"
