"""Which files a result comes from, and whether they are still the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any


def fingerprints(files: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Size, time of change and SHA-256 of data files; of a folder the names and sizes beneath it.

    A file within the working folder is named from there, so that results can be read elsewhere.
    """
    here = Path.cwd()
    return {
        str(file.relative_to(here) if file.is_relative_to(here) else file): {
            "size": size(file),
            "mtime_ns": file.stat().st_mtime_ns,
            "sha256": digest(file),
        }
        for file in files
        if file.exists()
    }


def size(path: Path) -> int:
    """Bytes of a file or of all files beneath a folder."""
    return path.stat().st_size if path.is_file() else sum(f.stat().st_size for f in path.rglob("*") if f.is_file())


def digest(path: Path) -> str:
    """SHA-256 of a file's content, or of the names and sizes of the files beneath a folder."""
    if path.is_file():
        found = path.stat()
        return _digest(path, found.st_size, found.st_mtime_ns, found.st_ino)
    lines = (f"{f.relative_to(path)} {f.stat().st_size}" for f in sorted(path.rglob("*")) if f.is_file())
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()


@cache
def _digest(path: Path, *_: int) -> str:
    """The digest of a file that has not changed since it was last asked for, by what the system says of it."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def changed_files(result: dict[str, Any]) -> list[str]:
    """The data files that are not those of a result any more; files that are not on this machine don't count.

    A file of the same size and time of change is taken for the same, others are read.
    """
    changed = []
    for name, then in (result.get("data") or {}).get("files", {}).items():
        path = Path(name)
        if not path.exists():
            continue
        touched = path.is_dir() or path.stat().st_mtime_ns != then["mtime_ns"]
        if size(path) != then["size"] or (touched and digest(path) != then["sha256"]):
            changed.append(f"{name} has changed")
    return changed
