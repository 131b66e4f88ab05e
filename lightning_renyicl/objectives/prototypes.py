"""Prototypes on the sphere, their even assignment to a batch, and what objectives that train them share."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lightning_renyicl.distributed import Group, gather
from lightning_renyicl.objectives.embeddings import unit
from lightning_renyicl.objectives.objective import Objective


class PrototypeObjective(Objective):
    """An objective with prototypes, which a subclass makes, that keep their first values for some epochs.

    Args:
        prototypes: number K of prototypes, at least 2.
        freeze_epochs: epochs for which prototypes keep their first values, at least 0.

    Raises:
        ValueError: an argument out of range.
    """

    prototypes: nn.Linear

    def __init__(self, prototypes: int, freeze_epochs: float) -> None:
        super().__init__()
        if prototypes < 2:
            raise ValueError(f"prototypes must be at least 2, got {prototypes}")
        if not freeze_epochs >= 0.0:
            raise ValueError(f"freeze_epochs must be at least 0, got {freeze_epochs}")
        self._count = prototypes
        self.freeze_epochs = freeze_epochs

    def before_step(self, epoch: float) -> None:
        """Keeps the optimizer from the prototypes in the first epochs; gradients are there on every process by then."""
        if epoch < self.freeze_epochs:
            self.prototypes.weight.grad = None


class Prototypes(nn.Linear):
    """Directions of which an embedding's cosines are its scores, in the parameter ``weight [K, D]``.

    Its rows have length 1; gradients are those of free rows, so :meth:`renormalise` follows each step.

    Args:
        count: number K of prototypes.
        width: number D of numbers in an embedding.
    """

    def __init__(self, count: int, width: int) -> None:
        super().__init__(width, count, bias=False)
        self.renormalise()

    def forward(self, z: Tensor) -> Tensor:
        """Scores of embeddings of any length.

        Shapes: ``[N, D]`` to ``[N, K]``.
        """
        return super().forward(unit(z))

    @torch.no_grad()
    def renormalise(self) -> None:
        """Gives each row length 1."""
        self.weight.copy_(unit(self.weight))


@torch.no_grad()
def sinkhorn(scores: Tensor, epsilon: float, iterations: int, group: Group) -> Tensor:
    r"""Assigns each sample to prototypes so that all prototypes get about the same share of the global batch.

    .. math:: Q = \mathrm{diag}(u)\, e^{S / \epsilon}\, \mathrm{diag}(v)

    Cuturi (2013) as in SwAV (Caron et al., 2020), in log space. Each iteration makes the shares of prototypes equal,
    then each sample's sum 1, which is exact at the end; the shares are as far as the iterations have come.

    Args:
        scores: scores S of this process's samples, ``[N, K]``; processes may have different N.
        epsilon: the smaller, the more an assignment is of one prototype; above 0.
        iterations: how often; at least 1.
        group: process group; None leaves this process alone.

    Returns:
        Assignments ``[N, K]`` without gradient, of sum 1 for each sample.
    """
    logits = scores / epsilon
    for _ in range(iterations):
        shares = gather(logits.logsumexp(0), group).logsumexp(0)  # [K]
        logits = (logits - shares).log_softmax(1)
    return logits.exp()


def of_other_views(assigned: Sequence[Tensor], views: int) -> list[Tensor]:
    """Sums of assignments of the global views other than a view itself, of which local views share one tensor.

    Args:
        assigned: assignments ``[N, K]`` of the two global views.
        views: number V of views, the global ones first.

    Returns:
        V tensors ``[N, K]``.
    """
    first, second = assigned
    both = [first + second] if views > 2 else []
    return [second, first, *both * (views - 2)]
