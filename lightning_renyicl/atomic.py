"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a path beside ``path`` to write to, which takes its place at the end; after an error it is deleted."""
    partial = path.with_name(f"{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a text file in one move."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
