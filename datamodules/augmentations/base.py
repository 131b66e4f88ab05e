"""What an augmentation is, and the ones that combine others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Generator, Tensor, nn

from datamodules.ragged import merge_graphs, select_graphs


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


class Nested(Augmentation):
    """An augmentation made of others, which it passes the training rows on to.

    Args:
        augmentations: its parts.
    """

    def __init__(self, augmentations: Sequence[Augmentation]) -> None:
        super().__init__()
        self.augmentations = nn.ModuleList(augmentations)

    def fit(self, train_rows: Any) -> None:
        for augmentation in self.augmentations:
            augmentation.fit(train_rows)  # type: ignore[operator]  # a ModuleList forgets the class


class Compose(Nested):
    """Applies augmentations one after the other.

    Args:
        augmentations: in the order in which they apply.
    """

    def forward(self, batch: Any, generator: Generator) -> Any:
        for augmentation in self.augmentations:
            batch = augmentation(batch, generator)
        return batch


class RandomChoice(Nested):
    """Applies one of several augmentations to each sample, drawn uniformly for every sample by itself.

    Tensors ``[N, ...]`` need augmentations that leave samples in one common shape.

    Args:
        augmentations: what to choose from.

    Raises:
        ValueError: no augmentation.
    """

    def __init__(self, augmentations: Sequence[Augmentation]) -> None:
        super().__init__(augmentations)
        if not augmentations:
            raise ValueError("RandomChoice needs at least one augmentation to choose from, got none")

    def forward(self, batch: Any, generator: Generator) -> Any:
        choices = len(self.augmentations)
        chosen = torch.randint(choices, (len(batch),), generator=generator, device=generator.device)  # [N]
        order = chosen.argsort(stable=True)
        groups = torch.split(order, chosen.bincount(minlength=choices).tolist())
        parts = []
        for augmentation, group in zip(self.augmentations, groups, strict=True):
            if len(group):
                part = batch[group] if isinstance(batch, Tensor) else select_graphs(batch, group)
                parts.append(augmentation(part, generator))
        return torch.cat(parts)[order.argsort()] if isinstance(batch, Tensor) else merge_graphs(parts, order)
