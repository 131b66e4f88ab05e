"""STL-10 from the original site's archive, packed or unpacked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from datamodules.augmentations.base import Augmentation
from datamodules.base import Samples, Split
from datamodules.download import download
from datamodules.images.archives import read_files
from datamodules.images.base import Engine, ImageDataModule
from datamodules.splits import stratified_split

if TYPE_CHECKING:
    from torchvision import datasets

SHAPE = (3, 96, 96)


class STL10(ImageDataModule):
    """STL-10 (Coates et al., 2011): 10 classes, 96 x 96 pixels, 100,000 images without labels to train on.

    The training split has the unlabelled images and the 5,000 labelled ones but for those set aside for validation, the
    classes in proportion, the same ones in every run; the 8,000 test images are the test split. Protocols see the
    labelled images alone. The unpacked folder ``stl10_binary`` or the unopened archive under ``root`` is read where it
    lies; without them the archive, 2.6 GB, is downloaded into ``root``.

    Args:
        views: one augmentation of images in [0, 1] a view.
        eval_augmentation: what evaluation does to images in place of a view.
        batch_size: samples in a batch over all processes.
        root: folder of ``stl10_binary.tar.gz`` or of ``stl10_binary``; may be read-only.
        val_fraction: fraction of the 5,000 labelled training images that is set aside for validation, in (0, 1).
        engine: ``device`` or ``worker``, see :class:`ImageDataModule`.
        num_workers: processes of the engine ``worker``.

    Raises:
        ValueError: a fraction outside (0, 1), or files that are damaged.
        OSError: neither archive nor folder, and no download.
    """

    ROOT_IS_A_PLACE = True
    FILES = ("unlabeled_X.bin", "train_X.bin", "train_y.bin", "test_X.bin", "test_y.bin")

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
        super().__init__(views, eval_augmentation, batch_size, 10, engine, num_workers)
        if not 0 < val_fraction < 1:
            raise ValueError(f"val_fraction must be in (0, 1), got {val_fraction}")
        self.root = Path(root).expanduser().absolute()
        self.val_fraction = val_fraction

    @property
    def _source(self) -> type[datasets.STL10]:
        from torchvision import datasets

        return datasets.STL10

    @property
    def _names(self) -> list[str]:
        return [f"{self._source.base_folder}/{name}" for name in self.FILES]

    @property
    def files(self) -> list[Path]:
        unpacked = [self.root / name for name in self._names]
        return unpacked if all(file.is_file() for file in unpacked) else [self.root / self._source.filename]

    def prepare_data(self) -> None:
        source, (path, *_) = self._source, self.files
        if not path.is_file():
            from torchvision.datasets.utils import download_url

            wanted = f"{source.filename} or {source.base_folder}"
            download(source.url, path, wanted, lambda *place: download_url(*place, md5=source.tgz_md5))

    def load(self) -> Samples:
        self.prepare_data()
        contents = read_files(self.root, self._source.filename, self._names, self._source.url)
        found = {Path(name).stem: contents.pop(name) for name in self._names}
        parts = ("unlabeled", "train", "test")
        counts = [self._count(found[f"{part}_X"], part) for part in parts]
        pixels = np.empty((sum(counts), *SHAPE), dtype=np.uint8)
        for part, of_part in zip(parts, np.split(pixels, np.cumsum(counts)[:-1]), strict=True):
            stored = np.frombuffer(found.pop(f"{part}_X"), dtype=np.uint8).reshape(-1, *SHAPE)
            of_part[:] = stored.swapaxes(2, 3)  # columns come first
        labels = [self._labels(found["train_y"], counts[1]), self._labels(found["test_y"], counts[2])]
        target = torch.cat([torch.full((counts[0],), -1), *labels])
        labelled = np.arange(counts[0], counts[0] + counts[1])
        stay, val = stratified_split(target, self.val_fraction, labelled)
        splits: dict[Split, Tensor] = {
            "train": torch.cat((torch.arange(counts[0]), torch.from_numpy(stay))),
            "val": torch.from_numpy(val),
            "test": torch.arange(counts[0] + counts[1], sum(counts)),
        }
        return Samples(torch.from_numpy(pixels), target, splits)

    def feature_dataloader(self, split: Split) -> DataLoader:
        """Labelled images of a split, in order: nothing is learnt from the representations of others."""
        index = self.samples.splits[split]
        return self.in_order(index[self.samples.target[index] >= 0])

    def _count(self, content: bytes, name: str) -> int:
        if not content or len(content) % math.prod(SHAPE):
            raise ValueError(f"{name}_X.bin of {self.files[0]} is cut short: get {self._source.url} again")
        return len(content) // math.prod(SHAPE)

    def _labels(self, content: bytes, count: int) -> Tensor:
        labels = torch.from_numpy(np.frombuffer(content, dtype=np.uint8).astype(np.int64)) - 1
        if len(labels) != count or labels.min() < 0 or labels.max() > 9:
            raise ValueError(f"labels of {self.files[0]} are damaged: get {self._source.url} again")
        return labels
