"""Pairs whose mutual information rises from epoch to epoch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader

from datamodules.pairs.distributions import Pairs
from datamodules.seeding import generator_at


class StepwisePairs(LightningDataModule):
    """Fresh pairs at every step, whose mutual information is a constant in each epoch.

    RényiCL (Lee and Shin, 2022), appendix "MI estimation between correlated Gaussians": 2 nats at first, and twice as
    many every 4,000 steps. A batch is ``([x, y], nats)``. Validation and test draw other pairs, of the same mutual
    information; of a checkpoint's, without training. For one process.

    Args:
        pairs: distribution of the pairs.
        nats: mutual information of each epoch; as many numbers as ``trainer.max_epochs``.
        steps: steps of an epoch.
        batch_size: pairs in a batch.
        eval_batches: batches of a validation.

    Raises:
        ValueError: nothing to draw, fewer than two pairs in a batch, or mutual information that the pairs cannot have;
            when training begins, another number of epochs or several processes.
    """

    def __init__(
        self,
        pairs: Pairs,
        nats: Sequence[float] = (2.0, 4.0, 8.0, 16.0),
        steps: int = 4000,
        batch_size: int = 128,
        eval_batches: int = 200,
    ) -> None:
        super().__init__()
        if not nats or min(steps, eval_batches) < 1:
            got = f"{list(nats)}, {steps} and {eval_batches}"
            raise ValueError(f"nats must name at least one, steps and eval_batches be at least 1, got {got}")
        if batch_size < 2:
            raise ValueError(f"batch_size must be at least 2, for a pair needs another, got {batch_size}")
        for each in nats:
            pairs.sample(1, each, generator_at(0))
        self.pairs = pairs
        self.nats = list(nats)
        self.steps = steps
        self.batch_size = batch_size
        self.eval_batches = eval_batches
        self.num_classes = 0
        self.in_features = pairs.features
        self.cardinalities: tuple[int, ...] = ()
        self.seed = 0
        self._plateau = 0

    @property
    def files(self) -> list[Path]:
        """No files, as pairs are drawn."""
        return []

    def describe(self) -> dict[str, Any]:
        """The data as really used, for the record."""
        return {"name": type(self.pairs).__name__, "samples": {"train": self.steps * self.batch_size * len(self.nats)}}

    def setup(self, stage: str | None = None) -> None:
        self.seed = torch.initial_seed()
        trainer = self.trainer
        if trainer is None:
            return
        if trainer.world_size > 1:
            raise ValueError(f"StepwisePairs is for one process, got {trainer.world_size}")
        if stage == "fit" and trainer.max_epochs != len(self.nats) and not trainer.fast_dev_run:  # type: ignore[attr-defined]
            raise ValueError(
                f"trainer.max_epochs must be the number of data.nats, {len(self.nats)}, got {trainer.max_epochs}"
            )

    def train_dataloader(self) -> DataLoader:
        return DataLoader(range(self.steps), batch_size=None)  # type: ignore[arg-type]

    def val_dataloader(self) -> DataLoader:
        return DataLoader(range(self.eval_batches), batch_size=None)  # type: ignore[arg-type]

    test_dataloader = val_dataloader

    def on_after_batch_transfer(self, batch: int, dataloader_idx: int) -> tuple[list[Tensor], Tensor]:
        assert self.trainer is not None
        if self.trainer.state.fn == "fit":
            self._plateau = min(self.trainer.current_epoch, len(self.nats) - 1)
        purpose = 0 if self.trainer.training else 2 if self.trainer.testing else 1
        return self.batch(self._plateau, batch, purpose, self.trainer.strategy.root_device)

    def state_dict(self) -> dict[str, Any]:
        return {"plateau": self._plateau}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._plateau = state_dict["plateau"]

    def batch(
        self, plateau: int, number: int, purpose: int = 0, device: torch.device | str = "cpu"
    ) -> tuple[list[Tensor], Tensor]:
        """Pairs that depend on the seed and these arguments alone, and their mutual information ``[N]``."""
        nats = self.nats[plateau]
        drawn = self.pairs.sample(self.batch_size, nats, generator_at(self.seed, purpose, plateau, number))
        return [part.to(device) for part in drawn], torch.full((self.batch_size,), nats, device=device)
