"""All runs of the demo, as many at a time as there are cores."""

from __future__ import annotations

import logging
import multiprocessing
import os
import queue
import sys
import time
import warnings
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lightning_renyicl.demo import report
from lightning_renyicl.demo.runs import CONFIGS, Job, Outcome, train
from lightning_renyicl.runs.cores import cores

SEEDS = 3
ROOT = Path("runs/demo")

_progress: Any = None


def _start(progress: Any) -> None:
    """Gives a worker process the queue of progress and keeps it quiet."""
    global _progress
    _progress = progress
    warnings.filterwarnings("ignore")
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)


def _train(job: Job) -> Outcome:
    return train(job, ROOT, _progress.put)


def main() -> None:
    """Trains every domain and seed, prints the table and saves it with a picture."""
    missing = [config for config in CONFIGS.values() if not Path(config).exists()]
    if missing:
        sys.exit(f"error: {missing[0]} does not exist: run the demo in the project's folder")
    start = time.perf_counter()
    # the longest jobs first, so that no core waits at the end
    jobs = [Job(domain, seed) for domain in CONFIGS for seed in range(SEEDS)]
    workers = min(len(jobs), cores())
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        progress = manager.Queue()
        pool = ProcessPoolExecutor(workers, context, _start, (progress,))
        try:
            outcomes = _wait([pool.submit(_train, job) for job in jobs], progress)
        except BaseException as error:
            # the other runs are not waited for; killed, since Lightning lets a training outlive SIGTERM
            for process in multiprocessing.active_children():
                process.kill()
            if isinstance(error, KeyboardInterrupt):
                print("\ninterrupted", flush=True)
                os._exit(130)  # the pool's own exit would wait for its workers
            raise
        pool.shutdown()
    text = report.table(outcomes)
    ROOT.mkdir(parents=True, exist_ok=True)
    (ROOT / "demo.md").write_text(text)
    report.picture(outcomes, ROOT / "demo.png")
    print(f"\n{text}\nsaved {ROOT / 'demo.md'} and {ROOT / 'demo.png'} in {time.perf_counter() - start:.0f} s")


def _wait(futures: list[Future[Outcome]], progress: Any) -> list[Outcome]:
    """The outcomes in order, with a bar until the last; a failure is raised at once."""
    bar_format = "{l_bar}{bar}| {n:.1f}/{total} [{elapsed}<{remaining}]"
    with tqdm(total=len(futures), desc="training runs", bar_format=bar_format) as bar:
        while not all(future.done() for future in futures):
            try:
                bar.update(min(progress.get(timeout=0.5), bar.total - bar.n))
            except queue.Empty:
                bar.refresh()
            for future in futures:
                if future.done():
                    future.result()
        bar.update(bar.total - bar.n)
    return [future.result() for future in futures]
