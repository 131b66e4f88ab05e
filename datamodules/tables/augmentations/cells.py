"""Augmentations of rows of a table."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from datamodules.augmentations.base import Augmentation


class RowAugmentation(Augmentation):
    """An augmentation of rows."""

    takes = "rows"


def _chosen(batch: Tensor, rate: float, generator: Generator) -> Tensor:
    """A mask over cells, each chosen on its own with probability ``rate``."""
    return torch.rand(batch.shape, generator=generator, device=batch.device) < rate


def _check_rate(rate: float) -> None:
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate is the fraction of cells that change and must be in [0, 1], got {rate}")


class RandomMask(RowAugmentation):
    """Sets each cell to 0, the mean of a standardised column, with probability ``rate`` (i-Mix, Lee et al., 2021).

    In a categorical column 0 is the code of nothing. i-Mix's code leaves these columns alone on CovType.

    Shapes: ``[N, F]`` to ``[N, F]``.

    Args:
        rate: probability that a cell is masked, 0.2 in the RényiCL paper.
        columns: how many columns may be masked, from the first on, such as the numeric ones, which stand before the
            categorical ones; None: all.

    Raises:
        ValueError: a rate out of range, or a number of columns that rows don't have.
    """

    def __init__(self, rate: float = 0.2, columns: int | None = None) -> None:
        super().__init__()
        _check_rate(rate)
        if columns is not None and columns < 1:
            raise ValueError(f"columns, how many may be masked, must be at least 1, or null for all, got {columns}")
        self.rate = rate
        self.columns = columns

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        width = batch.shape[1]
        columns = width if self.columns is None else self.columns
        if columns > width:
            raise ValueError(f"columns, how many may be masked, is {columns}, and rows have {width}")
        chosen = _chosen(batch[:, :columns], self.rate, generator)
        return batch.masked_fill(F.pad(chosen, (0, width - columns)), 0.0)


class FeatureCorruption(RowAugmentation):
    """Replaces each cell, with probability ``rate``, by its column's value in a random training row.

    SCARF (Bahri et al., 2022): the row is drawn uniformly from the whole training set, anew for each cell.

    Shapes: ``[N, F]`` to ``[N, F]``.

    Args:
        rate: probability that a cell is replaced, 0.2 in the RényiCL paper and 0.6 in SCARF.

    Raises:
        ValueError: a rate out of range, or a batch before :meth:`fit`.
    """

    train_rows: Tensor

    def __init__(self, rate: float = 0.2) -> None:
        super().__init__()
        _check_rate(rate)
        self.rate = rate
        self.register_buffer("train_rows", torch.empty(0), persistent=False)

    def fit(self, training: Tensor) -> None:
        self.train_rows = training

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        if self.train_rows.numel() == 0:
            raise ValueError("FeatureCorruption draws from training rows: call fit(training) first")
        if self.train_rows.device != batch.device:
            self.train_rows = self.train_rows.to(batch.device)
        rows = torch.randint(len(self.train_rows), batch.shape, generator=generator, device=batch.device)
        return torch.where(_chosen(batch, self.rate, generator), self.train_rows.gather(0, rows), batch)
