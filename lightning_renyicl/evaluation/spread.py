"""How features are spread: numbers that need no labels."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def alignment(x: Tensor, y: Tensor) -> Tensor:
    """The alignment E |x̂ − ŷ|² of pairs on the unit sphere, 0 where both are the same (Wang and Isola, 2020, α = 2).

    Shapes: ``[N, F]`` and ``[N, F]`` to a scalar.
    """
    return (F.normalize(x, dim=1) - F.normalize(y, dim=1)).square().sum(1).mean()


def uniformity(x: Tensor) -> Tensor:
    """The uniformity log E exp(−2 |x̂_i − x̂_j|²) over pairs i < j on the unit sphere (Wang and Isola, 2020, t = 2).

    0 where all are the same, and lower the more evenly they are spread.

    Shapes: ``[N, F]`` to a scalar.
    """
    distances = torch.pdist(F.normalize(x, dim=1)).square()
    return (-2 * distances).logsumexp(0) - math.log(len(distances))


def deviation(x: Tensor) -> Tensor:
    """Standard deviation of a feature on the unit sphere, averaged over the F features and times √F.

    Near 1 where features are spread evenly about 0, near 0 where they have collapsed.

    Shapes: ``[N, F]`` to a scalar.
    """
    return F.normalize(x, dim=1).std(0).mean() * math.sqrt(x.shape[1])


def effective_rank(values: Tensor) -> Tensor:
    """The exponential of the entropy of p_k = v_k / Σ v (Roy and Vetterli, 2007).

    It is the number of values where all are equal, and 1 of values that are all 0.

    Args:
        values: singular values of a matrix, none negative, ``[R]``.
    """
    p = values / values.sum().clamp(min=torch.finfo(values.dtype).tiny)
    return torch.special.entr(p).sum().exp()


def ranks(x: Tensor) -> dict[str, Tensor]:
    """How many dimensions features ``[N, F]`` fill.

    Returns:
        ``effective_rank``, that of their covariance matrix, and ``rankme`` (Garrido et al., 2023), that of the matrix
        of the features as they are, without its ε, which is for logarithms of 0 alone.
    """
    centred = torch.linalg.svdvals(x - x.mean(0))
    return {"effective_rank": effective_rank(centred.square()), "rankme": effective_rank(torch.linalg.svdvals(x))}
