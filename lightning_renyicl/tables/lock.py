"""A lock that lives as long as the processes that work under it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def lock(path: Path, wait: bool = False) -> Iterator[int | None]:
    """Holds ``path``; yields its descriptor, or None if another process holds it.

    A child that inherits the descriptor holds the lock too: it is free only when every one of them has ended, however.
    So a training that outlives a killed runner keeps others out of its folder.

    Args:
        path: the lock file; it stays, since a lock on a deleted file locks nothing.
        wait: wait until it is free.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield None
            return
        yield descriptor
    finally:
        os.close(descriptor)


def locked(path: Path) -> bool:
    """Whether a process holds ``path``."""
    if not path.exists():
        return False
    with lock(path) as descriptor:
        return descriptor is None
