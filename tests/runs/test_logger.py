"""``metrics.csv`` is one curve, however often the run was stopped."""

from __future__ import annotations

import csv
import sys

import pytest

from lightning_renyicl.runs.logger import ContinuedCSVLogger


def log(folder, steps, name="loss", offset=0.0):
    logger = ContinuedCSVLogger(str(folder))
    logger.save()  # as the trainer does before the first step
    for step in steps:
        logger.log_metrics({name: step + offset}, step)
    logger.finalize("success")


def rows(folder):
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_new_run(tmp_path):
    log(tmp_path / "run", range(3))
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["metrics.csv"]
    assert rows(tmp_path / "run") == [{"loss": str(float(i)), "step": str(i)} for i in range(3)]


@pytest.mark.parametrize("resumed_at", [5, 3, 0], ids=["where it stopped", "before", "at the start"])
def test_keeps_what_came_before_the_first_step_logged(tmp_path, resumed_at):
    log(tmp_path, range(5))
    log(tmp_path, range(resumed_at, 8), offset=0.5)
    found = rows(tmp_path)
    assert [int(row["step"]) for row in found] == list(range(8))
    assert [float(row["loss"]) % 1 for row in found] == [0.0] * resumed_at + [0.5] * (8 - resumed_at)


def test_stopped_twice(tmp_path):
    for start in (0, 2, 4):
        log(tmp_path, range(start, start + 3))
    assert [int(row["step"]) for row in rows(tmp_path)] == list(range(7))


def test_several_rows_a_step(tmp_path):
    log(tmp_path, [0, 0, 1, 1])
    log(tmp_path, [1, 1, 2])
    assert [int(row["step"]) for row in rows(tmp_path)] == [0, 0, 1, 1, 2]


def test_a_new_column_of_a_resumed_run(tmp_path):
    log(tmp_path, range(2))
    log(tmp_path, range(2, 4), name="top1")
    found = rows(tmp_path)
    assert [row["loss"] for row in found] == ["0.0", "1.0", "", ""]
    assert [row["top1"] for row in found] == ["", "", "2.0", "3.0"]


def test_a_resumed_run_that_logs_nothing_keeps_the_file(tmp_path):
    log(tmp_path, range(3))
    before = (tmp_path / "metrics.csv").read_bytes()
    log(tmp_path, [])
    assert (tmp_path / "metrics.csv").read_bytes() == before


def test_a_resumed_run_that_fails_before_it_logs_keeps_the_file(tmp_path):
    log(tmp_path, range(3))
    ContinuedCSVLogger(str(tmp_path)).save()  # as the trainer does at its start
    assert [int(row["step"]) for row in rows(tmp_path)] == [0, 1, 2]
    log(tmp_path, range(2, 4))
    assert [int(row["step"]) for row in rows(tmp_path)] == [0, 1, 2, 3]


@pytest.mark.parametrize("end", ["12", "12.5", ",", "1.5,3\r"], ids=["a number", "a field", "a comma", "a line's end"])
def test_a_last_line_that_was_cut_is_left_out(tmp_path, end):
    log(tmp_path, range(3))
    with (tmp_path / "metrics.csv").open("a", newline="") as file:
        file.write(end)
    with pytest.warns(UserWarning, match=r"the last line of .*metrics\.csv was cut"):
        log(tmp_path, range(3, 5))
    assert rows(tmp_path) == [{"loss": str(float(i)), "step": str(i)} for i in range(5)]


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\xff\xfe\x80",
        b"a,b\n1,2\n",
        b"loss,step\n1.0\n",
        b"loss,step\n1,2,3\n",
        b"loss,step\n1,x\n",
        b"\x89PNG\r\n",
    ],
)
def test_a_file_that_is_no_log(tmp_path, content):
    (tmp_path / "metrics.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"metrics\.csv is no log of a run .*; move or delete it"):
        ContinuedCSVLogger(str(tmp_path))
    assert (tmp_path / "metrics.csv").read_bytes() == content


def test_at_no_moment_is_the_curve_gone(tmp_path):
    """A kill may come between any two lines of code: of the logger, of the library's and of the standard library's."""
    log(tmp_path, range(50))
    states = []

    def look(frame, event, _):
        states.append((tmp_path / "metrics.csv").read_bytes())
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        logger = ContinuedCSVLogger(str(tmp_path))
        logger.save()
        for step in range(48, 52):
            logger.log_metrics({"loss": float(step), f"new{step}": 1.0}, step)
            logger.save()
    finally:
        sys.settrace(before)
    assert min(state.count(b"\n") for state in states) == 49  # the header and the 48 rows that stay
    assert states[-1].count(b"\n") == 53
