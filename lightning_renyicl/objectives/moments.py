"""Moments of embeddings over the global batch, for which no embedding leaves its process."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lightning_renyicl.distributed import Group, reduce_sum, world_size
from lightning_renyicl.objectives.embeddings import full_precision


def centred(online: Sequence[Tensor], group: Group) -> tuple[Tensor, int]:
    """Embeddings less their mean over the global batch, in float32 or float64.

    Args:
        online: V embeddings ``[N, D]``, one a view.
        group: process group; None leaves this process alone.

    Returns:
        Tensor ``[V, N, D]``, and the number of samples M in the global batch.

    Raises:
        ValueError: the global batch has fewer than two samples.
    """
    views = full_precision(torch.stack(list(online)))
    total = views.shape[1] * world_size(group)
    if total < 2:
        raise ValueError(f"statistics of a batch need a global batch of at least 2 samples, got {total}")
    return views - reduce_sum(views.sum(1, keepdim=True), group) / total, total


def off_diagonal(matrix: Tensor) -> Tensor:
    """Elements off the diagonal, as a view.

    Shapes: ``[D, D]`` to ``[D - 1, D]``.
    """
    width = len(matrix)
    return matrix.flatten()[:-1].view(width - 1, width + 1)[:, 1:]
