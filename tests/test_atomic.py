"""A file is whole or not there, and nothing is left beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lightning_renyicl.atomic import replacing, write_text

NAMES = ["table.csv", "archive.tar.gz", "plain", ".hidden"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["new", "there before"])
def path(request, tmp_path):
    """A file to write, and in its folder nothing else."""
    target = tmp_path / "file.txt"
    if request.param == "there before":
        target.write_text("before")
    return target


@pytest.fixture
def unchanged(path):
    """Asserts that the folder is as it was."""
    before = {each: each.read_bytes() for each in path.parent.iterdir()}

    def _unchanged():
        assert {each: each.read_bytes() for each in path.parent.iterdir()} == before

    return _unchanged


def test_text(path):
    write_text(path, "γ = 1.5\n")
    assert path.read_bytes() == b"\xce\xb3 = 1.5\n"
    assert names(path.parent) == ["file.txt"]


@pytest.mark.parametrize("name", NAMES)
def test_takes_its_place_at_the_end(tmp_path, name):
    target = tmp_path / name
    target.write_text("before")
    with replacing(target) as partial:
        partial.write_text("after, and longer")
        assert target.read_text() == "before"
        assert partial.parent == tmp_path  # a move to another file system would be a copy
        assert not target.suffix or partial.suffix == target.suffix  # by which libraries choose a format
    assert target.read_text() == "after, and longer"
    assert names(tmp_path) == [name]


@pytest.mark.parametrize(
    "error", [ValueError("no"), KeyboardInterrupt(), SystemExit(1)], ids=lambda e: type(e).__name__
)
def test_an_error_in_the_block(path, unchanged, error):
    def fail():
        with replacing(path) as partial:
            partial.write_text("half")
            raise error

    with pytest.raises(type(error)) as caught:
        fail()
    assert caught.value is error
    unchanged()


def test_an_error_before_anything_is_written(path, unchanged):
    with pytest.raises(ValueError, match="no"), replacing(path):
        raise ValueError("no")
    unchanged()


def test_a_block_that_writes_nothing(path, unchanged):
    with pytest.raises(FileNotFoundError), replacing(path):
        pass
    unchanged()


def test_a_disk_that_fills_up(path, unchanged, monkeypatch):
    def full(self, text, encoding):
        self.write_bytes(text[:3].encode(encoding))
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space left"):
        write_text(path, "a long text")
    unchanged()


def test_a_move_that_fails(path, unchanged, monkeypatch):
    def refuse(*_):
        raise PermissionError("no")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(PermissionError):
        write_text(path, "text")
    unchanged()


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_text(tmp_path / "nowhere" / "file.txt", "text")
    assert names(tmp_path) == []


def test_a_process_that_is_killed_leaves_the_file_of_before(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("before")
    code = """
import os, pathlib, sys
from lightning_renyicl.atomic import replacing
with replacing(pathlib.Path(sys.argv[1])) as partial:
    partial.write_text("half")
    os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code, path]).returncode == 9
    assert path.read_text() == "before"
    assert len(names(tmp_path)) == 2  # it was writing


def test_two_processes_write_beside_each_other(tmp_path, monkeypatch):
    path = tmp_path / "file.txt"
    with replacing(path) as first:
        first.write_text("first")
        monkeypatch.setattr(os, "getpid", lambda: 2**22 + 1)
        with replacing(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
        assert first.read_text() == "first"
    assert path.read_text() == "first"
    assert names(tmp_path) == ["file.txt"]


def test_under_a_name_of_ones_own(tmp_path):
    for text in ("first", "second"):
        with replacing(tmp_path / "x", tmp_path / "x.part") as partial:
            assert partial == tmp_path / "x.part"
            partial.write_text(text)
    assert (tmp_path / "x").read_text() == "second"
    assert names(tmp_path) == ["x"]
