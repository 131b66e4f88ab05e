"""InfoNCE for positive pairs of which some share nothing."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from lightning_renyicl.distributed import Group, global_mean
from lightning_renyicl.objectives.critic import CosineCritic
from lightning_renyicl.objectives.functional import checked_scores

_LARGEST = 80.0
"""The exponent up to which e^x and a mean of some of them are finite in float32."""


def rince(p: Tensor, n: Tensor, q: float, weight: float, group: Group = None) -> Tensor:
    r"""Robust InfoNCE, which is less drawn to the hardest positive pairs, as these may be false.

    .. math:: \mathrm{mean}_i\left[\frac{e^{q p_i}}{q} -
              \frac{\left(w \left(e^{p_i} + \sum_k e^{n_{ik}}\right)\right)^q}{q}\right]

    Chuang et al. (2022), of which this is minus the loss. As q falls to 0 it becomes InfoNCE, but for log(K + 1) and
    −log w; q = 1 bears most false pairs. It exponentiates: float32 is finite while q times the largest score is below
    80.

    Args:
        p: scores of positive pairs.
        n: scores of negative pairs.
        q: robustness, in (0, 1].
        weight: weight w of the sum of all, in (0, 1].
        group: processes that share the batch; None is this process only.

    Raises:
        ValueError: shapes that don't fit each other, an empty side, q or weight out of range.
    """
    check_rince(q, weight)
    p, n = checked_scores(p, n)
    everything = torch.logaddexp(p, n.logsumexp(-1)) + math.log(weight)
    # 1 / q in either term cancels; without it nothing is lost as q falls
    return global_mean((torch.expm1(q * p) - torch.expm1(q * everything)) / q, group)


def check_rince(q: float, weight: float) -> None:
    """Raises ValueError unless ``q`` and ``weight`` are in (0, 1]."""
    for name, value in (("q", q), ("weight", weight)):
        if not 0.0 < value <= 1.0:
            raise ValueError(f"{name} must be in (0, 1], got {value}")


class RINCE(CosineCritic):
    """Robust InfoNCE; see :func:`rince`.

    Args:
        q: robustness to false positive pairs, in (0, 1]; towards 0 it is InfoNCE.
        weight: weight of the sum over positive and negative pairs, in (0, 1].
        critic: arguments of :class:`CosineCritic`.

    Raises:
        ValueError: q or weight out of range, or q too large for the temperature.
    """

    normalises_per_anchor = True
    best_is_log_ratio = False

    def __init__(self, q: float = 0.1, weight: float = 0.01, **critic: Any) -> None:
        super().__init__(**critic)
        check_rince(q, weight)
        if q / self.temperature >= _LARGEST:
            raise ValueError(
                f"RINCE exponentiates q / temperature, which must be below {_LARGEST:g}, got {q} / {self.temperature}: "
                "raise the temperature or lower q"
            )
        self.q = q
        self.weight = weight

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return rince(p, n, self.q, self.weight, group)
