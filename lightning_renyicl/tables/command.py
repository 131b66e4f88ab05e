"""The command ``lightning`` in processes that don't pay for its imports.

Importing torch, Lightning and the parser takes longer than a short training. One server process imports them and does
nothing else; every command runs in a fork of it, in which nothing has run before.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import runpy
import shlex
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

PROGRAM = "lightning_renyicl"
PRELOADED = ["lightning_renyicl.cli", "tensorboard.summary.writer.event_file_writer"]

_context = multiprocessing.get_context("forkserver")
# starting a process looks at all others, and an exit code can be read once only
_one_at_a_time = threading.Lock()


def prepare(threads: int) -> None:
    """Settles what the server and with it every command has from the start; before the first :func:`start`."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    # else asking for a GPU would start the driver, and a fork cannot use a driver that its parent has started
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    _context.set_forkserver_preload(PRELOADED)


def start(arguments: list[str], log: Path, lock: int, environment: Mapping[str, str]) -> ForkServerProcess:
    """Starts ``lightning ARGUMENTS`` in a session of its own.

    Args:
        arguments: of the command.
        log: file that its output is appended to.
        lock: descriptor that it keeps open.
        environment: its variables besides those of :func:`prepare`.
    """
    process = _context.Process(target=_run, args=(arguments, str(log), DupFd(lock), dict(environment)))
    with _one_at_a_time:
        process.start()
    return process


def wait(process: ForkServerProcess) -> int:
    """Waits for a command and returns its exit code, minus the signal's number if one ended it."""
    multiprocessing.connection.wait([process.sentinel])
    with _one_at_a_time:
        code = process.exitcode
    assert code is not None
    return code


def kill(process: ForkServerProcess) -> None:
    """Ends a command and what it started; Lightning lets a training outlive milder signals."""
    assert process.pid is not None
    for send in (os.killpg, os.kill):  # the second one if it has no session of its own yet
        with suppress(ProcessLookupError):
            send(process.pid, signal.SIGKILL)


def _run(arguments: list[str], log: str, lock: Any, environment: dict[str, str]) -> None:
    os.setsid()  # an interrupt from the keyboard reaches the runner alone, which then ends the whole group
    lock.detach()
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(output, f"$ lightning {shlex.join(arguments)}\n".encode())
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(output, stream.fileno())
    os.close(output)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [PROGRAM, *arguments]
    runpy.run_module(PROGRAM, run_name="__main__", alter_sys=True)
