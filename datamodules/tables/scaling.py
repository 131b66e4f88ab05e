"""Standardisation with the statistics of training rows."""

from __future__ import annotations

import torch
from torch import Tensor


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
        if self.state is None:
            raise ValueError("a Standardizer is fitted on training rows before it is used")
        return (rows - self.state["mean"]) / self.state["std"]
