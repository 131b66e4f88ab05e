"""What an augmentation is, and the ones that combine others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, ClassVar

import torch
from torch import Generator, Tensor, nn


class Augmentation(nn.Module):
    """A random map of a whole batch, each sample with its own draw, on the batch's device.

    All randomness comes from ``generator``, which lives on the batch's device; global random state is left alone.
    The input is never written to.
    """

    takes: ClassVar[str | None] = None
    """The samples that it is for, in a word for people: images, rows or graphs; None: any."""

    def fit(self, training: Any) -> None:
        """Learns what it needs from the training samples, before the first batch. Most need nothing."""

    def forward(self, batch: Any, generator: Generator) -> Any:
        """Augments ``batch``, N samples as the data module cuts them out: ``[N, ...]``, or its domain's own kind."""
        raise NotImplementedError


class Identity(Augmentation):
    """Returns the batch as it is."""

    def forward(self, batch: Any, generator: Generator) -> Any:
        return batch


class Nested(Augmentation):
    """An augmentation made of others, which it passes the training samples on to.

    Args:
        augmentations: what it is made of.
    """

    def __init__(self, augmentations: Sequence[Augmentation]) -> None:
        super().__init__()
        self.augmentations = nn.ModuleList(augmentations)

    def fit(self, training: Any) -> None:
        for augmentation in self.augmentations:
            augmentation.fit(training)  # type: ignore[operator]  # a ModuleList forgets the class


class Compose(Nested):
    """Applies augmentations one after the other.

    Args:
        augmentations: the augmentations, in the order in which they apply.
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
                parts.append(augmentation(select(batch, group), generator))
        return merge(*parts, positions=order)


@singledispatch
def select(batch: Any, index: Tensor) -> Any:
    """The samples of a batch at ``index``, ``[n]``; a domain registers what takes its own kind of batch apart."""
    raise NotImplementedError(f"nothing selects samples of a batch of type {type(batch).__name__}")


@singledispatch
def merge(first: Any, *others: Any, positions: Tensor) -> Any:
    """One batch of the N samples of several, of which sample i in sequence goes to ``positions[i]``, ``[N]``."""
    raise NotImplementedError(f"nothing merges batches of type {type(first).__name__}")


@select.register
def _(batch: Tensor, index: Tensor) -> Tensor:
    return batch[index]


@merge.register
def _(first: Tensor, *others: Tensor, positions: Tensor) -> Tensor:
    return torch.cat((first, *others))[positions.argsort()]


def fits(view: Augmentation) -> bool:
    """Whether any part of a view learns from training samples; cutting them out costs a copy."""
    inherited = (Augmentation.fit, Nested.fit)
    return any(type(part).fit not in inherited for part in view.modules() if isinstance(part, Augmentation))


def check_samples(views: Sequence[Augmentation], samples: str | None) -> None:
    """Raises ValueError for a view with an augmentation of other samples than the data's.

    Args:
        views: augmentations, which may have others as parts.
        samples: what the data's are, as in ``Augmentation.takes``; None: unknown.
    """
    for number, view in enumerate(views, start=1):
        for part in view.modules():
            takes = part.takes if isinstance(part, Augmentation) else None
            if None not in (takes, samples) and takes != samples:
                raise ValueError(f"{type(part).__name__} of view {number} is for {takes}, and the data are {samples}")
