"""Data modules and augmentations; importing this makes their bare names known to the command line."""

from datamodules.base import InMemoryDataModule, Samples
from datamodules.cifar import CIFAR10, CIFAR100
from datamodules.digits import DigitsGraph, DigitsImage, DigitsTable
from datamodules.fake import FakeGraphs, FakeImages, FakeTable

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "DigitsGraph",
    "DigitsImage",
    "DigitsTable",
    "FakeGraphs",
    "FakeImages",
    "FakeTable",
    "InMemoryDataModule",
    "Samples",
]
