"""Contrast with stronger augmentations."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lightning_renyicl.distributed import global_mean, world_group
from lightning_renyicl.objectives.embeddings import check_views
from lightning_renyicl.objectives.moco import MoCo
from lightning_renyicl.objectives.objective import Context
from lightning_renyicl.objectives.ranges import check_not_negative


class CLSA(MoCo):
    r"""CLSA's loss: MoCo's of two weakly augmented views, and what strong views find as the weak one does.

    .. math:: L_\mathrm{MoCo} - w\, \mathrm{mean}_{i,\, s} \sum_k \mathrm{sg}\, P(k \mid x_i) \log P(k \mid x_i^{(s)})

    Wang and Qi (2022); P is the softmax of an embedding's scores with all keys of the batch and the queue, x the first
    view and x^(s) the views after the second. The authors' code sums over the strong views of a sample.

    Args:
        weight: weight w of the strong views, a finite number of at least 0.
        queue: number of keys in the queue, at least 0; at first they are random directions.
        temperature: temperature tau of the cosine critic, a finite number above 0.

    Raises:
        ValueError: an argument out of range.
    """

    views = 3

    def __init__(self, weight: float = 1.0, queue: int = 65536, temperature: float = 0.2) -> None:
        super().__init__(queue, temperature)
        check_not_negative(weight=weight)
        self.weight = weight

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of weak and strong views; see :meth:`MoCo.forward`.

        ``logs`` holds those of the weak views, and ``strong_cross_entropy``, without its weight.

        Raises:
            ValueError: fewer than three views.
        """
        check_views(online, target)
        if len(online) < 3:
            raise ValueError(f"CLSA contrasts at least 3 views, the third and others strong ones, got {len(online)}")
        p, n = self.scores([online[0], *online[2:]], target[1])
        with torch.autocast(device_type=p.device.type, enabled=False):
            scores = torch.cat([p[:, :, None], n], dim=-1)  # [N, 1 + S, 1 + K + Q], in one order for all of a sample
            weak = scores[:, :1].detach().softmax(-1)
            cross_entropy = -global_mean((weak * scores[:, 1:].log_softmax(-1)).sum(-1), world_group())
        loss, logs = super().forward(online[:2], target, context)
        return loss + self.weight * cross_entropy, {**logs, "strong_cross_entropy": cross_entropy.detach()}
