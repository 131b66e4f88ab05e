"""What the runner of tables adds to the commands that it runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from lightning_renyicl.tables import spec
from lightning_renyicl.tables.__main__ import parser, runs_of
from lightning_renyicl.tables.running.worker import commands
from tests.benchmarks.timing import compare
from tests.tables.conftest import Project


def run() -> dict[str, dict[str, Any]]:
    """A table of four short runs, one at a time, against their commands one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder))

        def table() -> None:
            shutil.rmtree(project.folder / "runs", ignore_errors=True)
            assert project.start("--jobs=1", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait() == 0

        def each_command() -> None:
            shutil.rmtree(project.folder / "runs", ignore_errors=True)
            for arguments in project.inside(all_commands):
                command = [sys.executable, "-m", "lightning_renyicl", *arguments]
                subprocess.run(command, cwd=project.folder, check=True, capture_output=True)

        return {"tables/fill_vs_commands": compare(table, each_command, n=3)}


def all_commands() -> list[list[str]]:
    """The arguments of every command of the table in this folder."""
    runs = runs_of(spec.load("toy"), parser().parse_args([]))
    return [arguments for run in runs for arguments, _ in commands(run)]
