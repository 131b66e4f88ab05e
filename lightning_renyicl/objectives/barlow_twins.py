"""Redundancy reduction between the numbers of an embedding."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lightning_renyicl.distributed import reduce_sum, world_group
from lightning_renyicl.objectives.embeddings import check_two_views
from lightning_renyicl.objectives.moments import centred, off_diagonal
from lightning_renyicl.objectives.objective import Context, Objective
from lightning_renyicl.objectives.ranges import check_not_negative

_EPSILON = 1e-5


class BarlowTwins(Objective):
    r"""Barlow Twins' loss: the correlation of two views' embeddings should be the identity matrix.

    .. math:: \sum_i (C_{ii} - 1)^2 + \lambda \sum_{i \neq j} C_{ij}^2, \qquad
              C_{ij} = \mathrm{mean}_n [\hat z_{n i}^{(1)} \hat z_{n j}^{(2)}]

    Zbontar et al. (2021), algorithm 1. The numbers z are standardised by mean and biased variance (plus 1e-5) of the
    global batch, as the authors' BatchNorm is synchronised. The momentum encoder's embeddings are not used.

    Args:
        redundancy: weight lambda of the correlations off the diagonal, a finite number of at least 0; the authors' code
            has 0.0051, their paper 0.005.

    Raises:
        ValueError: a weight out of range.
    """

    def __init__(self, redundancy: float = 0.0051) -> None:
        super().__init__()
        check_not_negative(redundancy=redundancy)
        self.redundancy = redundancy

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of the global batch; see :meth:`Objective.forward`.

        ``logs`` holds the mean ``correlation`` on the diagonal and the root mean square ``redundancy`` off it.

        Raises:
            ValueError: a number of views other than two, or a global batch of fewer than two samples.
        """
        check_two_views(self, online, target)
        group = world_group()
        with torch.autocast(device_type=online[0].device.type, enabled=False):
            views, total = centred(online, group)  # [2, N, D]
            variance = reduce_sum(views.square().sum(1, keepdim=True), group) / total
            first, second = (views / (variance + _EPSILON).sqrt()).unbind()
            correlation = reduce_sum(first.T @ second, group) / total  # [D, D]
            diagonal, others = correlation.diagonal(), off_diagonal(correlation).square()
            loss = (diagonal - 1.0).square().sum() + self.redundancy * others.sum()
            with torch.no_grad():
                rms = (others.sum() / max(others.numel(), 1)).sqrt()
        return loss, {"correlation": diagonal.detach().mean(), "redundancy": rms}
