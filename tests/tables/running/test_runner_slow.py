"""What happens to a table when processes die, meet, or run out of memory or disk."""

from __future__ import annotations

import csv
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from lightning_renyicl.tables import spec
from lightning_renyicl.tables.__main__ import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
GIBI = 2**30


@pytest.fixture
def longer(project):
    """A table whose four runs take some seconds each."""
    (project.configs / "tiny.yaml").write_text(
        (project.configs / "tiny.yaml").read_text().replace("max_epochs: 4", "max_epochs: 15")
    )
    (project.configs / "long.yaml").write_text("trainer: {max_epochs: 25}\n")
    return project


def without_hours_and_commit(project):
    text = (project.folder / "results/toy-small.md").read_text()
    return [line for line in text.splitlines() if not line.startswith(("Scale", "Commit"))]


def results(project):
    """Every result of a command and what identifies its file."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in project.folder.rglob("runs/**/result.json")}


def wait_for(condition, process):
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def test_ten_kills_leave_the_table_of_an_undisturbed_run(longer, kill_tree, tmp_path_factory):
    code, output = longer.run("--jobs=2")
    assert code == 0, output
    undisturbed, table = without_hours_and_commit(longer), longer.csv()
    (longer.folder / "runs").rename(longer.folder / "undisturbed")
    (longer.folder / "results").rename(longer.folder / "results of the undisturbed")
    moments = random.Random(0)
    kills, made = 0, {}
    while True:
        process = longer.start("--jobs=2", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(moments.uniform(2, 14) if kills < 10 else None)
        except subprocess.TimeoutExpired:
            kill_tree(process)
            kills += 1
        found = results(longer)
        assert made.items() <= found.items()  # what was made once is not made again
        made = found
        if process.returncode == 0:
            assert longer.csv() == table
            assert without_hours_and_commit(longer) == undisturbed
            if kills == 10:
                break
            shutil.rmtree(longer.folder / "runs")  # a fast machine: over again, until ten kills have met it
            made = {}


def test_two_runners_make_each_run_once(longer):
    runners = [longer.start("--jobs=2") for _ in range(2)]
    outputs = [runner.communicate(timeout=600)[0] for runner in runners]
    assert [runner.returncode for runner in runners] == [0, 0], outputs
    assert set(longer.counts().values()) == {(1, 1)}
    assert len(longer.counts()) == 4


def test_a_training_that_outlives_its_runner_keeps_others_out(longer):
    runner = longer.start("--jobs=1", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: (longer.cell("tiny+cpc") / "metrics.csv").exists(), runner)
    training = [child for child in psutil.Process(runner.pid).children(recursive=True) if leads_a_session(child)]
    runner.kill()
    runner.wait()
    assert training[0].is_running()
    code, output = longer.run("--jobs=2")
    assert code == 0, output
    assert longer.counts()["tiny+cpc/seed0"] == (1, 1)


def test_a_training_that_the_system_ends_is_told_and_tried_again(longer):
    runner = longer.start("--jobs=1")
    wait_for(lambda: (longer.cell("tiny+cpc") / "metrics.csv").exists(), runner)
    leaders = [child for child in psutil.Process(runner.pid).children(recursive=True) if leads_a_session(child)]
    for child in leaders:
        child.send_signal(signal.SIGKILL)
    output, _ = runner.communicate(timeout=300)
    assert runner.returncode == 1
    assert "fit was ended by SIGKILL, which the system sends when memory is short" in output
    code, output = longer.run("--jobs=2")
    assert code == 0, output


def leads_a_session(process):
    """Whether a process is the first of a session, as trainings are."""
    return os.getsid(process.pid) == process.pid


def test_a_run_without_enough_memory_leaves_the_others_alone(project):
    (project.configs / "long.yaml").write_text("data: {init_args: {num_samples: 2000000000}}\n")

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (12 * GIBI, 12 * GIBI))

    runner = project.start("--jobs=1", preexec_fn=limit)
    output, _ = runner.communicate(timeout=300)
    assert runner.returncode == 1
    assert "2 of 4 runs failed" in output
    assert "memory" in output
    assert project.counts()["tiny/seed0"] == (1, 1)


def test_a_full_disk_is_told_and_the_old_table_kept(project, tmp_path):
    (project.folder / "runs").mkdir()
    (project.folder / "results").mkdir()
    (project.folder / "results/toy-small.csv").write_text("the table of before\n")
    for name in ("runs", "results"):
        mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(project.folder / name)]
        if subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("mounting a small file system is not allowed here")
    try:
        runner = project.start("--jobs=1")
        output, _ = runner.communicate(timeout=300)
        assert runner.returncode == 1, output
        assert "No space left on device" in output
    finally:
        for name in ("runs", "results"):
            subprocess.run(["umount", str(project.folder / name)], check=True)


def test_jobs_of_submitits_local_executor(project):
    code, output = project.run("--launcher=local", "--jobs=2", "--gpus=0", "--cpus=1", "--minutes=10")
    assert code == 0, output
    assert set(project.counts().values()) == {(1, 1)}
    table = project.csv()
    code, output = project.run("--jobs=1")
    assert code == 0, output
    assert project.csv() == table


def test_every_table_at_smoke_scale(tmp_path, monkeypatch, capsys):
    """On made-up and embedded data; together they take minutes."""
    monkeypatch.chdir(ROOT)
    spec.load.cache_clear()
    folders = [f"--runs={tmp_path / 'runs'}", f"--results={tmp_path / 'results'}", "--scale=smoke"]
    for name in spec.names():
        code = main([name, "--jobs=2", *folders])
        assert code == 0, capsys.readouterr()
        with (tmp_path / f"results/{name}-smoke.csv").open(newline="") as file:
            lines = list(csv.DictReader(file))
        table = spec.load(name)
        assert len(lines) == len(table.rows) * len(table.columns)
        for line in lines:
            cell = table.cell(line["row"], line["column"], "smoke")
            if cell != "":  # a difference of cells, either of which may have no run
                assert (line["n"] == "1") == (not isinstance(cell, str))
            shares = table.unit_of(line["column"]) == "per cent"
            if line["mean"] != "" and shares:
                assert (-100 if cell == "" else 0) <= float(line["mean"]) <= 100
        text = (tmp_path / f"results/{name}-smoke.md").read_text()
        assert ("not run" in text) == any(line["n"] == "" for line in lines)
    capsys.readouterr()
    assert main(folders) == 0
    assert [line.split()[3] for line in capsys.readouterr().out.splitlines()[1:]] == ["0"] * len(spec.names())
