"""Data sets that are folders of classes, and perhaps lists of splits."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from datamodules.base import Split
from datamodules.images.folders import images_of
from datamodules.images.transfer.source import Labelled, Source
from datamodules.labels import numbers_of


class Downloaded(Source):
    """A data set without a class in torchvision.

    Args:
        folder: the folder under the root that the unpacked files are in.
        needed: files and folders in it without which it is not unpacked.
        remedy: what to put where.
        archive: address of the archive; None: it cannot be downloaded.
        place: folder under the root that the archive is unpacked in.
        lists: addresses of lists, which are put into the folder.
    """

    def __init__(
        self,
        folder: str,
        needed: Iterable[str],
        remedy: str,
        archive: str | None = None,
        place: str = ".",
        lists: Iterable[str] = (),
    ) -> None:
        super().__init__(folder, needed, remedy)
        self.archive = archive
        self.place = place
        self.lists = tuple(lists)

    def download(self, root: Path) -> None:
        from torchvision.datasets.utils import download_and_extract_archive, download_url

        if self.archive is None:
            raise RuntimeError("its site has no archive of it")
        download_and_extract_archive(self.archive, root / self.place)
        for url in self.lists:
            download_url(url, root / self.folder)


class Classes(Downloaded):
    """A folder a class, all images to test on."""

    images = "."

    def parts(self, root: Path) -> dict[Split, Labelled]:
        found, names = images_of(root / self.folder / self.images)
        target = numbers_of(names, sorted({name for name in names if name is not None}))
        return {"test": zip((image.name for image in found), target.tolist(), strict=True)}


class CUB200(Classes):
    """Caltech-UCSD Birds, all images to test on."""

    images = "images"


class MIT67(Downloaded):
    """MIT's indoor scenes, by the lists of its site."""

    def parts(self, root: Path) -> dict[Split, Labelled]:
        folder = root / self.folder
        lists: dict[Split, list[str]] = {
            "train": (folder / "TrainImages.txt").read_text().splitlines(),
            "test": (folder / "TestImages.txt").read_text().splitlines(),
        }
        names = {split: [line.strip() for line in lines if line.strip()] for split, lines in lists.items()}
        numbers = {name: number for number, name in enumerate(sorted({line.split("/")[0] for line in names["train"]}))}
        return {
            split: [(folder / "Images" / line, numbers[line.split("/")[0]]) for line in lines]
            for split, lines in names.items()
        }
