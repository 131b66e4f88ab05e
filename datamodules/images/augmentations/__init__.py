"""Augmentations of images ``[N, 3, H, W]`` in [0, 1]."""

from datamodules.images.augmentations.blur import GaussianBlur
from datamodules.images.augmentations.color import ColorJitter, Grayscale, Solarize
from datamodules.images.augmentations.crops import CenterCrop, HorizontalFlip, Normalize, RandomResizedCrop
from datamodules.images.augmentations.erasing import RandomErasing
from datamodules.images.augmentations.jigsaw import Jigsaw
from datamodules.images.augmentations.randaugment import RandAugment

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "GaussianBlur",
    "Grayscale",
    "HorizontalFlip",
    "Jigsaw",
    "Normalize",
    "RandAugment",
    "RandomErasing",
    "RandomResizedCrop",
    "Solarize",
]
