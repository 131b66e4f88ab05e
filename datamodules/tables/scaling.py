"""Standardisation with the statistics of training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from datamodules.tables.preparation import RowPreparation


class Standardizer:
    """Subtracts the mean and divides by the standard deviation of the rows that it was fitted on.

    A constant column is centred and left unscaled. ``state`` holds ``mean`` and ``std``, ``[F]`` each, and is None
    until fitted.
    """

    def __init__(self) -> None:
        self.state: dict[str, Tensor] | None = None

    def fit(self, rows: Tensor) -> None:
        """Fits on rows ``[M, F]``."""
        std, mean = torch.std_mean(rows, dim=0, correction=0)
        self.state = {"mean": mean, "std": torch.where(std > 0, std, 1.0)}

    def __call__(self, rows: Tensor) -> Tensor:
        state = self._fitted()
        return (rows - state["mean"]) / state["std"]

    def preparation(
        self, numeric: Sequence[str], categories: Mapping[str, Sequence[str]] | None = None
    ) -> RowPreparation:
        """The same as a module, of rows with columns of categories behind.

        Args:
            numeric: names of the columns of numbers.
            categories: names of the columns of categories, and their values.
        """
        state = self._fitted()
        return RowPreparation(numeric, state["mean"].tolist(), state["std"].tolist(), categories or {})

    def _fitted(self) -> dict[str, Tensor]:
        if self.state is None:
            raise ValueError("a Standardizer is fitted on training rows before it is used")
        return self.state
