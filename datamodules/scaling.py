"""Standardisation with the statistics of training rows."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Standardizer(nn.Module):
    """Subtracts the mean and divides by the standard deviation of the rows that it was fitted on.

    A constant column is centred and left unscaled. State: ``mean`` and ``std``, empty until fitted.
    """

    mean: Tensor
    std: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.empty(0))
        self.register_buffer("std", torch.empty(0))

    def fit_once(self, rows: Tensor) -> None:
        """Fits on rows ``[M, F]`` unless a fit, or a checkpoint, came before."""
        if self.mean.numel():
            return
        deviation, self.mean = torch.std_mean(rows, dim=0, correction=0)
        self.std = torch.where(deviation > 0, deviation, 1.0)

    def load_state_dict(self, state_dict: dict[str, Tensor], strict: bool = True, assign: bool = True) -> None:  # type: ignore[override]
        # assign: the shapes of fitted buffers differ from the empty ones
        super().load_state_dict(state_dict, strict, assign=True)

    def forward(self, rows: Tensor) -> Tensor:
        return (rows - self.mean) / self.std
