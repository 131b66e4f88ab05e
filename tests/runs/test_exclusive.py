"""One run in a folder at a time, whatever becomes of the process that has it."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys

import pytest

from lightning_renyicl.runs import exclusive
from lightning_renyicl.runs.exclusive import take

# as `take` does, without what that imports
HOLDER = """
import os, socket, sys
from pathlib import Path
from lightning_renyicl.lock import lock
path = Path(sys.argv[1]) / ".lock"
with lock(path) as descriptor:
    os.write(descriptor, f"{os.getpid()} {socket.gethostname()}".encode())
    print("has it", flush=True)
    sys.stdin.read()
    path.unlink()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that trains in the folder, until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout.readline() == "has it\n"
        yield process


def test_another_process_has_it_and_then_not(tmp_path, other):
    said = f"is being trained by process {other.pid} on {socket.gethostname()}: wait for it, or choose --trainer"
    with pytest.raises(ValueError, match=said):
        take(tmp_path)
    other.stdin.close()
    other.wait()
    assert list(tmp_path.iterdir()) == []
    with take(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_has_nothing(tmp_path, other):
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert (tmp_path / ".lock").exists()
    with take(tmp_path), pytest.raises(ValueError, match=f"process {os.getpid()} on"):
        take(tmp_path)


def test_what_a_killed_process_has_started_is_waited_for(tmp_path, monkeypatch):
    """It holds the lock for a moment longer."""
    held = take(tmp_path)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / ".lock").write_text(f"{gone.pid} {socket.gethostname()}")
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 3:
            held.close()

    monkeypatch.setattr(exclusive.time, "sleep", sleep)
    with take(tmp_path):
        assert len(slept) == 3


@pytest.mark.parametrize(("rank", "node"), [(1, "0"), (0, "1")])
def test_other_processes_of_a_run_take_nothing(tmp_path, monkeypatch, rank, node):
    monkeypatch.setattr("lightning.pytorch.utilities.rank_zero_only.rank", rank)
    monkeypatch.setenv("NODE_RANK", node)
    with take(tmp_path), take(tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.warns(UserWarning, match="cannot be locked: nothing keeps a second process"), take(tmp_path):
        pass


def test_a_system_without_locks(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with take(tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(exclusive, "lock", refuse)
    with pytest.raises(PermissionError, match=rf"another --trainer\.default_root_dir\?\): '{tmp_path}'"):
        take(tmp_path)
