"""``python -m lightning_renyicl.tables``: arguments, exit codes and the overview, without a run."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lightning_renyicl.lock import lock
from lightning_renyicl.tables import __main__ as program
from lightning_renyicl.tables import spec
from lightning_renyicl.tables.running.worker import Outcome

SPEC = """
title: {title}
metric: probe/top1
split: val
seeds: {{small: 2}}
rows:
  A: {{config: a}}
  B: {{config: b}}
  Late: {{missing: its data}}
columns:
  Base: {{}}
  Hard: {{overlays: [hard]}}
"""
# the first seed of each training before the second of any
RUNS = [f"{name}/seed{seed}" for seed in range(2) for name in ("a", "a+hard", "b", "b+hard")]
RESULT = {"metrics": {"probe/top1": 0.5}, "config": {}, "seconds": 1.0, "versions": {}, "device": "cpu", "commit": None}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project with two tables."""
    monkeypatch.chdir(tmp_path)
    spec.load.cache_clear()
    Path("configs/tables").mkdir(parents=True)
    for name in ("a", "b", "hard"):
        Path(f"configs/{name}.yaml").write_text(f"name: {name}\n")
    for number, title in ((10, "Later"), (9, "Earlier")):
        Path(f"configs/tables/table{number}.yaml").write_text(SPEC.format(title=title))
    Path("configs/tables/paper.csv").write_text("table,row,column,value,spread\n9,A,Base,55.0,\n")
    yield tmp_path
    spec.load.cache_clear()


@pytest.fixture
def leave(folder):
    """What a run leaves: nothing but its result, whose request may be another."""

    def _leave(run, result=RESULT, table="table9", asked=None):
        path = folder / "runs" / table / "small" / run
        path.mkdir(parents=True, exist_ok=True)
        configs = {f"configs/{part}.yaml": {"name": part} for part in path.parent.name.split("+")}
        request = {"configs": configs, "flags": []} if asked is None else asked
        (path / "cell.json").write_text(json.dumps(request))
        if result is not None:
            (path / "result.json").write_text(result if isinstance(result, str) else json.dumps(result))
        return path

    return _leave


@pytest.fixture
def executed(monkeypatch, leave):
    """Runs that are only taken down; a test says what becomes of each."""

    class Executed:
        runs = ()
        jobs = None
        states = {}  # noqa: RUF012
        error = None

    def on_this_machine(worker, runs, jobs, look):
        Executed.worker, Executed.runs, Executed.jobs = worker, tuple(runs), jobs
        for run in runs:
            if Executed.error is not None:
                raise Executed.error
            name = f"{run.folder.parent.name}/{run.folder.name}"
            state = Executed.states.get(name, "finished")
            if state == "finished":
                leave(name)
            look()
            yield Outcome(run, state, "no data" if state == "failed" else "")

    Executed.states = {}
    monkeypatch.setattr(program, "on_this_machine", on_this_machine)
    return Executed


def names(runs):
    return [f"{run.folder.parent.name}/{run.folder.name}" for run in runs]


