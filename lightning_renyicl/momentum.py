"""The momentum encoder: an exponential moving average of the online network."""

from __future__ import annotations

import copy
import math

import torch
from torch import Tensor, nn


def cosine_momentum(base: float, step: int, total_steps: int, end: float = 1.0) -> float:
    """The EMA coefficient, from ``base`` at the first optimizer step to ``end`` at the last by a half cosine.

    RényiCL, appendix "ImageNet experiments". ``step`` counts optimizer steps from 0.
    """
    progress = min(step / (total_steps - 1), 1.0) if total_steps > 1 else 1.0
    return end - (end - base) * (math.cos(math.pi * progress) + 1.0) / 2.0


class MomentumTarget(nn.Module):
    """A frozen copy of backbone and projector that follows them.

    Parameters are averaged. BatchNorm statistics are the target's own, from the batches that it sees in training mode.

    Args:
        backbone: the online encoder.
        projector: the online projection head.
        coefficient: EMA coefficient at the first step, in [0, 1].
        end: EMA coefficient at the last step, in [0, 1].

    Raises:
        ValueError: a coefficient out of range.
    """

    def __init__(self, backbone: nn.Module, projector: nn.Module, coefficient: float, end: float = 1.0) -> None:
        super().__init__()
        for name, each in (("momentum", coefficient), ("momentum_end", end)):
            if not 0.0 <= each <= 1.0:
                raise ValueError(f"{name}, a coefficient of the momentum encoder, must be in [0, 1], got {each}")
        self.coefficient = coefficient
        self.end = end
        self.network = nn.Sequential(copy.deepcopy(backbone), copy.deepcopy(projector)).requires_grad_(False)

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        embeddings: Tensor = self.network(x)
        return embeddings

    def coefficient_at(self, step: int, total_steps: int) -> float:
        """The EMA coefficient of an optimizer step; see :func:`cosine_momentum`."""
        return cosine_momentum(self.coefficient, step, total_steps, self.end)

    @torch.no_grad()
    def update(self, backbone: nn.Module, projector: nn.Module, coefficient: float) -> None:
        """One EMA step, ``target = coefficient * target + (1 - coefficient) * online``."""
        online: list[Tensor] = [*backbone.parameters(), *projector.parameters()]
        target: list[Tensor] = list(self.network.parameters())
        torch._foreach_lerp_(target, online, 1.0 - coefficient)
