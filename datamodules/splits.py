"""Splits of samples that come without one."""

from __future__ import annotations

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
    parts = train_test_split(index, test_size=fraction, random_state=0, stratify=labels if labelled else None)
    stay, aside = map(np.sort, parts) if in_order else parts
    return stay, aside