class TestMistakes:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["table9", "--jobs", "0"], "error: JOBS: must be at least 1, got 0"),
            (["table9", "--jobs=-2"], "error: JOBS: must be at least 1, got -2"),
            (["table9", "--jobs", "two"], "error: JOBS: invalid positive value: 'two'"),
            (["table9", "--cpus", "0"], "error: CPUS: must be at least 1, got 0"),
            (["table9", "--minutes", "0"], "error: MINUTES: must be at least 1, got 0"),
            (["table9", "--scale", "large"], "error: SCALE: invalid choice: 'large'"),
            (["table9", "--rerun", "all"], "error: RERUN: invalid choice: 'all'"),
            (["table9", "--launcher", "cloud"], "error: LAUNCHER: invalid choice: 'cloud'"),
            (["table9", "table10"], "unrecognized arguments: table10"),
        ],
    )
    def test_of_arguments(self, folder, capsys, arguments, message):
        with pytest.raises(SystemExit) as ended:
            program.main(arguments)
        assert ended.value.code == 2
        assert message in capsys.readouterr().err
        assert not (folder / "runs").exists()

    @pytest.mark.parametrize("dry", [[], ["--dry"]])
    def test_unknown_table(self, folder, capsys, dry):
        assert program.main(["table99", *dry]) == 2
        captured = capsys.readouterr()
        assert captured.err == "error: there is no table table99; there are table9, table10\n"
        assert captured.out == ""

    @pytest.mark.parametrize("arguments", [[], ["table9"]])
    def test_another_folder(self, folder, capsys, monkeypatch, arguments):
        (folder / "elsewhere").mkdir()
        monkeypatch.chdir(folder / "elsewhere")
        assert program.main(arguments) == 2
        assert capsys.readouterr().err == (
            "error: there is no folder configs/tables here: run this in the project's folder\n"
        )
        assert list((folder / "elsewhere").iterdir()) == []

    def test_in_a_specification(self, folder, capsys):
        Path("configs/tables/table9.yaml").write_text("title: t\nrow: {}\n")
        assert program.main(["table9"]) == 2
        assert capsys.readouterr().err.startswith("error: configs/tables/table9.yaml: unknown row; there are")

    def test_in_a_configuration(self, leave, capsys):
        leave("a/seed0")
        Path("configs/a.yaml").write_text("name: [")
        assert program.main(["table9", "--dry"]) == 2
        assert capsys.readouterr().err.startswith("error: configs/a.yaml is not YAML")

    def test_of_the_real_command(self, tmp_path):
        command = [sys.executable, "-m", "lightning_renyicl.tables", "table99"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert done.stderr == "error: there is no folder configs/tables here: run this in the project's folder\n"

    def test_help(self, capsys):
        with pytest.raises(SystemExit) as ended:
            program.main(["--help"])
        assert ended.value.code == 0
        options = ["scale", "jobs", "dry", "rerun", "runs", "results", "launcher", "flags"]
        assert {f"--{option}" for option in options} <= set(re.findall(r"--\w+", capsys.readouterr().out))


def overview(capsys, *arguments):
    """The printed lines as lists of words."""
    capsys.readouterr()
    assert program.main(list(arguments)) == 0
    return [re.split(r" {2,}", line) for line in capsys.readouterr().out.splitlines()]


class TestOverview:
    def test_nothing_is_there(self, folder, capsys):
        assert overview(capsys) == [
            ["table", "done", "failed", "missing", "not run", "scale small"],
            ["table9", "0", "0", "4", "2", "Earlier"],
            ["table10", "0", "0", "4", "2", "Later"],
        ]
        assert not (folder / "runs").exists()

    def test_columns_are_below_each_other(self, folder, capsys):
        program.main([])
        lines = capsys.readouterr().out.splitlines()
        assert len({line.index(word) for line, word in zip(lines, ["scale", "Earlier", "Later"], strict=True)}) == 1
        assert all(line == line.rstrip() for line in lines)

    def test_a_cell_is_done_with_its_last_seed(self, leave, capsys):
        leave("a/seed0")
        assert overview(capsys)[1] == ["table9", "0", "0", "4", "2", "Earlier"]
        leave("a/seed1")
        assert overview(capsys)[1] == ["table9", "1", "0", "3", "2", "Earlier"]

    def test_failed(self, leave, capsys):
        for run in ("a/seed0", "b/seed1"):
            (leave(run, None) / "failed.txt").write_text("no data\n")
        leave("a/seed1")
        assert overview(capsys)[1] == ["table9", "0", "2", "2", "2", "Earlier"]

    def test_damaged(self, leave, capsys):
        leave("a/seed0", "{")
        assert overview(capsys)[1] == ["table9", "0", "1", "3", "2", "Earlier"]

    def test_stale(self, leave, capsys):
        for run in ("a/seed0", "a/seed1", "b/seed0"):
            leave(run)
        leave("b/seed1", asked={"configs": {"configs/b.yaml": {"name": "other"}}, "flags": []})
        assert overview(capsys)[1] == ["table9", "2 (1 stale)", "0", "2", "2", "Earlier"]

    def test_under_way(self, leave, capsys):
        run = leave("a/seed0", None)
        with lock(run.with_name("seed0.lock")):
            assert overview(capsys)[1] == ["table9", "0", "0", "4", "2", "Earlier"]

    def test_each_table_has_its_own(self, leave, capsys):
        for run in RUNS:
            leave(run, table="table10")
        lines = overview(capsys)
        assert lines[1] == ["table9", "0", "0", "4", "2", "Earlier"]
        assert lines[2] == ["table10", "4", "0", "0", "2", "Later"]

    def test_another_scale(self, leave, capsys):
        for run in RUNS:
            leave(run)
        lines = overview(capsys, "--scale", "paper")
        assert lines[0][-1] == "scale paper"
        assert lines[1] == ["table9", "0", "0", "4", "2", "Earlier"]

    def test_another_folder_of_runs(self, folder, leave, capsys):
        for run in RUNS:
            leave(run)
        (folder / "runs").rename(folder / "mine")
        assert overview(capsys)[1][1] == "0"
        assert overview(capsys, "--runs", "mine")[1][1] == "4"

    def test_flags_of_a_result(self, leave, capsys):
        for run in RUNS:
            leave(run)
        assert overview(capsys, "--flags=--trainer.max_epochs=1")[1][1] == "4 (4 stale)"
        assert overview(capsys, "--flags=--data.root=/mnt")[1][1] == "4"


class TestExitCodes:
    def test_all_finish(self, folder, executed, capsys):
        assert program.main(["table9"]) == 0
        assert names(executed.runs) == RUNS
        out = capsys.readouterr().out
        files = ", ".join(f"results/table9-small.{suffix}" for suffix in ("md", "tex", "csv", "png"))
        assert f"saved {files}\n" in out
        assert (folder / "results/table9-small.md").read_text() in out
        assert "50.0 ± 0.0 (2)" in out
        assert "-5.0" in out  # than the paper

    @pytest.mark.parametrize("state", ["failed", "busy"])
    def test_some_fail(self, folder, executed, capsys, state):
        executed.states["a/seed1"] = executed.states["b/seed0"] = state
        assert program.main(["table9"]) == 1
        captured = capsys.readouterr()
        reason = {"failed": "no data", "busy": "another process has it"}[state]
        assert f"{state}: runs/table9/small/a/seed1: {reason}\n" in captured.out
        words = {"failed": "2 of 8 runs failed; the same", "busy": "2 runs are another process's"}
        assert words[state] in captured.err
        assert (folder / "results/table9-small.csv").exists()  # of the others

    def test_what_another_process_finished(self, executed, leave):
        for run in RUNS:
            leave(run, None)
            executed.states[run] = "done"
        assert program.main(["table9"]) == 0

    def test_an_interrupt(self, folder, executed, capsys):
        executed.error = KeyboardInterrupt()
        assert program.main(["table9"]) == 130
        assert "\ninterrupted; the same command goes on\n" in capsys.readouterr().err
        assert not (folder / "results").exists()

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
    def test_a_signal(self, executed, monkeypatch, number):
        outside = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which the suite itself may have been told to ignore
        try:
            before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
            monkeypatch.setattr(program.Progress, "look", lambda self: os.kill(os.getpid(), number))
            assert program.main(["table9"]) == 130
            assert {each: signal.getsignal(each) for each in before} == before
        finally:
            signal.signal(signal.SIGHUP, outside)

    def test_a_hangup_that_is_ignored(self, executed, monkeypatch):
        """As under nohup."""
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            monkeypatch.setattr(program.Progress, "look", lambda self: os.kill(os.getpid(), signal.SIGHUP))
            assert program.main(["table9"]) == 0
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGHUP, before)

    @pytest.mark.parametrize("error", [OSError("no space left"), ValueError("no such cluster")])
    def test_an_error(self, executed, capsys, error):
        executed.error = error
        assert program.main(["table9"]) == 2
        assert capsys.readouterr().err.endswith(f"error: {error}\n")

    def test_a_bug_keeps_its_traceback(self, executed):
        executed.error = RuntimeError("a bug")
        with pytest.raises(RuntimeError, match="a bug"):
            program.main(["table9"])


