"""Contrast by a critic of bounded slope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from lightning_renyicl.distributed import global_mean, world_group
from lightning_renyicl.objectives.bounds import CPC
from lightning_renyicl.objectives.embeddings import full_precision
from lightning_renyicl.objectives.objective import Context, Parts
from lightning_renyicl.objectives.ranges import check_above_zero

_SMALLEST_SQUARE = 1e-12
"""What keeps the gradient of a norm finite at 0."""


class WPC(CPC):
    r"""Wasserstein predictive coding: InfoNCE with a critic whose slope by its inputs is drawn towards 1.

    .. math:: -\sum_{t=1}^{2} I_\mathrm{CPC}^{(t)}
              + \lambda\, \mathrm{mean}_i \left[ \left( \left\| \nabla_{x_i} f_i \right\| - 1 \right)^2 \right]

    Ozair et al. (2019), with the gradient penalty of Gulrajani et al. (2017) at the data. Scores are dot products over
    the temperature; f_i is the mean score of a sample's positive pairs, and x_i is what the network reads of all its
    views: pixels, numbers of a row (its categories have no gradient), or features of a graph's nodes. Where BatchNorm
    mixes samples, so does that gradient. Every step differentiates twice, which synchronised BatchNorm can't.

    Args:
        penalty: weight lambda of the penalty, a finite number above 0.
        critic: arguments of :class:`CosineCritic`.

    Raises:
        ValueError: a weight or temperature out of range.
    """

    reads_inputs = True
    best_is_log_ratio = False

    def __init__(self, penalty: float = 10.0, **critic: Any) -> None:
        super().__init__(None, **critic)
        check_above_zero(penalty=penalty)
        self.penalty = penalty

    def embed(self, x: Tensor) -> Tensor:
        return full_precision(x)

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """See :meth:`CosineCritic.forward`; ``logs`` also holds the mean ``slope``, which should be about 1.

        Raises:
            ValueError: a context without inputs.
        """
        loss, logs = super().forward(online, target, context)
        if not context.inputs:
            raise ValueError("WPC needs what the network reads, Context(inputs=...)")
        with torch.autocast(device_type=target[0].device.type, enabled=False):
            pairs = [(v, t) for t in range(2) for v in range(len(online)) if v != t]
            scores = [(self.embed(online[v]) * self.embed(target[t])).sum(-1) / self.temperature for v, t in pairs]
            slopes = _slopes(torch.stack(scores).mean(0), context.inputs)
            group = world_group()
            penalty = self.penalty * global_mean((slopes - 1.0).square(), group)
        return loss + penalty, {**logs, "slope": global_mean(slopes.detach(), group)}


def _slopes(scores: Tensor, inputs: Sequence[Parts]) -> Tensor:
    """Norms of the gradients of N scores by all that was read of each sample, ``[N]``."""
    values = [one.values for one in inputs]
    gradients = torch.autograd.grad(scores.sum(), values, create_graph=True, allow_unused=True)
    squares = torch.full_like(scores, _SMALLEST_SQUARE)
    for one, gradient in zip(inputs, gradients, strict=True):
        if gradient is not None:  # of a view that no score depends on
            rows = full_precision(gradient).flatten(1).square().sum(1)
            squares = squares + (rows if one.owner is None else torch.zeros_like(scores).index_add(0, one.owner, rows))
    return squares.sqrt()
