"""Data sets that torchvision reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from datamodules.base import Split
from datamodules.drawing import few
from datamodules.images.transfer.source import Labelled, Source


class Torchvision(Source):
    """A class of torchvision, which knows the site's addresses, checksums and lists of splits.

    Args:
        kind: name of the class.
        folder: the folder under the root that the class unpacks to.
        needed: files and folders in it without which it is not unpacked.
        remedy: what to put where.
        splits: arguments of the class for each split.
    """

    def __init__(
        self, kind: str, folder: str, needed: Iterable[str], remedy: str, splits: dict[Split, dict[str, Any]]
    ) -> None:
        super().__init__(folder, needed, remedy)
        self.kind = kind
        self.splits = splits

    def open(self, root: Path, **arguments: Any) -> Any:
        """The class's data set."""
        from torchvision import datasets

        return getattr(datasets, self.kind)(root, **arguments)

    def download(self, root: Path) -> None:
        try:
            for arguments in self.splits.values():
                self.open(root, download=True, **arguments)
        except ValueError as error:  # Stanford Cars has no site any more
            raise RuntimeError(str(error)) from error

    def parts(self, root: Path) -> dict[Split, Labelled]:
        return {split: self.labelled(self.open(root, **arguments)) for split, arguments in self.splits.items()}

    def labelled(self, found: Any) -> Labelled:
        """Files and labels of a data set of the class."""
        found.loader = str  # a file in place of its pixels
        return (found[i] for i in range(len(found)))


class Pets(Torchvision):
    """Oxford-IIIT Pet, of which torchvision opens images itself."""

    def labelled(self, found: Any) -> Labelled:
        return zip(found._images, found._labels, strict=True)


class Caltech101(Torchvision):
    """Caltech-101, which has no split: 30 images of a class train, always the same ones, the others are tested on."""

    TRAINING = 30

    def parts(self, root: Path) -> dict[Split, Labelled]:
        found = self.open(root)
        folder = Path(found.root, "101_ObjectCategories")
        pairs = [
            (folder / found.categories[label] / f"image_{number:04d}.jpg", label)
            for label, number in zip(found.y, found.index, strict=True)
        ]
        train = set(few(torch.tensor(found.y), self.TRAINING, seed=0).tolist())
        return {
            "train": [pair for i, pair in enumerate(pairs) if i in train],
            "test": [pair for i, pair in enumerate(pairs) if i not in train],
        }


class SUN397(Torchvision):
    """SUN397 in the first of its ten partitions, whose lists torchvision doesn't have."""

    URL = "https://vision.princeton.edu/projects/2010/SUN/download/Partitions.zip"

    def download(self, root: Path) -> None:
        from torchvision.datasets.utils import download_and_extract_archive

        self.open(root, download=True)
        download_and_extract_archive(self.URL, root, root / self.folder)

    def parts(self, root: Path) -> dict[Split, Labelled]:
        folder = root / self.folder
        classes = {name: number for number, name in enumerate((folder / "ClassName.txt").read_text().splitlines())}
        return {split: self.listed(folder, f"{kind}_01.txt", classes) for split, kind in PARTITION.items()}

    def listed(self, folder: Path, name: str, classes: dict[str, int]) -> Labelled:
        """Images that a list has, such as ``/a/abbey/sun_aakbdcgfpksytcwj.jpg``."""
        lines = (folder / name).read_text().split()
        return [(folder / line[1:], classes[line.rpartition("/")[0]]) for line in lines]


class VOC2007(Torchvision):
    """PASCAL VOC 2007, by its lists for classification: an image may be of several classes.

    Labels are 1, 0, and −1 where all objects of the class are difficult ones.
    """

    def download(self, root: Path) -> None:
        for split in ("train", "test"):  # the archive of the first has validation images, too
            self.open(root, download=True, **self.splits[split])

    def parts(self, root: Path) -> dict[Split, Labelled]:
        lists = root / self.folder / "ImageSets/Main"
        return {split: self.of_split(self.open(root, **arguments), lists) for split, arguments in self.splits.items()}

    def of_split(self, found: Any, lists: Path) -> Labelled:
        """Files and labels of torchvision's data set of a split."""
        texts = [(lists / f"{name}_{found.image_set}.txt").read_text().split() for name in VOC_CLASSES]
        labels = [
            {image: VOC_LABELS[mark] for image, mark in zip(text[::2], text[1::2], strict=True)} for text in texts
        ]
        return [(path, [of_class[Path(path).stem] for of_class in labels]) for path in found.images]


VOC_LABELS = {"1": 1, "-1": 0, "0": -1}
"""What the lists' marks mean."""
VOC_CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
)
PARTITION: dict[Split, str] = {"train": "Training", "test": "Testing"}
"""What the lists of SUN397 are called."""
