"""``metrics.csv`` is one curve, however often the run was stopped."""

from __future__ import annotations

import csv

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
    assert ContinuedCSVLogger(str(tmp_path)).experiment is not None  # as the trainer does at its start
    assert [int(row["step"]) for row in rows(tmp_path)] == [0, 1, 2]
    log(tmp_path, range(2, 4))
    assert [int(row["step"]) for row in rows(tmp_path)] == [0, 1, 2, 3]
