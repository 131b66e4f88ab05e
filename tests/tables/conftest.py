"""A project of its own with a table whose runs take seconds."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

import psutil
import pytest
from filelock import FileLock

from lightning_renyicl.tables import spec
from lightning_renyicl.tables.__main__ import main

ROOT = Path(__file__).parents[2]
T = TypeVar("T")
SPEC = """\
title: Made-up rows
split: {split}
seeds: {{smoke: 1, small: {seeds}, paper: 1}}
rows:
  CPC: {{overlays: [objectives/cpc]}}
  RMLCPC:
columns:
  Rows: {{config: tiny, scales: {{small: []}}}}
  Rows / long: {{config: tiny, overlays: [long], scales: {{small: []}}}}
"""


class Project:
    """A folder with configurations and one table, ``toy``, and the command on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.configs = folder / "configs"
        (self.configs / "tables").mkdir(parents=True)
        (self.configs / "objectives").mkdir()
        shutil.copy(ROOT / "configs/objectives/cpc.yaml", self.configs / "objectives")
        shutil.copy(ROOT / "tests/cli/fake.yaml", self.configs / "tiny.yaml")
        (self.configs / "long.yaml").write_text("trainer: {max_epochs: 12}\n")
        (self.configs / "tables/paper.csv").write_text("table,row,column,value,spread\n")
        self.write_spec()

    @classmethod
    def at(cls, folder: Path) -> Self:
        """The project that a folder has."""
        project = cls.__new__(cls)
        project.folder, project.configs = folder, folder / "configs"
        return project

    def write_spec(self, split: str = "test", seeds: int = 1) -> None:
        """Writes the table."""
        (self.configs / "tables/toy.yaml").write_text(SPEC.format(split=split, seeds=seeds))

    def start(self, *arguments: str, **options) -> subprocess.Popen:
        """Starts the command in a process of its own."""
        command = [sys.executable, "-m", "lightning_renyicl.tables", "toy", *arguments]
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(command, cwd=self.folder, **{**output, **options})

    def run(self, *arguments: str) -> tuple[int, str]:
        """The exit code of the command and what it printed; in this process, so that tests share the imports."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code = self.inside(lambda: main(["toy", *arguments]))
        return code, output.getvalue()

    def inside(self, function: Callable[[], T]) -> T:
        """What a function returns that is called in the project's folder."""
        spec.load.cache_clear()
        with contextlib.chdir(self.folder):
            return function()

    def cell(self, name: str = "tiny", seed: int = 0) -> Path:
        """The folder of a run."""
        return self.folder / "runs/toy/small" / name / f"seed{seed}"

    def csv(self) -> str:
        """The rendered table."""
        return (self.folder / "results/toy-small.csv").read_text()

    def counts(self) -> dict[str, tuple[int, int]]:
        """How many times ``fit`` and ``test`` were started, by run."""
        logs = (self.folder / "runs/toy/small").rglob("log.txt")
        return {
            f"{log.parents[1].name}/{log.parent.name}": (
                log.read_text().count("$ lightning fit"),
                log.read_text().count("$ lightning test"),
            )
            for log in logs
        }


@pytest.fixture(scope="session")
def kill_tree():
    """SIGKILL to a process and all its descendants at once."""

    def _kill_tree(process: subprocess.Popen) -> None:
        parent = psutil.Process(process.pid)
        parent.suspend()  # starts nothing more while its descendants are counted
        for member in [*parent.children(recursive=True), parent]:
            member.kill()
        process.wait()

    return _kill_tree


@pytest.fixture
def project(tmp_path):
    """A project in which nothing has run."""
    return Project(tmp_path)


@pytest.fixture(scope="session")
def once(tmp_path_factory, worker_id):
    """What a function returns, as JSON, which is called by one of the processes that test at the same time."""
    shared = tmp_path_factory.getbasetemp() if worker_id == "master" else tmp_path_factory.getbasetemp().parent

    def _once(name: str, function: Callable[[Path], Any]) -> Any:
        with FileLock(shared / f"{name}.lock"):
            found = shared / f"{name}.json"
            if not found.exists():
                (shared / name).mkdir()
                found.write_text(json.dumps(function(shared / name)))
            return json.loads(found.read_text())

    return _once


@pytest.fixture(scope="session")
def filled(once):
    """A project whose table is filled, and the exit code and output of that; for tests that change nothing in it."""

    def _fill(folder):
        project = Project(folder)
        return str(folder), *project.run("--jobs=2")

    folder, code, output = once("filled", _fill)
    return Project.at(Path(folder)), (code, output)


@pytest.fixture
def copied(filled, tmp_path):
    """A copy of the filled project."""
    shutil.copytree(filled[0].folder, tmp_path, dirs_exist_ok=True)
    return Project.at(tmp_path)
