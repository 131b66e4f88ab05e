"""A hard view and a step on a GPU, in bfloat16 and with made-up images: ``python -m tests.benchmarks.gpu``."""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

from datamodules.seeding import generator_at
from tests.benchmarks.step import HARD, epoch_against_floor, image, table
from tests.benchmarks.timing import compare, merge
from tests.benchmarks.vision import BATCH, BATCHES, WORKERS, Views, photographs


def hard_view(device: torch.device) -> dict[str, Any]:
    """Hard views by a loader's processes, over those of whole batches on the GPU."""
    images = photographs()
    loader = DataLoader(Views(images), BATCH, num_workers=WORKERS, persistent_workers=True)
    batch = torch.rand(BATCH, 3, 32, 32, device=device)

    def worker() -> None:
        for _ in loader:
            pass

    def whole_batches() -> None:
        for number in range(BATCHES):
            HARD(batch, generator_at(number, device=device))

    worker()  # starts the processes
    whole_batches()
    return compare(worker, whole_batches, n=5, device=device)


def main() -> None:
    """Prints a line a benchmark and merges them into ``results/bench.json``."""
    if not torch.cuda.is_available():
        sys.exit("error: torch finds no CUDA GPU on this machine, and these benchmarks are of one")
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    device = torch.device("cuda", 0)
    results = {
        "vision/hard_view_device_vs_worker_gpu": hard_view(device),
        "vision/step_vs_bare_bf16_gpu": epoch_against_floor(lambda: image(50), "bf16-mixed", n=5, device=device),
        "table/step_vs_bare_bf16_gpu": epoch_against_floor(lambda: table(1, 50), "bf16-mixed", n=5, device=device),
    }
    for key, result in results.items():
        print(f"{key}: {result['ratio']} ({result['median_s']} s / {result['floor_s']} s, n = {result['n']})")
    merge(results, Path("results/bench.json"))


if __name__ == "__main__":
    main()
