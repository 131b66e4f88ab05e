"""Augmentations: random maps of whole batches, each sample with its own draw."""

from datamodules.augmentations.base import Augmentation, Compose, Identity, RandomChoice
from datamodules.augmentations.blur import GaussianBlur
from datamodules.augmentations.color import ColorJitter, Grayscale, Solarize
from datamodules.augmentations.edge_perturbation import EdgePerturbation
from datamodules.augmentations.erasing import RandomErasing
from datamodules.augmentations.graph import AttributeMask, NodeDrop, Subgraph
from datamodules.augmentations.graphcl import GraphCL
from datamodules.augmentations.image import CenterCrop, HorizontalFlip, Normalize, RandomResizedCrop
from datamodules.augmentations.randaugment import RandAugment
from datamodules.augmentations.table import FeatureCorruption, RandomMask

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
