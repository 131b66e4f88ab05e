"""Lines over what a table's rows differ in, read back from the picture."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from PIL import Image

from lightning_renyicl.tables.scores import Cell, Score, Table
from lightning_renyicl.tables.spec import Line, Spec
from lightning_renyicl.tables.writing.lines import lines

ROWS = ["letter / 260, 10 a class", "letter / 16,000, all", "adult / 20", "adult / 300", "adult / all", "sleep / 10"]


@pytest.fixture
def table():
    """Of six rows one has both columns' numbers, one a single seed of one, and the third set none."""
    columns = {name: Line(name) for name in ("raw", "trained")}
    spec = Spec("own", "A table", {row: Line(row) for row in ROWS}, columns, lines="labels a class")
    cells = {(row, column): Cell() for row in ROWS for column in columns}
    numbers = {
        ("letter / 260, 10 a class", "raw"): {0: 1.0, 1: 3.0},
        ("letter / 16,000, all", "raw"): {0: 50.0, 1: 70.0},
    }
    numbers |= {("letter / 16,000, all", "trained"): {0: 80.0, 1: 80.0}, ("adult / all", "trained"): {0: 90.0}}
    for key, values in numbers.items():
        cells[key] = Cell(score=Score(values))
    return Table(spec, "small", cells, [], [])


def test_lines(table, monkeypatch, tmp_path):
    drawn, errorbar = [], Axes.errorbar

    def _errorbar(axis, x, y, **kwargs):
        drawn.append((axis.get_title(), kwargs["label"], [round(place) for place in x], y, kwargs["yerr"]))
        return errorbar(axis, x, y, **kwargs)

    monkeypatch.setattr(Axes, "errorbar", _errorbar)
    figures = []
    monkeypatch.setattr("lightning_renyicl.tables.writing.lines.legend", lambda figure, _: figures.append(figure))
    lines(table, tmp_path / "lines.png")
    with Image.open(tmp_path / "lines.png") as image:
        image.verify()
    assert [each[1:4] for each in drawn] == [
        ("raw", [0, 1], [2.0, 60.0]),
        ("trained", [1], [80.0]),
        ("trained", [2], [90.0]),
    ]
    assert [each[4] for each in drawn] == [[pytest.approx(2**0.5), pytest.approx(200**0.5)], [0.0], [0.0]]
    panels = {
        axis.get_title(): [text.get_text() for text in axis.texts] for axis in figures[0].axes if axis.get_title()
    }
    assert panels == {"letter": [], "adult": [], "sleep": ["not run"]}
    ticks = [[text.get_text() for text in axis.get_xticklabels()] for axis in figures[0].axes[:2]]
    assert ticks == [["260\n10 a class", "16,000\nall"], ["20", "300", "all"]]
    assert "over labels a class" in figures[0].get_suptitle()
