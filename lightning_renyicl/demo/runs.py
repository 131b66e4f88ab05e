"""One training of the demo through the command, in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.pytorch import Callback, LightningModule, Trainer

from lightning_renyicl import cli
from lightning_renyicl.demo import scores

CONFIGS = {
    "image": "configs/digits_image_hard.yaml",
    "table": "configs/digits_table_hard.yaml",
    "graph": "configs/digits_graph.yaml",
}


@dataclass(frozen=True)
class Job:
    """A domain and a seed."""

    domain: str
    seed: int


@dataclass
class Outcome:
    """What a run shows: scores of a linear probe, the probe curve, and maps of the test split for seed 0."""

    job: Job
    scores: dict[str, scores.Scores]
    curve: list[tuple[float, float]]
    maps: dict[str, tuple[Any, Any]]
    seconds: float


class Watch(Callback):
    """Scores raw input and the untrained encoder before training, and reports every epoch's progress."""

    def __init__(self, job: Job, progress: Callable[[float], None]) -> None:
        self.job = job
        self.progress = progress
        self.scores: dict[str, scores.Scores] = {}
        self.maps: dict[str, tuple[Any, Any]] = {}
        self.curve: list[tuple[float, float]] = []
        self.seconds = 0.0

    def look(self, name: str, datamodule: Any, encode: Callable[[Any], torch.Tensor]) -> None:
        """Scores an encoding of the data, and maps it for seed 0."""
        self.scores[name] = scores.probe(datamodule, encode, self.job.seed)
        if self.job.seed == 0:
            self.maps[name] = scores.map_2d(datamodule, encode)

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        datamodule = trainer.datamodule  # type: ignore[attr-defined]
        self.look("raw", datamodule, datamodule.raw_input)
        self.look("untrained", datamodule, pl_module.eval())
        pl_module.train()

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.seconds = time.perf_counter()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.progress(1 / (trainer.max_epochs or 1))

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        accuracy = trainer.callback_metrics.get("online_probe/top1")
        if accuracy is not None and not trainer.sanity_checking:
            self.curve.append((trainer.current_epoch + 1, float(accuracy)))

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.seconds = time.perf_counter() - self.seconds
        self.look("renyicl", trainer.datamodule, pl_module.eval())  # type: ignore[attr-defined]


def train(job: Job, root: Path, progress: Callable[[float], None]) -> Outcome:
    """Runs ``lightning fit`` on the job's configuration and scores it; one thread, so that jobs share the cores."""
    torch.set_num_threads(1)
    watch = Watch(job, progress)
    cli.run(
        [
            "fit",
            f"--config={CONFIGS[job.domain]}",
            f"--seed_everything={job.seed}",
            f"--trainer.default_root_dir={root / job.domain / f'seed{job.seed}'}",
            "--trainer.accelerator=cpu",
            "--trainer.enable_progress_bar=false",
            "--trainer.enable_model_summary=false",
            "--fresh=true",
        ],
        callbacks=[watch],
    )
    return Outcome(job, watch.scores, watch.curve, watch.maps, watch.seconds)


def mean_and_std(values: list[float]) -> tuple[float, float]:
    """Mean and sample standard deviation, in per cent."""
    return 100 * float(np.mean(values)), 100 * float(np.std(values, ddof=1))
