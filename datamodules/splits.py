"""Splits of samples that come without one."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def stratified_split(
    target: Tensor, fraction: float, index: NDArray[np.int64], in_order: bool = True
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sets a part of the samples aside, every class in proportion, always the same ones.

    Args:
        target: label of every sample of the data, ``[M]``; samples are split by chance unless all have one.
        fraction: part of the samples to set aside, as a fraction in (0, 1) or as a whole number of them.
        index: numbers of the samples to split.
        in_order: whether what is returned is sorted, or as it was drawn.

    Returns:
        Numbers of the samples that stay, and of those set aside.

    Raises:
        ValueError: too few samples of a class to have some on both sides.
    """
    from sklearn.model_selection import train_test_split

    labels = target[torch.from_numpy(index)].numpy()
    labelled = len(labels) > 0 and labels.min() >= 0
    try:
        parts = train_test_split(index, test_size=fraction, random_state=0, stratify=labels if labelled else None)
    except ValueError as error:
        raise ValueError(_reason(labels if labelled else labels[:0], fraction, len(index))) from error
    stay, aside = map(np.sort, parts) if in_order else parts
    return stay, aside


def _reason(labels: NDArray[np.int64], fraction: float, count: int) -> str:
    """Why samples cannot be split, of which ``labels`` are empty unless all have one."""
    classes, sizes = np.unique(labels, return_counts=True)
    if 1 in sizes:
        return "there is one sample of a class"
    aside = fraction if isinstance(fraction, int) else math.ceil(fraction * count)
    sides = f"{aside:,} and {max(count - aside, 0):,} of {count:,} samples"
    return f"{sides} are too few for {len(classes):,} classes" if len(classes) > 1 else f"{sides} leave one side empty"
