"""Average precision as PASCAL VOC 2007 counts it."""

from __future__ import annotations

import torch
from torch import Tensor


def mean_average_precision(scores: Tensor, target: Tensor) -> Tensor:
    """The mean of the classes' 11-point average precision, those without a positive sample left out; NaN of none.

    Args:
        scores: how much speaks for each class, ``[M, C]``.
        target: 1 where a sample is of a class and 0 where it isn't, ``[M, C]``; −1 where it doesn't count, as in VOC
            where all objects of the class are difficult ones.
    """
    return torch.stack([average_precision(*pair) for pair in zip(scores.mT, target.mT, strict=True)]).nanmean()


def average_precision(scores: Tensor, target: Tensor) -> Tensor:
    """The mean over recalls r = 0, 0.1 … 1 of the best precision at a recall of at least r (Everingham et al., 2010).

    Samples are ranked by their scores, equal ones in their order. NaN without a positive sample.

    Args:
        scores: how much speaks for the class, ``[M]``.
        target: 1, 0 or −1 as in :func:`mean_average_precision`, ``[M]``.
    """
    known = target >= 0
    ranked = target[known][scores[known].argsort(descending=True, stable=True)]
    found = ranked.cumsum(0)  # true positives among the first
    if not len(found) or not found[-1]:
        return scores.new_full((), torch.nan, dtype=torch.float64)
    precision = found.double() / torch.arange(1, len(found) + 1, device=found.device)
    best = precision.flip(0).cummax(0).values.flip(0)  # from a rank on
    levels = torch.arange(11, device=found.device)
    return best[torch.searchsorted(10 * found, levels * found[-1])].mean()  # in whole numbers: recalls are not rounded
