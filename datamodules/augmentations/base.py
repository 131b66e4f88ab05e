"""What an augmentation is, and the ones that combine others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Generator, nn


class Augmentation(nn.Module):
    """A random map of a whole batch, each sample with its own draw, on the batch's device.

    All randomness comes from ``generator``, which lives on the batch's device; global random state is left alone.
    The input is never written to.
    """

    def fit(self, train_rows: Any) -> None:
        """Learns what it needs from the training rows, before the first batch. Most need nothing."""

    def forward(self, batch: Any, generator: Generator) -> Any:
        """Augments ``batch``, samples as the data module holds them: ``[N, ...]`` or a PyG ``Batch`` of N graphs."""
        raise NotImplementedError


class Identity(Augmentation):
    """Returns the batch as it is."""

    def forward(self, batch: Any, generator: Generator) -> Any:
        return batch


class Compose(Augmentation):
    """Applies augmentations one after the other.

    Args:
        augmentations: in the order in which they apply.
    """

    def __init__(self, augmentations: Sequence[Augmentation]) -> None:
        super().__init__()
        self.augmentations = nn.ModuleList(augmentations)

    def fit(self, train_rows: Any) -> None:
        for augmentation in self.augmentations:
            augmentation.fit(train_rows)

    def forward(self, batch: Any, generator: Generator) -> Any:
        for augmentation in self.augmentations:
            batch = augmentation(batch, generator)
        return batch
