"""A lock that lives as long as the processes that work under it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def lock(path: Path) -> Iterator[int | None]:
    """Holds ``path``; yields its descriptor, or None if another process holds it.

    A child that inherits the descriptor holds the lock too: it is free only when every one of them has ended, however.
    So a training that outlives a killed runner keeps others out of its folder.

    Args:
        path: the lock file; it stays, unless its holder deletes it.

    Raises:
        OSError: a folder that cannot be written, or a file system without locks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            taken = _take(descriptor, path, shared=False)
            if taken and not _is(descriptor, path):  # its holder has deleted it meanwhile
                continue
            yield descriptor if taken else None
            return
        finally:
            os.close(descriptor)


def locked(path: Path) -> bool:
    """Whether a process holds ``path``; reading is enough to ask."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _take(descriptor, path, shared=True)
    finally:
        os.close(descriptor)


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _take(descriptor: int, path: Path, shared: bool) -> bool:
    import fcntl  # of POSIX alone, and so is what needs the lock

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise OSError(error.errno, f"cannot be locked: {error.strerror}", str(path)) from error
    return True
