"""Some samples of many, the classes in proportion."""

from __future__ import annotations

import torch
from torch import Tensor


def places(target: Tensor, seed: int) -> Tensor:
    """The place of each sample, from 0, in a random order of the samples of its class, ``[M]``.

    Args:
        target: labels, ``[M]``.
        seed: seed of the order.
    """
    order = torch.randperm(len(target), generator=torch.Generator().manual_seed(seed))
    order = order[target[order].argsort(stable=True)]
    counts = target.bincount()
    place = torch.empty_like(target)
    place[order] = torch.arange(len(target)) - (counts.cumsum(0) - counts)[target[order]]
    return place


def drawn(target: Tensor, most: int, seed: int) -> Tensor:
    """Which samples to take, ``[m]``: classes in proportion, and one of each where there is room; all of few samples.

    Args:
        target: labels, ``[M]``.
        most: number of samples to take.
        seed: seed of the draw.
    """
    share = places(target, seed) / target.bincount()[target]
    return share.argsort(stable=True)[:most]
