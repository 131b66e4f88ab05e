"""Which files a result comes from, and whether they are still the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

MOST_FILES = 20_000
"""Files of a folder that are looked into; of a larger folder at most as many, evenly spread."""
MOST_BYTES = 2**26
"""What is read of a folder's files, each from its start; smaller folders are read whole."""
END = 4096
"""Bytes that are read at the end of a folder's file besides."""


def fingerprints(files: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Size, time of change and SHA-256 of data files; of a folder see :func:`fingerprint`.

    A file within the working folder is named from there, so that results can be read elsewhere.
    """
    here = Path.cwd()
    return {
        str(file.relative_to(here) if file.is_relative_to(here) else file): fingerprint(file)
        for file in files
        if file.exists()
    }


def fingerprint(path: Path) -> dict[str, Any]:
    """Size, time of change and SHA-256 of a file.

    Of a folder the sizes' sum, SHA-256 of the names and sizes of the files beneath it, and as ``content`` that of what
    is in them; in a large folder of their beginnings and ends.
    """
    found = path.stat()
    if path.is_file():
        return {"size": found.st_size, "mtime_ns": found.st_mtime_ns, "sha256": digest(path)}
    sizes = {file: file.stat().st_size for file in sorted(path.rglob("*")) if file.is_file()}
    lines = (f"{file.relative_to(path)} {size}" for file, size in sizes.items())
    names = hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()
    size, time = sum(sizes.values()), found.st_mtime_ns
    return {"size": size, "mtime_ns": time, "sha256": names, "content": _content(sizes)}


def _content(sizes: dict[Path, int]) -> str:
    """SHA-256 of what is read of a folder's files, all of it if they are few and small."""
    read = list(sizes)[:: max(1, -(-len(sizes) // MOST_FILES))]
    whole = sum(sizes[file] for file in read) <= MOST_BYTES
    content = hashlib.sha256()
    for file in read:
        most = sizes[file] if whole else MOST_BYTES // len(read)
        with file.open("rb") as stream:
            content.update(stream.read(most))
            if sizes[file] > most:
                stream.seek(max(most, sizes[file] - END))
                content.update(stream.read(END))
    return content.hexdigest()


def digest(file: Path) -> str:
    """SHA-256 of a file's content."""
    found = file.stat()
    return _digest(file, found.st_size, found.st_mtime_ns, found.st_ino)


@cache
def _digest(path: Path, *_: int) -> str:
    """The digest of a file that has not changed since it was last asked for, by what the system says of it."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def changed_files(record: dict[str, Any]) -> list[str]:
    """The data files that are not those of a result or checkpoint any more; files not on this machine don't count.

    A file of the same size and time of change is taken for the same, others are read. Of a folder only what was written
    down is compared: earlier versions wrote no ``content``.

    Args:
        record: a result, or what a checkpoint says of its run; ``data.files`` in it are :func:`fingerprints`.
    """
    changed = []
    for name, then in (record.get("data") or {}).get("files", {}).items():
        path = Path(name)
        if path.exists() and not (_same_folder(path, then) if path.is_dir() else _same_file(path, then)):
            changed.append(f"{name} has changed")
    return changed


def _same_file(path: Path, then: dict[str, Any]) -> bool:
    found = path.stat()
    if found.st_size != then["size"]:
        return False
    return found.st_mtime_ns == then["mtime_ns"] or digest(path) == then["sha256"]


def _same_folder(path: Path, then: dict[str, Any]) -> bool:
    now = fingerprint(path)
    return all(now[part] == then[part] for part in ("size", "sha256", "content") if part != "content" or part in then)
