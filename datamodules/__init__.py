"""Data modules and augmentations; importing this makes their bare names known to the command line."""

import datamodules.augmentations  # noqa: F401  (for their bare names)
from datamodules.base import InMemoryDataModule, Samples
from datamodules.graphs.digits import DigitsGraph
from datamodules.graphs.fake import FakeGraphs
from datamodules.graphs.graphs import Graphs
from datamodules.graphs.tu import TUDataset
from datamodules.images.cifar import CIFAR10, CIFAR100
from datamodules.images.digits import DigitsImage
from datamodules.images.fake import FakeImages
from datamodules.images.hugging_face import HuggingFaceImages
from datamodules.images.image_folder import ImageFolder
from datamodules.images.imagenet import ImageNet, ImageNet100
from datamodules.images.stl10 import STL10
from datamodules.images.transfer.transfer import Transfer
from datamodules.pairs.stepwise import StepwisePairs
from datamodules.tables.digits import DigitsTable
from datamodules.tables.fake import FakeTable
from datamodules.tables.table import Table
from datamodules.tables.uci import CovType, Higgs

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "STL10",
    "CovType",
    "DigitsGraph",
    "DigitsImage",
    "DigitsTable",
    "FakeGraphs",
    "FakeImages",
    "FakeTable",
    "Graphs",
    "Higgs",
    "HuggingFaceImages",
    "ImageFolder",
    "ImageNet",
    "ImageNet100",
    "InMemoryDataModule",
    "Samples",
    "StepwisePairs",
    "TUDataset",
    "Table",
    "Transfer",
]
