"""What ends a run whose numbers are no longer finite."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


class Divergence:
    """Sees every loss of an epoch, and says at its end whether the training has diverged."""

    def __init__(self) -> None:
        self._loss: Tensor | None = None  # the last one
        self._learns: Tensor | None = None  # whether any of the epoch is finite

    def start(self) -> None:
        """Begins an epoch."""
        self._learns = None

    def note(self, loss: Tensor) -> None:
        """Takes a step's loss, for which the device is not waited for."""
        self._loss = loss
        finite = loss.isfinite()
        self._learns = finite if self._learns is None else self._learns | finite

    def check(self, epoch: int, state: Iterable[Tensor]) -> None:
        """Raises ValueError if weights are not finite, or no loss was; a gradient scaler skips single steps of these.

        Args:
            epoch: how many epochs are done.
            state: weights, and what the objective keeps.
        """
        if self._loss is None or self._learns is None:
            return
        finite = torch.stack([self._learns, *(tensor.isfinite().all() for tensor in state)])
        if not finite.all():
            what = "weights are not finite" if finite[0] else "no loss is finite"
            raise ValueError(
                f"{what} after epoch {epoch}, the last loss is {self._loss.item():.4g}: lower the learning rate, and "
                "look at train/feature_std, which falls towards 0 when features collapse"
            )
