"""Where the images of a data set come from."""

from __future__ import annotations

import os
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from datamodules.base import Samples, Split
from datamodules.download import reported
from datamodules.images.decoding import Encoded
from datamodules.images.stream import EncodedImages
from datamodules.labels import some

DAMAGED = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error)
Labelled = Iterable[tuple[str | Path, Any]]
"""Files of images and their labels: a number, or one a class."""


class Source(ABC):
    """A data set under a root, unpacked there once from its archives, which are downloaded if they are not there.

    Attributes:
        folder: the folder under the root that the unpacked files are in.
        needed: files and folders in it without which it is not unpacked.
        remedy: what to put where, for messages; ``{root}`` stands for the root.
    """

    def __init__(self, folder: str, needed: Iterable[str], remedy: str) -> None:
        self.folder = folder
        self.needed = tuple(needed)
        self.remedy = remedy

    def files(self, root: Path) -> list[Path]:
        """What the data is read from."""
        return [root / self.folder]

    def fetch(self, root: Path) -> None:
        """Downloads and unpacks what is missing.

        Raises:
            OSError: no data, and no download; it says what to put where.
            ValueError: an archive that is damaged.
        """
        if self.is_there(root):
            return
        from filelock import FileLock

        remedy = self.remedy.format(root=root)
        try:
            with reported(f"no {self.folder} with {some(self.needed)} in {root}", remedy):
                root.mkdir(parents=True, exist_ok=True)
                with FileLock(root / "unpacking.lock"):  # another run may be at it
                    if not self.is_there(root):
                        self.download(root)
        except DAMAGED as error:
            place = f"an archive of {self.folder} in {root}"
            raise ValueError(f"{place} is damaged or cut short ({error}): delete it, and {remedy}") from error

    def is_there(self, root: Path) -> bool:
        """Whether the unpacked files are there."""
        return all((root / self.folder / name).exists() for name in self.needed)

    @abstractmethod
    def download(self, root: Path) -> None:
        """Downloads what is missing and unpacks it; raises OSError or RuntimeError if it cannot."""

    @abstractmethod
    def parts(self, root: Path) -> dict[Split, Labelled]:
        """The images of the splits that the data set comes with."""

    def read(self, root: Path) -> Samples:
        """The images of the splits that the data set comes with, stored.

        Raises:
            ValueError: files that are not laid out as its site has them, or images that are missing.
        """
        remedy = f"delete what is damaged, and {self.remedy.format(root=root)}"
        try:
            parts = {split: list(part) for split, part in self.parts(root).items()}
        except (OSError, RuntimeError, LookupError, ValueError) as error:
            raise ValueError(
                f"{root / self.folder} is not as its site has it ({type(error).__name__}: {error}): {remedy}"
            ) from error
        pairs = [(os.fspath(path), label) for part in parts.values() for path, label in part]
        missing = [path for path, _ in pairs if not os.path.isfile(path)]
        if missing:
            raise ValueError(
                f"{root / self.folder} lacks {len(missing):,} of {len(pairs):,} images, such as {missing[0]}: {remedy}"
            )
        numbers = torch.arange(len(pairs)).split([len(part) for part in parts.values()])
        images = EncodedImages([Encoded(path) for path, _ in pairs])
        splits: dict[Split, torch.Tensor] = dict(zip(parts, numbers, strict=True))
        return Samples(images, torch.tensor([label for _, label in pairs]), splits)
