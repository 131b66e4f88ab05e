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
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, ForkServerProcess

PROGRAM = "lightning_renyicl"

# starting a process looks at all others, and an exit code can be read once only
_one_at_a_time = threading.Lock()


@cache
def _context() -> ForkServerContext:
    """The fork server's.

    Raises:
        ValueError: a system that has none.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        raise ValueError("tables run commands in forks of one process, which this system lacks: use Linux or macOS")
    return multiprocessing.get_context("forkserver")


def prepare(threads: int) -> None:
    """Settles what the server and with it every command has from the start; before the first :func:`start`."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    # else asking for a GPU would start the driver, and a fork cannot use a driver that its parent has started
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    _context().set_forkserver_preload(["lightning_renyicl.tables.running.server"])
    if threading.current_thread() is threading.main_thread():
        # the server is not to be interrupted from the keyboard, from its first moment on
        from multiprocessing import forkserver

        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        forkserver.ensure_running()
        signal.signal(signal.SIGINT, before)


def start(
    work: Callable[[], None], log: Path, environment: Mapping[str, str], lock: int | None = None
) -> ForkServerProcess:
    """Starts what calls the command in a session of its own.

    Args:
        work: what to do, :class:`Commands` for instance.
        log: file that its output is appended to.
        environment: environment variables of the process.
        lock: descriptor that it keeps open.
    """
    from multiprocessing.reduction import DupFd

    held = None if lock is None else DupFd(lock)
    process = _context().Process(target=_run, args=(work, str(log), dict(environment), held))
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


def call(arguments: list[str]) -> None:
    """Runs ``lightning ARGUMENTS`` in this process, without what is for a terminal, as its output goes into a log.

    Raises:
        SystemExit: it failed.
    """
    quiet = ["--trainer.enable_progress_bar=false", "--trainer.enable_model_summary=false"]
    sys.argv = [PROGRAM, *arguments, *quiet]
    runpy.run_module(PROGRAM, run_name="__main__", alter_sys=True)


@dataclass(frozen=True)
class Commands:
    """A command, and what follows it in the same process, whose failure is not the command's.

    Attributes:
        arguments: arguments of the command.
        after: what follows.
    """

    arguments: list[str]
    after: Callable[[], None] | None = None

    def __call__(self) -> None:
        """Runs them."""
        print(f"$ lightning {shlex.join(self.arguments)}", flush=True)
        call(self.arguments)
        if self.after is None:
            return
        try:
            self.after()
        except (Exception, SystemExit):
            traceback.print_exc()


def _run(work: Callable[[], None], log: str, environment: dict[str, str], lock: Any) -> None:
    os.setsid()  # an interrupt from the keyboard reaches the runner alone, which then ends the whole group
    if lock is not None:
        lock.detach()
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # a cluster tells the whole job that its time is nearly up
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(output, stream.fileno())
    os.close(output)
    os.environ.clear()
    os.environ.update(environment)
    work()
