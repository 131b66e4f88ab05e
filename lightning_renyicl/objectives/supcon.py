"""Contrastive learning with labels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from lightning_renyicl.distributed import gather, global_mean, rank, world_group
from lightning_renyicl.objectives.embeddings import unit
from lightning_renyicl.objectives.objective import Context, Objective
from lightning_renyicl.objectives.ranges import check_above_zero


class SupCon(Objective):
    r"""The supervised contrastive loss: every view of every sample with the same label is a positive.

    .. math:: -2\, \mathrm{mean}_a \left[ \frac{1}{|P(a)|} \sum_{p \in P(a)} \log
              \frac{e^{\cos(z_a, z_p) / \tau}}{\sum_{k \neq a} e^{\cos(z_a, z_k) / \tau}} \right]

    Khosla et al. (2020), eq. (2), times two, as the other losses here sum over two directions. Anchors a and keys k are
    all views of the global batch. A sample without a label is a class of its own; where none has one, the loss is
    SimCLR's. The momentum encoder's embeddings are not used.

    Args:
        temperature: temperature tau, a finite number above 0.

    Raises:
        ValueError: a temperature out of range.
    """

    def __init__(self, temperature: float = 0.1) -> None:
        super().__init__()
        check_above_zero(temperature=temperature)
        self.temperature = temperature

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of all views; see :meth:`Objective.forward`.

        ``logs`` holds ``positive_score`` and the mean number of ``positives`` an anchor.

        Raises:
            ValueError: fewer than two views, or a context without labels.
        """
        if len(online) < 2:
            raise ValueError(f"expected at least 2 online views, got {len(online)}")
        if context.labels is None:
            raise ValueError("SupCon needs the labels of the batch, Context(labels=...)")
        group, views = world_group(), len(online)
        with torch.autocast(device_type=online[0].device.type, enabled=False):
            anchors = unit(torch.stack(list(online), dim=1)).flatten(0, 1)  # [N V, D]
            scores = anchors @ gather(anchors, group).flatten(0, 1).T / self.temperature  # [N V, M V]
            place = torch.arange(len(anchors), device=anchors.device) + rank(group) * len(anchors)  # [N V]
            everywhere = torch.arange(scores.shape[1], device=anchors.device)  # [M V]
            labels = context.labels.repeat_interleave(views)
            alike = (labels[:, None] == gather(labels, group).flatten()) & (labels[:, None] >= 0)
            alike |= place[:, None] // views == everywhere // views
            itself = place[:, None] == everywhere
            positive = alike & ~itself
            log_share = scores - scores.masked_fill(itself, -math.inf).logsumexp(1, keepdim=True)
            count = positive.sum(1)
            loss = -2.0 * global_mean(log_share.where(positive, 0.0).sum(1) / count, group)
            with torch.no_grad():
                score = global_mean(scores.where(positive, 0.0).sum(1) / count, group)
                positives = global_mean(count.to(scores.dtype), group)
        return loss, {"positive_score": score, "positives": positives}
