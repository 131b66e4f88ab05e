"""Contrast with a queue of keys."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lightning_renyicl.objectives.embeddings import full_precision, unit
from lightning_renyicl.objectives.objective import Context
from lightning_renyicl.objectives.queued import QueuedCPC


class MoCo(QueuedCPC):
    r"""MoCo's loss: InfoNCE of the first view with keys of the second, also those of earlier batches.

    .. math:: -I_\mathrm{CPC}(p, [n, q]), \qquad q_{ik} = f(x_i, \mathrm{row}_k)

    He et al. (2020), eq. (1), but for a constant; p and n are the scores of :class:`CosineCritic` with the momentum
    encoder's embeddings of the second view, which enter a queue after each step. Unlike the authors', the other samples
    of the batch are negatives as well. Their shuffled BatchNorm is left out: BatchNorm is synchronised, or it is not.

    Args:
        queue: number of keys in the queue, at least 0; at first they are random directions.
        temperature: temperature tau of the cosine critic, a finite number above 0.

    Raises:
        ValueError: an argument out of range.
    """

    needs_momentum = True

    def __init__(self, queue: int = 65536, temperature: float = 0.2) -> None:
        super().__init__(queue, 0, temperature=temperature, symmetric=False)

    def scores(self, online: Sequence[Tensor], target: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of online views against the second view and the queue; see :meth:`CosineCritic.scores`.

        Args:
            online: P embeddings ``[N, D]`` of views other than the target's.
            target: embeddings ``[N, D]`` of the target view.

        Returns:
            Positives ``[N, P]`` and negatives ``[N, P, K + Q]`` in float32 (float64 stays).
        """
        p, n = super().scores(online, target)
        with torch.autocast(device_type=target.device.type, enabled=False):
            queries = unit(torch.stack(list(online), dim=1))  # [N, P, D]
            earlier = queries @ full_precision(self.queue.rows).T / self.temperature  # [N, P, Q]
        return p, torch.cat([n, earlier], dim=-1)

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """One direction, for which local views are queries too; see :meth:`CosineCritic.forward`."""
        loss, logs = super().forward(online, target, context)
        self.queue.push(target[1])
        return loss, logs
