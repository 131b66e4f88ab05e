"""A file that is unpacked as it is read, and watched while it grows."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from pathlib import Path


class Metered(io.RawIOBase):
    """A text file, unpacked by what its name ends with.

    Arrow reads ahead in threads of its own, and may still do so when the file is closed: that waits for a read which is
    under way, since unpacking in memory that is free by then would damage what another file unpacks there. Later reads
    find the file at its end.

    Args:
        path: the file.
        delimiter: what stands between values.
        check: is called with the number of bytes and of values that were read so far, and raises an error if there
            are too many.
    """

    def __init__(self, path: Path, delimiter: str, check: Callable[[int, int], None]) -> None:
        import pyarrow as pa

        self._stream = pa.input_stream(path)
        self._delimiter = delimiter.encode()
        self._check = check
        self._bytes = self._values = 0
        self._turn = threading.Lock()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        with self._turn:
            chunk: bytes = b"" if self.closed else self._stream.read(None if size < 0 else size)
        self._bytes += len(chunk)
        self._values += chunk.count(self._delimiter) + chunk.count(b"\n")
        self._check(self._bytes, self._values)
        return chunk

    def close(self) -> None:
        with self._turn:
            if not self.closed:
                self._stream.close()
            super().close()
