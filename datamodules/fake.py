"""What made-up data of every domain shares: sizes of splits."""

from __future__ import annotations

import torch
from torch import Tensor

from datamodules.base import Split


def fake_splits(num_samples: int) -> dict[Split, Tensor]:
    """Numbers of the samples: ``num_samples`` to train on, half as many for validation and as many for test."""
    train, val, test = torch.arange(num_samples + 2 * (num_samples // 2)).tensor_split(
        [num_samples, num_samples + num_samples // 2]
    )
    return {"train": train, "val": val, "test": test}


def check_counts(**counts: int) -> None:
    """Raises ValueError unless every count is at least 1."""
    if min(counts.values()) < 1:
        raise ValueError(f"{', '.join(counts)} must be at least 1, got {', '.join(map(str, counts.values()))}")
