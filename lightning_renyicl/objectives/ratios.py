r"""The density ratio and the mutual information that a trained critic knows.

A critic that maximises a bound is not the log ratio log r of joint and product density itself. It is, up to what the
bound cannot see,

- for DV, MINE, MLCPC and RMLCPC of any order log s + c with s = r / (alpha r + 1 − alpha), for NWJ log s + 1;
- for CPC with K negatives at alpha = 1 / (K + 1) log r + c(x). At another alpha and with endless negatives the best
  u = e^f / E[e^f | x] makes u (alpha u + 1 − alpha) / r a number of x alone: log r + c(x) while alpha r is far below 1.

What is left out is estimated from the scores of negative pairs, for each anchor or for the whole batch. JSD's best
critic is log r itself and RPC's a function of r: they are read without a normaliser.

Shapes: ``p`` are scores of positive pairs, ``[N]`` or ``[N, P]``, ``n`` of negative ones, ``[N, K]`` or ``[N, P, K]``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lightning_renyicl.distributed import Group, gather
from lightning_renyicl.objectives.embeddings import full_precision
from lightning_renyicl.objectives.functional import check_alpha


def row_log_ratio(p: Tensor, n: Tensor) -> Tensor:
    r"""The positive pairs' log r, normalised for each anchor.

    .. math:: \log \hat{r}_i = p_i - \log \frac{1}{K} \sum_k e^{n_{ik}}

    RényiCL (Lee and Shin, 2022), Algorithm 2, in which alpha cancels. Right for a critic log r + c(x), as long as K
    negatives are enough to see that r has mean 1 over all.

    Returns:
        Nats, of the shape of ``p``.
    """
    p, n = full_precision(p), full_precision(n)
    return p - n.logsumexp(-1) + math.log(n.shape[-1])


def log_ratio(p: Tensor, n: Tensor, alpha: float, group: Group = None) -> Tensor:
    r"""The positive pairs' log r, normalised for the whole batch.

    .. math:: \hat{r}_i = \frac{(1-\alpha)\, e^{p_i}}{\hat{Z} - \alpha e^{p_i}}, \quad
              \hat{Z} = \alpha\, \overline{e^{p}} + (1-\alpha)\, \overline{e^{n}}

    RényiCL (Lee and Shin, 2022), appendix "Details for MI estimation". Right for the critics of DV, MLCPC, RMLCPC and
    NWJ, log s + c. A score of :math:`\log(\hat{Z}/\alpha)` or more has no ratio: s cannot pass 1/alpha, so that the
    estimate of Z was too small.

    Args:
        p: positive scores.
        n: negative scores.
        alpha: skew of the bound that trained the critic.
        group: processes that share the batch; None is this process only.

    Returns:
        Nats, of the shape of ``p``; NaN where there is no ratio.

    Raises:
        ValueError: alpha out of [0, 1).
    """
    check_ratio_alpha(alpha)
    p, n = full_precision(p), full_precision(n)
    means = torch.stack([x.flatten().logsumexp(0) - math.log(x.numel()) for x in (p, n)])
    everywhere = gather(means, group)  # [W, 2]
    positive, negative = everywhere.logsumexp(0) - math.log(len(everywhere))
    log_alpha = math.log(alpha) if alpha else -math.inf
    log_s = p - torch.logaddexp(positive + log_alpha, negative + math.log1p(-alpha))
    rest = log_s + log_alpha  # log(alpha s), below 0 for a ratio
    ratio = math.log1p(-alpha) + log_s - torch.log1p(-rest.clamp(max=0).exp())
    return torch.where(rest < 0, ratio, math.nan)


def check_ratio_alpha(alpha: float) -> None:
    """Raises ValueError unless ``alpha`` is a skew that leaves a critic something to say, in [0, 1)."""
    check_alpha(alpha)
    if alpha == 1:
        raise ValueError("at alpha 1 both sides of a bound are the same distribution, and its critic knows no ratio")
