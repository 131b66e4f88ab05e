"""Contrastive learning whose hard negatives count more."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from lightning_renyicl.distributed import Group, global_mean
from lightning_renyicl.objectives.critic import CosineCritic
from lightning_renyicl.objectives.functional import checked_scores
from lightning_renyicl.objectives.ranges import check_not_negative


def hcl(p: Tensor, n: Tensor, hardness: float, prior: float, temperature: float, group: Group = None) -> Tensor:
    r"""InfoNCE with negatives that count by their hardness, less those that are false.

    .. math:: \mathrm{mean}_i\left[p_i - \log \frac{e^{p_i} + K \max(m_i, e^{-1/\tau})}{K + 1}\right], \quad
              m_i = \frac{1}{1 - \pi}\left(\frac{\sum_k e^{(1+h) n_{ik}}}{\sum_k e^{h n_{ik}}} - \pi e^{p_i}\right)

    Robinson et al. (2021), with h their beta and pi their tau⁺; their loss is minus this, but for log(K + 1). At
    hardness 0 and prior 0 it is InfoNCE, :func:`functional.cpc`. m, the mean of e^n over hard negatives of other
    classes, is kept above the least that cosines allow.

    Args:
        p: scores of positive pairs.
        n: scores of negative pairs.
        hardness: concentration h of the negatives on those of high scores, 0 or above.
        prior: share pi of negatives that are of the anchor's own class, in [0, 1).
        temperature: temperature tau of the scores.
        group: processes that share the batch; None is this process only.

    Raises:
        ValueError: shapes that don't fit each other, an empty side, hardness or prior out of range.
    """
    check_hcl(hardness, prior)
    p, n = checked_scores(p, n)
    floor, log_rest = -1.0 / temperature, math.log1p(-prior)
    log_mean = ((1.0 + hardness) * n).logsumexp(-1) - (hardness * n).logsumexp(-1)
    log_false = p - log_mean + (math.log(prior) if prior else -math.inf)  # log of the share of e^log_mean
    # a logarithm that is not taken has no gradient that isn't finite either
    below = log_false.exp() >= 1.0 - (floor + log_rest - log_mean).exp()
    left = torch.log1p(-log_false.masked_fill(below, -1.0).exp())
    hard = (log_mean + left - log_rest).masked_fill(below, floor)
    negatives = n.shape[-1]
    denominator = torch.logaddexp(p, hard + math.log(negatives)) - math.log(negatives + 1)
    return global_mean(p - denominator, group)


def check_hcl(hardness: float, prior: float) -> None:
    """Raises ValueError unless ``hardness`` is a finite number of at least 0 and ``prior`` is in [0, 1)."""
    check_not_negative(hardness=hardness)
    if not 0.0 <= prior < 1.0:
        raise ValueError(f"prior must be in [0, 1), got {prior}")


class HCL(CosineCritic):
    """Contrastive learning with hard negatives; see :func:`hcl`.

    Args:
        hardness: concentration of the negatives on those of high scores, 0 or above; 0 counts them all alike.
        prior: share of negatives that are of the anchor's own class, in [0, 1).
        critic: arguments of :class:`CosineCritic`.

    Raises:
        ValueError: hardness or prior out of range.
    """

    normalises_per_anchor = True
    best_is_log_ratio = False

    def __init__(self, hardness: float = 1.0, prior: float = 0.1, **critic: Any) -> None:
        super().__init__(**critic)
        check_hcl(hardness, prior)
        self.hardness = hardness
        self.prior = prior

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return hcl(p, n, self.hardness, self.prior, self.temperature, group)
