"""The command in this process, and in processes of its own."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from lightning_renyicl import cli

HERE = Path(__file__).parent


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def fake():
    """A configuration that takes a second."""
    return HERE / "fake.yaml"


@pytest.fixture(scope="session")
def configs():
    return HERE.parents[1] / "configs"


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """``lightning ARGS`` in an empty folder; what it wrote and its exit code."""
    monkeypatch.chdir(tmp_path)

    def _command(*args):
        monkeypatch.setattr(sys, "argv", ["lightning", *map(str, args)])
        code = 0
        capsys.readouterr()
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        return Outcome(code, *capsys.readouterr())

    return _command


@pytest.fixture(scope="session")
def process():
    """``python ARGS`` in a folder; environment variables by keyword."""

    def _process(folder, *args, **environment):
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [sys.executable, *map(str, args)],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return _process


@pytest.fixture(scope="session")
def curve():
    """Rows of a run's ``metrics.csv``."""

    def _curve(run):
        with (Path(run) / "metrics.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    return _curve


@pytest.fixture(scope="module")
def trained(tmp_path_factory, fake):
    run = tmp_path_factory.mktemp("trained")
    cli.run(["fit", "--config", str(fake), "--trainer.default_root_dir", str(run)])
    return run


@pytest.fixture
def checkpoint(trained):
    return trained / "checkpoints/last.ckpt"
