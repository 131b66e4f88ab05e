"""All augmentations, of every domain: random maps of whole batches, each sample with its own draw."""

from datamodules.augmentations.base import Augmentation, Compose, Identity, RandomChoice
from datamodules.graphs.augmentations import AttributeMask, EdgePerturbation, GraphCL, LearnedChoice, NodeDrop, Subgraph
from datamodules.images.augmentations import (
    CenterCrop,
    ColorJitter,
    GaussianBlur,
    Grayscale,
    HorizontalFlip,
    Jigsaw,
    Normalize,
    RandAugment,
    RandomErasing,
    RandomResizedCrop,
    Solarize,
)
from datamodules.tables.augmentations import FeatureCorruption, RandomMask

__all__ = [
    "AttributeMask",
    "Augmentation",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "EdgePerturbation",
    "FeatureCorruption",
    "GaussianBlur",
    "GraphCL",
    "Grayscale",
    "HorizontalFlip",
    "Identity",
    "Jigsaw",
    "LearnedChoice",
    "NodeDrop",
    "Normalize",
    "RandAugment",
    "RandomChoice",
    "RandomErasing",
    "RandomMask",
    "RandomResizedCrop",
    "Solarize",
    "Subgraph",
]
