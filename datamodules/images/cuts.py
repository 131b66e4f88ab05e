"""What is done to single images before they can be one batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from PIL import Image
from torch import Generator, Tensor

from datamodules.augmentations.base import Augmentation, Compose, Identity
from datamodules.images.augmentations.crops import CenterCrop, RandomResizedCrop
from datamodules.images.augmentations.reference import Transform, reference
from datamodules.seeding import global_random_state

Cut = Callable[[Image.Image, Generator], Tensor]
"""Makes pixels ``[3, H, W]`` of an image."""


def to_bytes(image: Image.Image) -> Tensor:
    """Pixels ``[3, H, W]``."""
    return torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()


class AsItIs:
    """Leaves an image whole."""

    def __call__(self, image: Image.Image, generator: Generator) -> Tensor:
        return to_bytes(image)


@dataclass
class RandomCrop:
    """What :class:`RandomResizedCrop` does, to a single image.

    Attributes:
        crop: the law of its boxes.
    """

    crop: RandomResizedCrop

    def __call__(self, image: Image.Image, generator: Generator) -> Tensor:
        top, left, height, width = (side.item() for side in self.crop.boxes(1, image.height, image.width, generator))
        box, size = (left, top, left + width, top + height), self.crop.size
        # not resize(box=...), which looks beyond the box
        return to_bytes(image.crop(box).resize((size, size), Image.Resampling.BILINEAR))


@dataclass
class Middle:
    """What :class:`CenterCrop` does, to a single image.

    Attributes:
        crop: the sizes before and after.
    """

    crop: CenterCrop

    def __call__(self, image: Image.Image, generator: Generator) -> Tensor:
        return to_bytes(self.crop.of_image(image))


@dataclass
class Whole:
    """A view of single images by torchvision and timm.

    Attributes:
        view: what is done to an image.
    """

    view: Augmentation

    @cached_property
    def transform(self) -> Transform:
        return reference(self.view)

    def __call__(self, image: Image.Image, generator: Generator) -> Tensor:
        seed = int(torch.randint(2**62, (), generator=generator))
        with global_random_state(generator), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            result = self.transform(image)
        return result if isinstance(result, Tensor) else to_bytes(result)


def cut_of(view: Augmentation) -> tuple[Cut, Augmentation]:
    """What is done to single images before they can be one batch, and what is left to do to batches.

    That is the crop that a view begins with. Without one images stay as they are, and must be of one size.
    """
    if isinstance(view, Compose) and len(view.augmentations):
        first, *others = view.augmentations
        cut, rest = cut_of(first)  # type: ignore[arg-type]  # a ModuleList forgets the class
        return cut, Compose([rest, *others])  # type: ignore[list-item]
    if isinstance(view, RandomResizedCrop):
        return RandomCrop(view), Identity()
    if isinstance(view, CenterCrop):
        return Middle(view), Identity()
    return AsItIs(), view
