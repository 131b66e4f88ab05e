"""The same augmentations of single images by torchvision and timm: what those on batches are held against.

They draw from the global random state of torch, Python and NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

from datamodules.augmentations.base import Augmentation, Compose, Identity, RandomChoice
from datamodules.images.augmentations.blur import GaussianBlur, radius_of
from datamodules.images.augmentations.color import ColorJitter, Grayscale, Solarize
from datamodules.images.augmentations.crops import HorizontalFlip, Normalize, RandomResizedCrop
from datamodules.images.augmentations.erasing import RandomErasing
from datamodules.images.augmentations.randaugment import RandAugment

Transform = Callable[[Any], Any]


@singledispatch
def reference(augmentation: Augmentation) -> Transform:
    """What does to a PIL image, or after :class:`Normalize` to a tensor, what an augmentation does to a batch.

    Raises:
        ValueError: an augmentation that no library has for single images.
    """
    raise ValueError(f"{type(augmentation).__name__} works on batches alone: use the engine device")


@reference.register
def _(augmentation: Identity) -> Transform:
    from torchvision.transforms import v2

    return v2.Identity()


@reference.register
def _(augmentation: Compose) -> Transform:
    from torchvision.transforms import v2

    return v2.Compose([reference(part) for part in augmentation.augmentations])  # type: ignore[arg-type]


@reference.register
def _(augmentation: RandomChoice) -> Transform:
    from torchvision.transforms import v2

    return v2.RandomChoice([reference(part) for part in augmentation.augmentations])  # type: ignore[arg-type]


@reference.register
def _(augmentation: RandomResizedCrop) -> Transform:
    from torchvision.transforms import v2

    return v2.RandomResizedCrop(augmentation.size, augmentation.scale, augmentation.ratio)


@reference.register
def _(augmentation: HorizontalFlip) -> Transform:
    from torchvision.transforms import v2

    return v2.RandomHorizontalFlip(augmentation.probability)


@reference.register
def _(augmentation: ColorJitter) -> Transform:
    from torchvision.transforms import v2

    return v2.RandomApply([v2.ColorJitter(*augmentation.strengths, augmentation.hue)], augmentation.probability)


@reference.register
def _(augmentation: Grayscale) -> Transform:
    from torchvision.transforms import v2

    return v2.RandomGrayscale(augmentation.probability)


@reference.register
def _(augmentation: Solarize) -> Transform:
    from torchvision.transforms import v2

    return v2.RandomSolarize(128, augmentation.probability)


@reference.register
def _(augmentation: GaussianBlur) -> Transform:
    from torchvision.transforms import v2
    from torchvision.transforms.v2.functional import get_size

    def blur(image: Any) -> Any:
        kernel = [2 * radius_of(side) + 1 for side in reversed(get_size(image))]
        return v2.GaussianBlur(kernel, augmentation.sigma)(image)

    return v2.RandomApply([v2.Lambda(blur)], augmentation.probability)


@reference.register
def _(augmentation: RandAugment) -> Transform:
    from timm.data.auto_augment import RandAugment as Policy
    from timm.data.auto_augment import rand_augment_ops

    operations = rand_augment_ops(
        augmentation.magnitude,
        augmentation.probability,
        {"magnitude_std": augmentation.level_std, "img_mean": tuple(augmentation.fill.flatten().tolist())},
    )
    for operation in operations:
        if operation.name == "Posterize":
            operation.aug_fn = _posterize
    return Policy(operations, augmentation.operations)


@reference.register
def _(augmentation: Normalize) -> Transform:
    import torch
    from torchvision.transforms import v2

    mean, std = augmentation.mean.flatten().tolist(), augmentation.std.flatten().tolist()
    return v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)])


@reference.register
def _(augmentation: RandomErasing) -> Transform:
    from timm.data.random_erasing import RandomErasing as Reference

    return Reference(augmentation.probability, *augmentation.area, mode="pixel", device="cpu")


def _posterize(image: Any, bits: int, **_: object) -> Any:
    from PIL import Image, ImageOps

    # timm asks for 0 bits at levels below 2.5; Pillow gave a black image and now raises
    return ImageOps.posterize(image, bits) if bits else Image.new(image.mode, image.size)
