"""CIFAR-10 and CIFAR-100 from the original site's archives, packed or unpacked."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from datamodules.augmentations.base import Augmentation
from datamodules.base import Samples, Split
from datamodules.download import download
from datamodules.images.archives import read_files
from datamodules.images.base import Engine, ImageDataModule
from datamodules.splits import stratified_split

if TYPE_CHECKING:
    from torchvision import datasets


class _ArrayUnpickler(pickle.Unpickler):
    """Reads what the archives hold, numbers, strings and arrays, and refuses anything that could run code."""

    ALLOWED = ("_reconstruct", "ndarray", "dtype", "encode")

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] in ("numpy", "_codecs") and name in self.ALLOWED:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it names {module}.{name}")


class CIFAR(ImageDataModule):
    """What CIFAR-10 and CIFAR-100 share: 50,000 training and 10,000 test images of 32 x 32 pixels.

    The unpacked folder or the unopened archive under ``root`` is read where it lies, and nothing is written beside it;
    without them the archive is downloaded into ``root``.

    Nothing should be chosen on the test images, so validation images are set aside from the 50,000: the same ones, with
    the classes in proportion, in every run, whatever its seed. With ``val_fraction`` 0 all 50,000 train, as for the
    numbers in papers, and the validation split is empty: nothing can be chosen.

    Args:
        views: one augmentation of images in [0, 1] a view.
        eval_augmentation: what evaluation does to images in place of a view.
        batch_size: samples in a batch over all processes.
        root: folder of the archive ``cifar-….tar.gz`` or of what it unpacks to.
        val_fraction: fraction of the 50,000 that is set aside, in [0, 1).
        engine: ``device`` or ``worker``, see :class:`ImageDataModule`.
        num_workers: processes of the engine ``worker``.

    Raises:
        ValueError: a fraction outside [0, 1), or files that are damaged.
        OSError: neither archive nor folder, and no download.
    """

    ROOT_IS_A_PLACE = True

    num_labels: int
    label_key: str
    source_name: str  # torchvision's class, which knows the site's address and file names

    def __init__(
        self,
        views: Sequence[Augmentation],
        eval_augmentation: Augmentation,
        batch_size: int = 512,
        root: str = "data",
        val_fraction: float = 0.1,
        engine: Engine = "device",
        num_workers: int = 4,
    ) -> None:
        super().__init__(views, eval_augmentation, batch_size, self.num_labels, engine, num_workers)
        if not 0 <= val_fraction < 1:
            raise ValueError(f"val_fraction must be in [0, 1), got {val_fraction}")
        self.root = Path(root).expanduser().absolute()
        self.val_fraction = val_fraction

    @property
    def _source(self) -> type[datasets.CIFAR10]:
        from torchvision import datasets

        source: type[datasets.CIFAR10] = getattr(datasets, self.source_name)
        return source

    @property
    def _archive(self) -> Path:
        return self.root.joinpath(self._source.filename)

    def _files(self, train: bool) -> list[str]:
        listed = self._source.train_list if train else self._source.test_list
        return [f"{self._source.base_folder}/{name}" for name, _ in listed]

    def _unpacked(self) -> bool:
        return all((self.root / name).is_file() for name in self._files(True) + self._files(False))

    @property
    def files(self) -> list[Path]:
        if self._unpacked():
            return [self.root / name for name in self._files(True) + self._files(False)]
        return [self._archive]

    def prepare_data(self) -> None:
        if self._unpacked() or self._archive.is_file():
            return
        from torchvision.datasets.utils import download_url

        source = self._source
        wanted = f"{source.filename} or {source.base_folder}"
        download(source.url, self._archive, wanted, lambda *place: download_url(*place, md5=source.tgz_md5))

    def load(self) -> Samples:
        self.prepare_data()
        train, test = self._files(True), self._files(False)
        contents = read_files(self.root, self._source.filename, train + test, self._source.url)
        place = self.root if self._unpacked() else self._archive
        images, labels = [], []
        for name in train + test:
            try:
                part, target = self._parse(contents[name])
            except Exception as error:  # a damaged pickle raises nearly everything
                raise ValueError(f"{name} in {place} is damaged ({error}): get {self._source.url} again") from error
            images.append(part)
            labels.append(target)
        trainable = np.arange(sum(len(each) for each in labels[: len(train)]))
        target, stay, held_out = torch.cat(labels), trainable, trainable[:0]
        count = round(self.val_fraction * len(trainable))
        if count:
            stay, held_out = stratified_split(target, count, trainable)
        splits: dict[Split, Tensor] = {
            "train": torch.from_numpy(stay),
            "val": torch.from_numpy(held_out),
            "test": torch.arange(len(trainable), len(target)),
        }
        return Samples(torch.cat(images), target, splits)

    def _parse(self, content: bytes) -> tuple[Tensor, Tensor]:
        """Images ``[M, 3, 32, 32]`` and labels ``[M]`` of one file."""
        entry = _ArrayUnpickler(io.BytesIO(content), encoding="latin1").load()
        images = torch.from_numpy(np.array(entry["data"], dtype=np.uint8).reshape(-1, 3, 32, 32))
        target = torch.tensor(entry[self.label_key], dtype=torch.long)
        if len(images) != len(target) or target.min() < 0 or target.max() >= self.num_labels:
            raise ValueError(f"{len(images)} images, {len(target)} labels in {target.min()}..{target.max()}")
        return images, target


class CIFAR10(CIFAR):
    """CIFAR-10 (Krizhevsky, 2009), 10 classes: see :class:`CIFAR` for files and splits.

    Args:
        views: one augmentation of images in [0, 1] a view.
        eval_augmentation: what evaluation does to images in place of a view.
        batch_size: samples in a batch over all processes.
        root: folder of the archive ``cifar-10-python.tar.gz`` or of what it unpacks to; may be read-only.
        val_fraction: fraction of the 50,000 training images that is set aside for validation; 0: all train, none
            validate.
        engine: ``device`` or ``worker``, see :class:`ImageDataModule`.
        num_workers: processes of the engine ``worker``.
    """

    num_labels = 10
    label_key = "labels"
    source_name = "CIFAR10"


class CIFAR100(CIFAR):
    """CIFAR-100 (Krizhevsky, 2009), 100 fine classes: see :class:`CIFAR` for files and splits.

    Args:
        views: one augmentation of images in [0, 1] a view.
        eval_augmentation: what evaluation does to images in place of a view.
        batch_size: samples in a batch over all processes.
        root: folder of the archive ``cifar-100-python.tar.gz`` or of what it unpacks to; may be read-only.
        val_fraction: fraction of the 50,000 training images that is set aside for validation; 0: all train, none
            validate.
        engine: ``device`` or ``worker``, see :class:`ImageDataModule`.
        num_workers: processes of the engine ``worker``.
    """

    num_labels = 100
    label_key = "fine_labels"
    source_name = "CIFAR100"
