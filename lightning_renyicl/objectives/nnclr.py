"""Contrast of nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lightning_renyicl.distributed import Group
from lightning_renyicl.objectives.embeddings import check_two_views, full_precision, unit
from lightning_renyicl.objectives.objective import Context
from lightning_renyicl.objectives.queued import QueuedCPC


class NNCLR(QueuedCPC):
    r"""NNCLR's loss: InfoNCE of one view's nearest neighbour in a queue with the predictions of the other.

    .. math:: -I_\mathrm{CPC}(\mathrm{NN}(z^{(1)}), q^{(2)}) - I_\mathrm{CPC}(\mathrm{NN}(z^{(2)}), q^{(1)})

    Dwibedi et al. (2021), section 3, summed over both directions. The neighbours are anchors and get no gradient, the
    predictions q of the whole batch are keys and do. The second view's targets z enter the queue after each step.

    Args:
        queue: number of embeddings in the queue, at least 1; at first they are random directions.
        temperature: temperature tau of the cosine critic, a finite number above 0.

    Raises:
        ValueError: an argument out of range.
    """

    def __init__(self, queue: int = 98304, temperature: float = 0.1) -> None:
        super().__init__(queue, 1, temperature=temperature)

    @torch.no_grad()
    def nearest(self, x: Tensor) -> Tensor:
        """The row of the queue that is nearest to each embedding.

        Shapes: ``[N, D]`` to the same.
        """
        with torch.autocast(device_type=x.device.type, enabled=False):
            rows = full_precision(self.queue.rows)
            return rows[(unit(x) @ rows.T).argmax(1)]

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The sum of both directions; see :meth:`CosineCritic.forward`.

        ``mutual_information`` in ``logs`` is that of one view's neighbours with the other view.

        Raises:
            ValueError: a number of views other than two.
        """
        check_two_views(self, online, target)
        loss, logs = super().forward([self.nearest(view) for view in target], online, context)
        self.queue.push(target[1])
        return loss, logs

    def log_ratios(self, p: Tensor, n: Tensor, group: Group) -> dict[str, Tensor]:
        """Refuses scores of two views.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "no mutual information of two views can be read off the critic that NNCLR trains, as it scores a view with "
            "neighbours of the other: take CPC or MoCo"
        )
