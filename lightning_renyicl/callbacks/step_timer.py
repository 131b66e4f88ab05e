"""What a training would cost, from a few of its steps."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from statistics import median
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer

from lightning_renyicl.atomic import write_text


class StepTimer(Callback):
    """Times the first steps, writes what all of them would take, and ends the process.

    The first step sets things up and doesn't count; then come as many as fill five seconds, at least one. The file
    holds ``step_seconds`` (their median), ``steps`` of the whole training, ``validation_seconds`` of all its validation
    passes (from the batches that Lightning looks at before training), and ``seconds`` in all.

    Args:
        path: file that the cost is written to.
    """

    SPELL = 5.0  # seconds

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self._start = 0.0
        self._training: list[float] = []
        self._validation: list[float] = []

    def on_validation_batch_start(self, *_: Any) -> None:
        self._start = time.perf_counter()

    def on_validation_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: Any) -> None:
        self._validation.append(self._elapsed(pl_module))

    def on_train_start(self, *_: Any) -> None:
        self._start = time.perf_counter()

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: Any) -> None:
        self._training.append(self._elapsed(pl_module))
        self._start = time.perf_counter()
        if (len(self._training) < 2 or sum(self._training[1:]) < self.SPELL) and not trainer.is_last_batch:
            return
        write_text(self.path, json.dumps(self._cost(trainer)))
        raise SystemExit(0)

    def _elapsed(self, pl_module: LightningModule) -> float:
        if pl_module.device.type == "cuda":
            torch.cuda.synchronize(pl_module.device)
        return time.perf_counter() - self._start

    def _cost(self, trainer: Trainer) -> dict[str, float]:
        most = trainer.max_steps * trainer.accumulate_grad_batches if trainer.max_steps > 0 else math.inf
        epochs = trainer.max_epochs or 0
        if epochs < 1:
            epochs = math.ceil(most / trainer.num_training_batches)
        steps = int(min(trainer.num_training_batches * epochs, most))
        passes = math.ceil(steps / trainer.num_training_batches) // (trainer.check_val_every_n_epoch or 1)
        step = median(self._training[1:] or self._training)
        batches = sum(trainer.num_val_batches) if self._validation else 0
        validation = passes * batches * (median(self._validation[1:] or self._validation) if batches else 0.0)
        return {
            "step_seconds": step,
            "steps": steps,
            "validation_seconds": validation,
            "seconds": step * steps + validation,
        }
