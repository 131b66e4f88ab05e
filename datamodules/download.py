"""Archives from the sites of data sets."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path

from datamodules.files import replacing

TIMEOUT = 30.0  # seconds that a site may stay silent, where urllib would wait for ever


def download(url: str, path: Path, wanted: str, fetch: Callable[[str, str, str], object]) -> None:
    """Puts what lies at ``url`` at ``path``, whole or not at all.

    Args:
        url: address of the archive.
        path: where the archive would have been found; its folder is made.
        wanted: what would have done, for the message.
        fetch: downloads an address into a folder under a name.

    Raises:
        FileNotFoundError: no connection, no such address, or no room; it says what to put where.
    """
    lack = f"no {wanted} in {path.parent}"
    with reported(lack, f"get {url} and put {path.name}, packed as it is, into {path.parent}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        # beside its place first: a download that is cut short must not pass for the archive
        with replacing(path) as partial:
            fetch(url, str(partial.parent), partial.name)


@contextmanager
def reported(lack: str, remedy: str) -> Iterator[None]:
    """Tells in one line what to put where if a download within fails; sites may stay silent for half a minute.

    Args:
        lack: what is missing.
        remedy: what to put where.

    Raises:
        FileNotFoundError: no connection, no such address, or no room.
    """
    timeout = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        yield
    except (OSError, RuntimeError, HTTPException) as error:
        raise FileNotFoundError(f"{lack}, and it cannot be downloaded ({error}): {remedy}") from error
    finally:
        socket.setdefaulttimeout(timeout)
