"""Curves of a table's runs, read back from the picture."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from PIL import Image

from lightning_renyicl.tables.scores import Cell, Score, Table
from lightning_renyicl.tables.spec import Line, Spec
from lightning_renyicl.tables.training import Run
from lightning_renyicl.tables.writing import files
from lightning_renyicl.tables.writing import picture as pictures
from lightning_renyicl.tables.writing.curves import curves

LABELS = {"A / x": "a", "A / y": "b", "B / x": "c", "B / y": "d"}
METRICS = "step,train/bound,train/other,val/top1,known\n" + "".join(
    f"{step},{step / 10},{step / 5},,2.0\n{step},,,0.5,\n" for step in range(100)
)


@pytest.fixture
def table(tmp_path):
    """Three of four rows have a run, one of them no curves; one has two seeds."""
    rows = {label: Line(label, config=config) for label, config in LABELS.items()}
    columns = {"bias": Line("bias", metric="bias"), "mse": Line("mse", metric="mse")}
    spec = Spec(
        "figure",
        "A figure",
        rows,
        columns,
        unit="nats",
        curves={"objective": ["train/bound", "train/other"]},
        known="known",
    )
    trainings = spec.trainings("small")
    runs = [Run(trainings[number], seed, tmp_path) for number, seed in ((0, 0), (0, 1), (1, 0), (2, 0))]
    for run in runs[:3]:
        run.folder.mkdir(parents=True)
        run.curves.write_text(METRICS if run.seed == 0 else METRICS.replace("0.1,", "9.9,"))
    cells = {(row, column): Cell(score=Score({0: 0.125})) for row in rows for column in columns}
    return Table(spec, "small", cells, [], [], runs=runs)


@pytest.fixture
def drawn(monkeypatch):
    """What is plotted, by title of the panel's column and label of its line."""
    found, plot, text = {}, Axes.plot, Axes.text

    def _plot(axis, x, y, *args, **kwargs):
        found.setdefault(axis, []).append((kwargs["label"], np.asarray(x), np.asarray(y)))
        return plot(axis, x, y, *args, **kwargs)

    def _text(axis, x, y, words, **kwargs):
        found.setdefault(axis, []).append((words, None, None))
        return text(axis, x, y, words, **kwargs)

    monkeypatch.setattr(Axes, "plot", _plot)
    monkeypatch.setattr(Axes, "text", _text)
    return found


def test_panels(table, drawn, tmp_path):
    curves(table, tmp_path / "curves.png")
    with Image.open(tmp_path / "curves.png") as image:
        image.verify()
    (a_x, a_y, b_x, b_y) = drawn.values()
    assert [[name for name, *_ in panel] for panel in (b_x, b_y)] == [["not run"], ["not run"]]
    for panel in (a_x, a_y):
        assert [name for name, *_ in panel] == ["as logged", "moving mean", "moving mean, train/other", "known"]
        (_, steps, values), (_, _, smooth), (_, _, other), (_, _, known) = panel
        np.testing.assert_allclose(other, 2 * smooth)
        np.testing.assert_array_equal(steps, np.arange(100))  # lines of other loggings are left out
        np.testing.assert_allclose(values, np.arange(100) / 10)
        assert smooth[50] == pytest.approx((values[49] + values[50]) / 2)
        assert set(known) == {2.0}
    axes = list(drawn)
    assert [axis.get_title() for axis in axes] == ["x", "y", "", ""]
    assert [axis.get_ylabel() for axis in axes] == ["A\nobjective, nats", "", "B\nobjective, nats", ""]


def test_written_where_runs_left_curves(table, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "picture", lambda _, path: path.write_text("a picture"))
    names = ["figure-small.md", "figure-small.tex", "figure-small.csv", "figure-small.png"]
    assert [path.name for path in files.write(table, tmp_path / "a")] == [*names, "figure-small-curves.png"]
    table.runs = table.runs[3:]
    assert [path.name for path in files.write(table, tmp_path / "b")] == names


def test_other_units_stay_as_they_are(table):
    text = files.markdown(table)
    assert "| A / x | ours | 0.12 (1) | 0.12 (1) |" in text
    assert "`bias` (bias), `mse` (mse) in nats on the test split" in text
