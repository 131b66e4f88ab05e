"""Files that are whole or not there, and names for those that make way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path


@contextmanager
def replacing(path: Path, partial: Path | None = None) -> Iterator[Path]:
    """Yields a path beside ``path`` to write to, which takes its place at the end; after an error it is deleted.

    Args:
        path: file to be written.
        partial: where it is written until it is whole; None is a name of this process's own.

    Raises:
        OSError: it cannot be written; the error names ``path``, as that of a full disk doesn't by itself.
    """
    partial = partial or path.with_name(f"{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a text file in one move."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def old_name(name: str, taken: Callable[[str], bool]) -> str:
    """The first of ``NAME-old``, ``NAME-old2``, ``NAME-old3`` and so on that is not taken."""
    return next(old for n in count(1) if not taken(old := f"{name}-old{n if n > 1 else ''}"))
