"""Splits of rows that come without one."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def stratified_split(target: Tensor, share: float, rows: NDArray[np.int64]) -> tuple[NDArray, NDArray]:
    """Sets a share of the rows aside, every class in proportion, always the same ones.

    Args:
        target: label of every row of the data, ``[M]``; rows are split by chance unless all have one.
        share: of the rows to set aside, in (0, 1).
        rows: those to split.

    Returns:
        Rows that stay, and rows set aside, in order.

    Raises:
        ValueError: too few rows of a class to have some on both sides.
    """
    from sklearn.model_selection import train_test_split

    kinds = target[torch.from_numpy(rows)].numpy()
    labelled = len(kinds) > 0 and kinds.min() >= 0
    stay, aside = train_test_split(rows, test_size=share, random_state=0, stratify=kinds if labelled else None)
    return np.sort(stay), np.sort(aside)
