"""scikit-learn's digits, 1,797 scans of 8 x 8 pixels. No download."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from datamodules.base import Split
from datamodules.splits import stratified_split


def read_digits() -> tuple[Tensor, Tensor, dict[Split, Tensor]]:
    """Pixels ``[1797, 64]`` in 0..16, labels ``[1797]`` and a fixed stratified split of 1047, 300 and 450 scans."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    target = torch.from_numpy(labels).long()
    rest, test = stratified_split(target, 450, np.arange(len(target)), in_order=False)
    train, val = stratified_split(target, 300, rest)
    splits: dict[Split, Tensor] = {
        "train": torch.from_numpy(train),
        "val": torch.from_numpy(val),
        "test": torch.from_numpy(np.sort(test)),
    }
    return torch.from_numpy(pixels).float(), target, splits
