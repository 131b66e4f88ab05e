"""A lock is one process's, and its children's for as long as any of them lives."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from lightning_renyicl.lock import lock, locked

# each says that it has the lock and keeps it until its standard input ends
HOLDER = """
import sys
import time
from pathlib import Path
from lightning_renyicl.lock import lock
with lock(Path(sys.argv[1])) as descriptor:
    print("got" if descriptor is not None else "busy", flush=True)
    sys.stdin.read()
"""
# leaves the lock to a child, and waits with it
PARENT = """
import subprocess, sys
from pathlib import Path
from lightning_renyicl.lock import lock
with lock(Path(sys.argv[1])) as descriptor:
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], pass_fds=[descriptor])
    print("got", flush=True)
    child.wait()
"""


@pytest.fixture
def path(tmp_path):
    """A lock in a folder that is not there yet."""
    return tmp_path / "runs" / "seed0.lock"


@pytest.fixture
def start(path):
    """Starts a process that has a pipe to its standard input; at the end all are told to end."""
    started = []

    def _start(code, *arguments):
        command = [sys.executable, "-c", code, str(path), *arguments]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield _start
    for process in started:
        process.stdin.close()
        process.stdout.close()
        process.wait(60)


def says(process):
    return process.stdout.readline().strip()


def end(process):
    process.stdin.close()
    process.wait(60)


def test_is_held_within_the_block_only(path):
    with lock(path) as descriptor:
        assert isinstance(descriptor, int)
        assert locked(path)
    assert not locked(path)
    assert path.exists()
    with lock(path) as descriptor:
        assert descriptor is not None


def test_twice_in_one_process(path):
    """Two threads of a runner are two holders."""
    with lock(path) as first, lock(path) as second:
        assert first is not None
        assert second is None
    assert not locked(path)


def test_leaving_a_lock_that_was_not_got_frees_nothing(path):
    with lock(path):
        with lock(path) as descriptor:
            assert descriptor is None
        assert locked(path)


def test_locks_are_each_by_itself(path):
    with lock(path), lock(path.with_name("seed1.lock")) as other:
        assert other is not None


def test_an_error_in_the_block(path):
    with pytest.raises(ValueError, match="no"), lock(path):
        raise ValueError("no")
    assert not locked(path)
    with lock(path), pytest.raises(ValueError, match="no"), lock(path):
        raise ValueError("no")


class TestLocked:
    def test_what_is_not_there(self, path):
        assert not locked(path)
        assert not path.parent.exists()  # a look leaves no trace
        path.parent.mkdir()
        assert not locked(path)
        assert not path.exists()

    def test_looking_takes_nothing(self, path):
        with lock(path):
            assert locked(path)
            assert locked(path)
        assert not locked(path)
        with lock(path) as descriptor:
            assert descriptor is not None


class TestOtherProcesses:
    def test_exclude_each_other(self, path, start):
        holder = start(HOLDER)
        assert says(holder) == "got"
        assert locked(path)
        with lock(path) as descriptor:
            assert descriptor is None
        assert says(start(HOLDER)) == "busy"
        end(holder)
        assert not locked(path)
        with lock(path) as descriptor:
            assert descriptor is not None
            assert says(start(HOLDER)) == "busy"

    def test_a_killed_one_holds_nothing(self, path, start):
        holder = start(HOLDER)
        assert says(holder) == "got"
        holder.kill()
        holder.wait()
        assert not locked(path)


class TestChildren:
    """A child that has the descriptor has the lock."""

    @pytest.fixture
    def child(self, path):
        """Starts a child of this process, which is told to end at the end."""
        started = []

        def _child(**options):
            code = "import sys; sys.stdin.read()"
            started.append(subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, **options))
            return started[-1]

        yield _child
        for process in started:
            end(process)

    def test_keeps_it(self, path, child):
        with lock(path) as descriptor:
            process = child(pass_fds=[descriptor])
        assert locked(path)
        with lock(path) as other:
            assert other is None
        end(process)
        assert not locked(path)

    def test_the_last_one_frees_it(self, path, child):
        with lock(path) as descriptor:
            processes = [child(pass_fds=[descriptor]) for _ in range(2)]
        end(processes[0])
        assert locked(path)
        end(processes[1])
        assert not locked(path)

    def test_without_the_descriptor_has_nothing(self, path, child):
        with lock(path):
            process = child()
        assert process.poll() is None
        assert not locked(path)

    def test_outlives_a_killed_parent(self, path, start):
        parent = start(PARENT)
        assert says(parent) == "got"
        parent.kill()
        parent.wait()
        assert locked(path)
        parent.stdin.close()  # on which the child waits
        while locked(path):
            time.sleep(0.01)
