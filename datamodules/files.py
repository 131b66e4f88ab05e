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
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
