"""Augmentations: random maps of whole batches, each sample with its own draw."""

from datamodules.augmentations.base import Augmentation, Compose, Identity

__all__ = ["Augmentation", "Compose", "Identity"]
