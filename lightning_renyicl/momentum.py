"""The momentum encoder: an exponential moving average of the online network."""

from __future__ import annotations

import copy
import math

import torch
from torch import Tensor, nn


def cosine_momentum(base: float, step: int, total_steps: int) -> float:
    """The EMA coefficient, from ``base`` at the first optimizer step to 1 at the last by a half cosine.

    RényiCL, appendix "ImageNet experiments". ``step`` counts optimizer steps from 0.
    """
    progress = min(step / (total_steps - 1), 1.0) if total_steps > 1 else 1.0
    return 1.0 - (1.0 - base) * (math.cos(math.pi * progress) + 1.0) / 2.0


class MomentumTarget(nn.Module):
    """A frozen copy of backbone and projector that follows them.

    Parameters are averaged. BatchNorm statistics are the target's own, from the batches that it sees in training mode.

    Args:
        backbone: the online encoder.
        projector: the online projection head.
        coefficient: EMA coefficient at the first step, in [0, 1].

    Raises:
        ValueError: a coefficient out of range.
    """

    def __init__(self, backbone: nn.Module, projector: nn.Module, coefficient: float) -> None:
        super().__init__()
        if not 0.0 <= coefficient <= 1.0:
            raise ValueError(f"the momentum coefficient must be in [0, 1], got {coefficient}")
        self.coefficient = coefficient
        self.network = nn.Sequential(copy.deepcopy(backbone), copy.deepcopy(projector)).requires_grad_(False)

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        embeddings: Tensor = self.network(x)
        return embeddings

    @torch.no_grad()
    def update(self, backbone: nn.Module, projector: nn.Module, coefficient: float) -> None:
        """One EMA step, ``target = coefficient * target + (1 - coefficient) * online``."""
        online: list[Tensor] = [*backbone.parameters(), *projector.parameters()]
        target: list[Tensor] = list(self.network.parameters())
        torch._foreach_lerp_(target, online, 1.0 - coefficient)
