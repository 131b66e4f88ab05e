"""Data modules and augmentations; importing this makes their bare names known to the command line."""

from datamodules.base import InMemoryDataModule, Samples
from datamodules.cifar import CIFAR10, CIFAR100
from datamodules.digits import DigitsGraph, DigitsTable
from datamodules.digits_image import DigitsImage
from datamodules.fake import FakeGraphs, FakeImages, FakeTable
from datamodules.graphs import Graphs
from datamodules.hugging_face import HuggingFaceImages
from datamodules.image_folder import ImageFolder
from datamodules.imagenet import ImageNet, ImageNet100
from datamodules.staircase import InformationStaircase
from datamodules.stl10 import STL10
from datamodules.table import Table
from datamodules.tu import TUDataset
from datamodules.uci import CovType, Higgs

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
    "InformationStaircase",
    "Samples",
    "TUDataset",
    "Table",
]
