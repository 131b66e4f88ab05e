"""Augmentations: random maps of whole batches, each sample with its own draw."""

from datamodules.augmentations.base import Augmentation, Compose, Identity, RandomChoice
from datamodules.augmentations.color import ColorJitter, Grayscale
from datamodules.augmentations.edge_perturbation import EdgePerturbation
from datamodules.augmentations.erasing import RandomErasing
from datamodules.augmentations.graph import AttributeMask, NodeDrop, Subgraph
from datamodules.augmentations.graphcl import GraphCL
from datamodules.augmentations.image import HorizontalFlip, Normalize, RandomResizedCrop
from datamodules.augmentations.randaugment import RandAugment
from datamodules.augmentations.table import FeatureCorruption, RandomMask

__all__ = [
    "AttributeMask",
    "Augmentation",
    "ColorJitter",
    "Compose",
    "EdgePerturbation",
    "FeatureCorruption",
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
    "Subgraph",
]
