"""Some samples of many, drawn within every class."""

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


def check_few(labels: int | float, name: str = "labels") -> None:
    """Checks a number of labels.

    Args:
        labels: a whole number is one a class, a fraction a share of all.
        name: what messages call it.

    Raises:
        ValueError: a whole number below 1, or a fraction outside (0, 1].
    """
    if isinstance(labels, bool) or not (labels >= 1 if isinstance(labels, int) else 0 < labels <= 1):
        raise ValueError(
            f"{name} must be a whole number of at least 1, so many a class, or a fraction in (0, 1], a share of all "
            f"(1.0: all of them), got {labels}"
        )


def few(target: Tensor, labels: int | float, seed: int) -> Tensor:
    """Which samples to take where labels are few, ``[m]`` in order.

    Those of a smaller number are among those of a larger one of the same kind and seed.

    Args:
        target: labels, ``[M]``.
        labels: a whole number: so many of each class, all of a class that has fewer; a fraction in (0, 1]: this share
            of all, the classes in proportion and one of each at least.
        seed: seed of the draw.
    """
    if isinstance(labels, int):
        return (places(target, seed) < labels).nonzero().flatten()
    most = max(round(labels * len(target)), len(target.unique()))
    return drawn(target, most, seed).sort().values


def few_of(index: Tensor, target: Tensor, labels: int | float, seed: int) -> Tensor:
    """Those of the training samples that training sees where labels are few, ``[m]`` in order.

    Args:
        index: numbers of the training samples.
        target: labels of all samples, ``[M]``, −1 where unknown.
        labels: how many, see :func:`few`.
        seed: seed of the draw.

    Raises:
        ValueError: none of the training samples has a label.
    """
    index = index[target[index] >= 0].sort().values
    if not len(index):
        raise ValueError(f"data.labels {labels} needs labels, and no training sample has one: leave data.labels out")
    return index[few(target[index], labels, seed)]


def aside(target: Tensor, seed: int) -> Tensor:
    """Whether a sample is of the fifth that is set aside of every class, ``[M]``.

    It is one sample of a class that has fewer than ten, and none of a class that has only one.

    Args:
        target: labels, ``[M]``.
        seed: seed of the draw.
    """
    counts = target.bincount()[target]
    return (counts > 1) & (places(target, seed) < (counts // 5).clamp(min=1))
