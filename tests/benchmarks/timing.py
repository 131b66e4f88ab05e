"""Medians of alternating runs, and the file that they are merged into."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from lightning_renyicl.callbacks.result_json import commit, device_name

CPU = torch.device("cpu")


def compare(ours: Callable[[], Any], floor: Callable[[], Any], n: int, device: torch.device = CPU) -> dict[str, Any]:
    """Times both in turn, so that a busy machine slows both. A GPU is waited for.

    Returns:
        ``ratio`` of medians, ours over floor, with ``n``, ``median_s``, ``floor_s``, ``device`` and ``commit``.
    """
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(n):
        for function, times in zip((ours, floor), seconds, strict=True):
            start = time.perf_counter()
            function()
            if device.type == "cuda":
                torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
    median, floor_median = (statistics.median(times) for times in seconds)
    return {
        "ratio": round(median / floor_median, 3),
        "n": n,
        "median_s": round(median, 5),
        "floor_s": round(floor_median, 5),
        "device": device_name(device),
        "commit": commit(),
    }


def merge(results: dict[str, Any], path: Path) -> None:
    """Adds results to the file, replacing those of the same name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(dict(sorted({**before, **results}.items())), indent=2) + "\n")
