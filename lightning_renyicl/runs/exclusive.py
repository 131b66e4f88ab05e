"""A run folder is one run's at a time."""

from __future__ import annotations

import errno
import os
import socket
import time
from contextlib import ExitStack
from pathlib import Path

from lightning.pytorch.utilities import rank_zero_only, rank_zero_warn

from lightning_renyicl.lock import lock
from lightning_renyicl.runs.folder import of_a_folder

PATIENCE = 10.0  # seconds in which what a killed process has started ends too
_POLL = 0.1
_WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


def take(folder: Path) -> ExitStack:
    """Keeps other processes from training in a run folder until what is returned is closed, or this process ends.

    The processes of one run are one, of which the first one takes it. Where the system or the file system has no locks
    nothing is kept out.

    Raises:
        ValueError: another process trains there, which it names.
        OSError: a folder that cannot be written.
    """
    if not first_process():
        return ExitStack()
    path = folder / ".lock"
    give_up = time.monotonic() + PATIENCE
    while True:
        with ExitStack() as stack:
            try:
                descriptor = stack.enter_context(lock(path))
            except ModuleNotFoundError:  # the system has none
                path.unlink(missing_ok=True)
                return ExitStack()
            except OSError as error:
                if error.errno in _WITHOUT_LOCKS:
                    rank_zero_warn(f"{path} cannot be locked: nothing keeps a second process from training there")
                    return ExitStack()
                with of_a_folder(folder):
                    raise
            if descriptor is not None:
                stack.callback(path.unlink, missing_ok=True)
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()} {socket.gethostname()}".encode())
                return stack.pop_all()
        process, host = holder(path)
        elsewhere = host not in ("", socket.gethostname())
        if elsewhere or (process and lives(process)) or time.monotonic() > give_up:
            who = f"process {process} on {host}" if process else "another process"
            raise ValueError(f"{folder} is being trained by {who}: wait for it, or choose --trainer.default_root_dir")
        time.sleep(_POLL)


def first_process() -> bool:
    """Whether this process is the first one of its run, over all machines."""
    node = os.environ.get("NODE_RANK", os.environ.get("GROUP_RANK", "0"))
    return rank_zero_only.rank == 0 and node == "0"  # type: ignore[attr-defined]


def holder(path: Path) -> tuple[int, str]:
    """The number and machine of the process that holds a lock; 0 and nothing while it has not said so."""
    try:
        process, host = path.read_text(encoding="utf-8").split()
        return int(process), host
    except (OSError, ValueError):
        return 0, ""


def lives(process: int) -> bool:
    """Whether there is a process of that number on this machine."""
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return True
