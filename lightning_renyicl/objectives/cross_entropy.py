"""Training with labels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lightning_renyicl.distributed import all_reduce_sum, gather, world_group
from lightning_renyicl.objectives.embeddings import full_precision
from lightning_renyicl.objectives.objective import Context, Objective


class CrossEntropy(Objective):
    r"""The cross-entropy of a linear classifier of embeddings, which is part of the objective: supervised training.

    .. math:: -\frac{1}{V |L|} \sum_{i \in L} \sum_{v=1}^{V} \log \mathrm{softmax}(W z_i^{(v)} + b)_{y_i}

    L are the labelled samples of the global batch, every view z of which is classified; without any the loss is 0, and
    so is its gradient. The momentum encoder's embeddings are not used.
    """

    views = 1
    classifier: nn.Linear

    def build(self, width: int, num_classes: int) -> None:
        """Makes the classifier.

        Args:
            width: number D of numbers in an embedding.
            num_classes: number of labels C.

        Raises:
            ValueError: fewer than two labels.
        """
        if num_classes < 2:
            raise ValueError(
                f"CrossEntropy trains on labels of at least two classes, and the data has {num_classes}: name its "
                "labels, or take an objective that needs none"
            )
        self.classifier = nn.Linear(width, num_classes)

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The mean cross-entropy; see :meth:`Objective.forward`.

        ``logs`` holds ``top1``, the share of labelled views that are given their own class, NaN without any.

        Raises:
            ValueError: a context without labels.
        """
        if context.labels is None:
            raise ValueError("CrossEntropy needs the labels of the batch, Context(labels=...)")
        group = world_group()
        logits = self.classifier(torch.cat(list(online)))  # [V N, C]
        labels = context.labels.repeat(len(online))  # [V N]
        with torch.autocast(device_type=logits.device.type, enabled=False):
            logits = full_precision(logits)
            own = F.cross_entropy(logits, labels, ignore_index=-1, reduction="sum")
            right = (logits.detach().argmax(1) == labels).sum()
            counts = all_reduce_sum(torch.stack([(labels >= 0).sum(), right]), group)
            loss = gather(own, group).sum() / counts[0].clamp(min=1)
        return loss, {"top1": counts[1] / counts[0]}
