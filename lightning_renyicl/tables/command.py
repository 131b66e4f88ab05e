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
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

PROGRAM = "lightning_renyicl"
QUIET = ("--trainer.enable_progress_bar=false", "--trainer.enable_model_summary=false")
"""Flags of a command that writes into a log."""

_context = multiprocessing.get_context("forkserver")
# starting a process looks at all others, and an exit code can be read once only
_one_at_a_time = threading.Lock()


def prepare(threads: int) -> None:
    """Settles what the server and with it every command has from the start; before the first :func:`start`."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    # else asking for a GPU would start the driver, and a fork cannot use a driver that its parent has started
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    _context.set_forkserver_preload(["lightning_renyicl.tables.server"])
    if threading.current_thread() is threading.main_thread():
        # the server is not to be interrupted from the keyboard, from its first moment on
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        forkserver.ensure_running()
        signal.signal(signal.SIGINT, before)


def start(
    arguments: list[str], log: Path, environment: Mapping[str, str], lock: int | None = None
) -> ForkServerProcess:
    """Starts ``lightning ARGUMENTS`` in a session of its own.

    Args:
        arguments: of the command.
        log: file that its output is appended to.
        environment: its variables.
        lock: descriptor that it keeps open.
    """
    held = None if lock is None else DupFd(lock)
    process = _context.Process(target=_run, args=(arguments, str(log), dict(environment), held))
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


def _run(arguments: list[str], log: str, environment: dict[str, str], lock: Any) -> None:
    os.setsid()  # an interrupt from the keyboard reaches the runner alone, which then ends the whole group
    if lock is not None:
        lock.detach()
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # a cluster tells the whole job that its time is nearly up
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
