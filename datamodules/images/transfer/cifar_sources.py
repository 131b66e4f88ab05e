"""Data sets in CIFAR's archives."""

from __future__ import annotations

from pathlib import Path

import torch

from datamodules.augmentations.base import Identity
from datamodules.base import Samples
from datamodules.images.cifar import CIFAR, CIFAR100


class FromCIFAR:
    """CIFAR-10 or CIFAR-100, decoded.

    Args:
        kind: the data module that reads its archive.
    """

    def __init__(self, kind: type[CIFAR]) -> None:
        self.kind = kind

    def files(self, root: Path) -> list[Path]:
        """What the data is read from."""
        return self.data(root).files

    def fetch(self, root: Path) -> None:
        """Downloads what is missing."""
        self.data(root).prepare_data()

    def read(self, root: Path) -> Samples:
        """The images of the splits that the data set comes with."""
        samples = self.data(root).load()
        return Samples(samples.inputs, samples.target, {part: samples.splits[part] for part in ("train", "test")})

    def data(self, root: Path) -> CIFAR:
        """The data module, all of whose training images train."""
        return self.kind([Identity()], Identity(), root=str(root), val_fraction=0.0)


class Superclasses(CIFAR100):
    """CIFAR-100 with the 20 coarse labels."""

    label_key = "coarse_labels"


class FC100(FromCIFAR):
    """The 20 classes of CIFAR-100 that FC100 (Oreshkin et al., 2018) tests on, all images of them.

    They are those of four superclasses: aquatic mammals, insects, medium-sized mammals and people.
    """

    SUPERCLASSES = (0, 7, 12, 14)

    def __init__(self) -> None:
        super().__init__(CIFAR100)

    def read(self, root: Path) -> Samples:
        fine = self.data(root).load()
        coarse = Superclasses([Identity()], Identity(), root=str(root), val_fraction=0.0).load().target
        chosen = torch.isin(coarse, torch.tensor(self.SUPERCLASSES))
        _, target = fine.target[chosen].unique(return_inverse=True)
        return Samples(fine.inputs[chosen], target, {"test": torch.arange(len(target))})
