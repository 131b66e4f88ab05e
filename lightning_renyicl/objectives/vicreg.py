"""Invariance between views, with a variance that must not vanish and covariances that should."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lightning_renyicl.distributed import global_mean, reduce_sum, world_group
from lightning_renyicl.objectives.embeddings import check_two_views, full_precision
from lightning_renyicl.objectives.moments import centred, off_diagonal
from lightning_renyicl.objectives.objective import Context, Objective
from lightning_renyicl.objectives.ranges import check_not_negative

_EPSILON = 1e-4


class VICReg(Objective):
    r"""VICReg's loss: variance, invariance and covariance of two views' embeddings.

    .. math:: \lambda\, \mathrm{mean}_{n,i} (z_{ni}^{(1)} - z_{ni}^{(2)})^2 + \sum_{v=1}^{2} \left[ \frac{\mu}{2}\,
              \mathrm{mean}_i \left( 1 - \sqrt{C_{ii}^{(v)} + 10^{-4}} \right)_+
              + \frac{\nu}{D} \sum_{i \neq j} (C_{ij}^{(v)})^2 \right]

    Bardes, Ponce and LeCun (2022), eq. (6), weighed as in the authors' code. C are the unbiased covariances of the
    global batch. The momentum encoder's embeddings are not used.

    Args:
        invariance: weight lambda of the squared distance of views, a finite number of at least 0.
        variance: weight mu of what standard deviations lack of 1, a finite number of at least 0.
        covariance: weight nu of squared covariances, a finite number of at least 0.

    Raises:
        ValueError: a weight out of range.
    """

    def __init__(self, invariance: float = 25.0, variance: float = 25.0, covariance: float = 1.0) -> None:
        super().__init__()
        check_not_negative(invariance=invariance, variance=variance, covariance=covariance)
        self.invariance, self.variance, self.covariance = invariance, variance, covariance

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of the global batch; see :meth:`Objective.forward`.

        ``logs`` holds the three terms without their weights, ``invariance``, ``variance`` and ``covariance``.

        Raises:
            ValueError: a number of views other than two, or a global batch of fewer than two samples.
        """
        check_two_views(self, online, target)
        group = world_group()
        with torch.autocast(device_type=online[0].device.type, enabled=False):
            distance = (full_precision(online[0]) - full_precision(online[1])).square()
            invariance = global_mean(distance, group)
            views, total = centred(online, group)  # [2, N, D]
            hinges, squares = [], []
            for view in views.unbind():
                matrix = reduce_sum(view.T @ view, group) / (total - 1)  # [D, D]
                hinges.append((1.0 - (matrix.diagonal() + _EPSILON).sqrt()).relu().mean())
                squares.append(off_diagonal(matrix).square().sum() / len(matrix))
            variance, covariance = torch.stack(hinges).mean(), torch.stack(squares).sum()
            loss = self.invariance * invariance + self.variance * variance + self.covariance * covariance
        logs = {"invariance": invariance, "variance": variance, "covariance": covariance}
        return loss, {name: value.detach() for name, value in logs.items()}
