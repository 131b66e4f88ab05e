"""Augmentations of rows ``[N, F]``."""

from datamodules.tables.augmentations.cells import FeatureCorruption, RandomMask

__all__ = ["FeatureCorruption", "RandomMask"]
