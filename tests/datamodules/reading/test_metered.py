"""A file that one thread closes while another reads it."""

from __future__ import annotations

import gzip
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from datamodules.reading.metered import Metered


class Slow:
    """A stream whose read ends when it is told to, and that notes whether it was closed meanwhile."""

    def __init__(self):
        self.reads, self.goes_on, self.closed, self.cut = threading.Event(), threading.Event(), False, None

    def read(self, size):
        self.reads.set()
        assert self.goes_on.wait(30)
        self.cut = self.closed
        return b"a,b\n"

    def close(self):
        self.closed = True


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    return Metered(path, ",", lambda size, values: None)


def test_closing_waits_for_a_read(file):
    file._stream = stream = Slow()
    with ThreadPoolExecutor() as pool:
        read = pool.submit(file.read, 4)
        assert stream.reads.wait(30)
        close = pool.submit(file.close)
        wait([close], timeout=0.2)  # time enough to close the stream, if it didn't wait
        stream.goes_on.set()
        assert read.result() == b"a,b\n"
        close.result()
    assert stream.cut is False
    assert stream.closed


def test_a_read_after_closing_finds_the_end(file):
    assert file.read() == b"a,b\n1,2\n"
    file.close()
    assert file.read(4) == b""
