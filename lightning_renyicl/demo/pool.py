"""All runs of the demo, as many at a time as there are cores."""

from __future__ import annotations

import logging
import multiprocessing
import os
import queue
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lightning_renyicl.demo import report
from lightning_renyicl.demo.runs import CONFIGS, Job, Outcome, train

SEEDS = 3
ROOT = Path("runs/demo")
RESULTS = Path("results")

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
    start = time.perf_counter()
    # the longest jobs first, so that no core waits at the end
    jobs = [Job(domain, seed) for domain in CONFIGS for seed in range(SEEDS)]
    workers = min(len(jobs), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    context = multiprocessing.get_context("spawn")
    with (
        context.Manager() as manager,
        tqdm(total=len(jobs), desc="training runs", bar_format="{l_bar}{bar}| {n:.1f}/{total} [{elapsed}]") as bar,
    ):
        progress = manager.Queue()
        with ProcessPoolExecutor(workers, context, _start, (progress,)) as pool:
            futures = [pool.submit(_train, job) for job in jobs]
            while not all(future.done() for future in futures):
                try:
                    bar.update(progress.get(timeout=0.5))
                except queue.Empty:
                    bar.refresh()
                if any(future.done() and future.exception() for future in futures):
                    pool.shutdown(cancel_futures=True)
                    break
            bar.update(bar.total - bar.n)
            outcomes = [future.result() for future in futures if not future.cancelled()]
    RESULTS.mkdir(exist_ok=True)
    text = report.table(outcomes)
    (RESULTS / "demo.md").write_text(text)
    report.picture(outcomes, RESULTS / "demo.png")
    print(f"\n{text}\nsaved {RESULTS / 'demo.md'} and {RESULTS / 'demo.png'} in {time.perf_counter() - start:.0f} s")
