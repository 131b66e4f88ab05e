"""A metric of the mutual information that critics' scores tell, over batches and processes."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torchmetrics import Metric

from lightning_renyicl.distributed import world_group
from lightning_renyicl.objectives.ratios import check_ratio_alpha, log_ratio, row_log_ratio


class MeanLogRatio(Metric):
    """The mean of log r over positive pairs, in nats, and the share of pairs that have none.

    Batches are averaged pair by pair, over all processes.

    Returns:
        From ``compute``: ``mutual_information``, NaN if no pair has a ratio or a score was NaN, and ``invalid``, a
        share.
    """

    higher_is_better = None
    is_differentiable = False
    full_state_update = False
    total: Tensor
    pairs: Tensor
    invalid: Tensor

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.add_state("total", torch.zeros((), dtype=torch.float32), dist_reduce_fx="sum")
        self.add_state("pairs", torch.zeros((), dtype=torch.long), dist_reduce_fx="sum")
        self.add_state("invalid", torch.zeros((), dtype=torch.long), dist_reduce_fx="sum")

    def update(self, ratios: Tensor, diverged: Tensor) -> None:
        """Adds a batch: log r of positive pairs, NaN where there is none, and whether a score was NaN."""
        invalid = ratios.isnan()
        # a score that is NaN is no pair without a ratio, but a critic that has diverged; a GPU is not waited for
        self.total += torch.where(diverged, math.nan, ratios.masked_fill(invalid, 0.0).sum())
        self.pairs += ratios.numel()
        self.invalid += invalid.sum()

    def compute(self) -> dict[str, Tensor]:
        return {
            "mutual_information": self.total / (self.pairs - self.invalid),
            "invalid": self.invalid / self.pairs,
        }


class MutualInformation(MeanLogRatio):
    """The mean of log r over positive pairs, read off the scores of a critic.

    Each batch is normalised by its own negatives, over all processes.

    Args:
        alpha: skew of the bound that trained the critic, for one normaliser a batch, :func:`ratios.log_ratio`; None for
            one an anchor, :func:`ratios.row_log_ratio`.
        kwargs: arguments of ``torchmetrics.Metric``.

    Returns:
        From ``compute``: see :class:`MeanLogRatio`.

    Raises:
        ValueError: alpha out of [0, 1).
    """

    def __init__(self, alpha: float | None = None, **kwargs: object) -> None:
        super().__init__(**kwargs)
        if alpha is not None:
            check_ratio_alpha(alpha)
        self.alpha = alpha

    def update(self, p: Tensor, n: Tensor) -> None:
        """Adds a batch: scores of positive pairs ``[N]`` or ``[N, P]``, of negative ones with K more at the end."""
        p, n = p.detach(), n.detach()
        ratios = row_log_ratio(p, n) if self.alpha is None else log_ratio(p, n, self.alpha, world_group())
        super().update(ratios, p.isnan().any() | n.isnan().any())
