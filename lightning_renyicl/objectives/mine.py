"""The Donsker-Varadhan bound with a gradient whose bias an average over steps takes away."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from lightning_renyicl.distributed import Group, gather, global_mean
from lightning_renyicl.objectives.bounds import DV
from lightning_renyicl.objectives.embeddings import full_precision
from lightning_renyicl.objectives.functional import checked_scores, log_mean_exp, log_means


def mine(p: Tensor, n: Tensor, log_average: Tensor, group: Group = None) -> Tensor:
    r"""The Donsker-Varadhan bound, with another denominator in its gradient.

    .. math:: I = \bar{p} - \log \overline{e^{n}}, \quad
              \nabla I = \nabla \bar{p} - \frac{\nabla\, \overline{e^{n}}}{A}

    Belghazi et al. (2018), with A an average over steps, since the gradient of a batch's logarithm is biased. With the
    batch's own mean of e^n for A it is :func:`functional.dv`.

    Args:
        p: scores of positive pairs.
        n: scores of negative pairs.
        log_average: log of A, an average of the mean of e^n over steps, a scalar.
        group: processes that share the batch; None is this process only.

    Raises:
        ValueError: shapes that don't fit each other, or an empty side.
    """
    p, n = checked_scores(p, n)
    positive, log_negative = global_mean(p, group), _log_mean(n, group)
    surrogate = positive - (log_negative - log_average).exp()
    return (positive - log_negative).detach() + surrogate - surrogate.detach()


def _log_mean(n: Tensor, group: Group) -> Tensor:
    """The log of the mean of e^n over all processes."""
    (log_mean,) = log_means(gather(log_mean_exp(n)[None], group))
    return log_mean


class MINE(DV):
    """Mutual information neural estimation; see :func:`mine`.

    The average moves with every set of scores of which the bound is formed, once for each target view, and contains
    them. It begins with the first; what is not finite does not enter it. It is kept as a logarithm.

    Args:
        rate: share of the newest scores in the average, in (0, 1]; 1 is DV.
        critic: arguments of :class:`CosineCritic`.

    Raises:
        ValueError: a rate out of range; half precision, in which the average stands still, in the first step.
    """

    log_average: Tensor

    def __init__(self, rate: float = 0.01, **critic: Any) -> None:
        super().__init__(0.0, **critic)
        if not 0.0 < rate <= 1.0:
            raise ValueError(f"rate must be in (0, 1], got {rate}")
        self.rate = rate
        self.register_buffer("log_average", torch.tensor(-math.inf))  # of nothing yet

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        self.update(n, group)
        return mine(p, n, self.log_average, group)

    @torch.no_grad()
    def update(self, n: Tensor, group: Group) -> None:
        """Moves the average by a set of scores, in the same way on every process.

        Args:
            n: scores of negative pairs.
            group: processes that share the batch; None is this process only.

        Raises:
            ValueError: weights of half precision.
        """
        if self.log_average.dtype in (torch.float16, torch.bfloat16):
            raise ValueError(
                f"the average of MINE stands still in {self.log_average.dtype}: use a mixed precision or another "
                "objective"
            )
        newest = _log_mean(full_precision(n), group)
        rest = math.log1p(-self.rate) if self.rate < 1.0 else -math.inf
        moved = torch.logaddexp(self.log_average + rest, newest + math.log(self.rate))
        moved = moved.where(self.log_average.isfinite(), newest)
        self.log_average.copy_(moved.where(newest.isfinite(), self.log_average))