class TestWhatWaits:
    def test_only_what_is_not_done(self, executed, leave):
        for run in RUNS[:3]:
            leave(run)
        (leave(RUNS[3], None) / "failed.txt").write_text("no data\n")
        leave(RUNS[4], "{")
        program.main(["table9", "--jobs", "3"])
        assert names(executed.runs) == RUNS[3:]
        assert executed.jobs == 3

    @pytest.mark.parametrize(("arguments", "waiting"), [([], RUNS[2:]), (["--rerun", "stale"], RUNS[1:])])
    def test_stale(self, executed, leave, arguments, waiting):
        leave(RUNS[0])
        leave(RUNS[1], asked={"configs": {"configs/a.yaml": {}, "configs/hard.yaml": {}}, "flags": []})
        program.main(["table9", *arguments])
        assert names(executed.runs) == waiting
        assert executed.worker.rerun_stale is bool(arguments)

    def test_flags_reach_the_runs(self, executed):
        program.main(["table9", "--flags=--data.root=/mnt --trainer.precision=bf16-mixed"])
        flags = ("--data.root=/mnt", "--trainer.precision=bf16-mixed")
        assert {run.flags for run in executed.runs} == {flags}

    @pytest.mark.parametrize("flag", ["--seed_everything=1", "--trainer.default_root_dir=x", "--config=a", "-c a"])
    def test_flags_that_the_table_sets(self, executed, capsys, flag):
        assert program.main(["table9", f"--flags={flag}"]) == 2
        assert capsys.readouterr().err == f"error: FLAGS cannot have {flag.split()[0]}: the table sets it\n"
        assert executed.runs == ()

    def test_a_column(self, executed):
        assert program.main(["table9", "--column", "Hard"]) == 0
        assert names(executed.runs) == ["a+hard/seed0", "b+hard/seed0", "a+hard/seed1", "b+hard/seed1"]

    def test_a_column_that_is_not_there(self, executed, capsys):
        assert program.main(["table9", "--column", "Soft"]) == 2
        assert capsys.readouterr().err == "error: table9 has no column Soft; its columns are Base, Hard\n"

    def test_seeds_are_the_scales(self, executed):
        program.main(["table9", "--scale", "smoke"])
        assert names(executed.runs) == [run for run in RUNS if run.endswith("seed0")]
        assert {run.training.scale for run in executed.runs} == {"smoke"}

    def test_nothing(self, executed, leave, folder):
        for run in RUNS:
            leave(run)
        assert program.main(["table9", "--results", "mine"]) == 0
        assert executed.runs == ()
        assert len(list((folder / "mine").iterdir())) == 4

    def test_a_dry_run_only_estimates(self, executed, leave, folder, monkeypatch):
        asked = []
        monkeypatch.setattr(program, "estimate", lambda runs: asked.extend(runs) or 1)
        leave(RUNS[0])
        assert program.main(["table9", "--dry", "--flags=--data.root=/mnt"]) == 1
        assert names(asked) == RUNS[1:]
        assert {run.flags for run in asked} == {("--data.root=/mnt",)}
        assert executed.runs == ()
        assert not (folder / "results").exists()
