"""Where runs execute: on this machine, a few at a time, or as jobs of a cluster."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from lightning_renyicl.runs.cores import cores
from lightning_renyicl.tables.running import command
from lightning_renyicl.tables.running.worker import Outcome, Worker
from lightning_renyicl.tables.training import Run

POLL = 1.0  # seconds between looks at what runs


def on_this_machine(worker: Worker, runs: Sequence[Run], jobs: int, look: Callable[[], None]) -> Generator[Outcome]:
    """Executes runs in ``jobs`` processes, which divide cores and GPUs among them.

    A run that another process has is waited for after all others.

    Args:
        worker: what executes one.
        runs: the runs, in order.
        jobs: number of runs at a time.
        look: called about every second.
    """
    command.prepare(threads=max(1, cores() // jobs))
    slots: queue.SimpleQueue[dict[str, str]] = queue.SimpleQueue()
    for slot in range(jobs):
        slots.put(gpu_of(slot, jobs))

    def work(run: Run, patient: bool) -> Outcome:
        environment = slots.get()
        try:
            return worker(run, environment, patient)
        finally:
            slots.put(environment)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            busy: list[Run] = []
            for outcome in finished([pool.submit(work, run, False) for run in runs], look):
                if outcome.state == "busy":
                    busy.append(outcome.run)
                else:
                    yield outcome
            yield from finished([pool.submit(work, run, True) for run in busy], look)
        except BaseException:
            worker.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def finished(futures: list[Future[Outcome]], look: Callable[[], None]) -> Generator[Outcome]:
    """Outcomes as they come."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=POLL, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()
        look()


def gpu_of(slot: int, jobs: int) -> dict[str, str]:
    """The variable that gives one of several processes a GPU of its own, if there are several."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = len(list(Path("/dev").glob("nvidia[0-9]*")))
    gpus = [str(index) for index in range(count)] if visible is None else visible.split(",")
    return {"CUDA_VISIBLE_DEVICES": gpus[slot % len(gpus)]} if jobs > 1 and len(gpus) > 1 else {}


@dataclass
class Job:
    """A run as a job of a cluster, which goes on in another job when its time is up."""

    PATIENCE: ClassVar[int] = 10

    run: Run
    rerun_stale: bool
    worker: Worker | None = None

    def __call__(self) -> Outcome:
        command.prepare(threads=cores())
        self.worker = Worker(self.rerun_stale)
        outcome = self.worker(self.run)
        for _ in range(self.PATIENCE):
            if outcome.state != "busy":
                break
            time.sleep(POLL)  # a look at the table holds the lock for a moment too
            outcome = self.worker(self.run)
        return outcome

    def checkpoint(self) -> Any:
        """What submitit submits in place of a job that is preempted or out of time; the run has its own checkpoint."""
        from submitit.helpers import DelayedSubmission

        if self.worker is not None:
            self.worker.stop()
        return DelayedSubmission(Job(self.run, self.rerun_stale))


def on_cluster(executor: Any, jobs: Sequence[Job], look: Callable[[], None]) -> Generator[Outcome]:
    """Executes every run as a job of submitit's ``executor``; jobs outlive the process that waits for them here."""
    with executor.batch():
        waiting = {executor.submit(job): job.run for job in jobs}
    while waiting:
        for job in [job for job in waiting if job.done()]:
            run = waiting.pop(job)
            error = job.exception()
            yield job.result() if error is None else Outcome(run, "failed", f"job {job.job_id}: {error}")
        look()
        time.sleep(POLL)


def executor_of(
    cluster: str, name: str, folder: Path, jobs: int, partition: str | None, gpus: int, cpus: int, minutes: int
) -> Any:
    """Submitit's executor: ``slurm``, or ``local`` for jobs as processes of this machine.

    Raises:
        ValueError: submitit is not installed, or the cluster's commands are not there.
    """
    try:
        import submitit
    except ModuleNotFoundError as error:
        raise ValueError(f"LAUNCHER={cluster} needs submitit: pip install 'lightning-renyicl[cluster]'") from error
    try:
        executor = submitit.AutoExecutor(folder / "jobs", cluster, slurm_max_num_timeout=1000)
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"LAUNCHER={cluster}: {error}") from error
    executor.update_parameters(
        name=name,
        timeout_min=minutes,
        gpus_per_node=gpus,
        cpus_per_task=cpus,
        slurm_partition=partition,
        slurm_array_parallelism=jobs,
    )
    return executor
