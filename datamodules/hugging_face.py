"""Images from the Hugging Face hub, or from a folder of Parquet files in its layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, overload

import numpy as np
import torch

from datamodules.augmentations.base import Augmentation
from datamodules.base import Samples, Split
from datamodules.decoded import decode_all
from datamodules.decoding import Encoded, format_of
from datamodules.image_stream import EncodedImages
from datamodules.images import Engine, ImageDataModule
from datamodules.labels import in_order, numbers_of
from datamodules.splits import stratified_split

if TYPE_CHECKING:
    from datasets import Dataset

NAMES: dict[str, Split] = {"train": "train", "validation": "val", "valid": "val", "val": "val", "test": "test"}
"""What splits are called there and here."""
IMAGE_COLUMNS = ("image", "img", "jpg", "png", "picture")
LABEL_COLUMNS = ("label", "labels", "cls", "class", "target")


class StoredColumn(Sequence[Encoded]):
    """Images that are read when they are asked for.

    Args:
        table: whose images are not to be decoded.
        column: of the images.
        name: of the table in messages.
    """

    def __init__(self, table: Dataset, column: str, name: str) -> None:
        self.table = table
        self.column = column
        self.name = name

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, row: int) -> Encoded: ...
    @overload
    def __getitem__(self, row: slice) -> list[Encoded]: ...
    def __getitem__(self, row: int | slice) -> Encoded | list[Encoded]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        if row >= len(self):
            raise IndexError(row)
        image = self.table[row][self.column] or {}
        content: bytes | None = image.get("bytes")
        path: str | None = image.get("path")
        if content is None:
            if not path:
                raise ValueError(f"{self.name}, row {row}: there is no image")
            content = Path(path).read_bytes()
        return Encoded(f"{self.name}, row {row}", content)


class HuggingFaceImages(ImageDataModule):
    """Images of a data set of the Hugging Face hub, or of a folder of Parquet files as the hub has them.

    Read by the library ``datasets``, whose cache is where ``HF_HOME`` says. Splits are ``train``, perhaps
    ``validation`` (``valid``, ``val``) and ``test``; one that is missing is cut from the training images, the classes
    in proportion, the same ones in every run.

    Args:
        views: one augmentation of images in [0, 1] a view; unless all images are of one size, each begins with
            ``RandomResizedCrop``.
        eval_augmentation: what evaluation does to images in place of a view; unless all images are of one size, it
            begins with ``CenterCrop``.
        name: a folder, which may be read-only, or a name on the hub such as ``cifar10``.
        subset: the configuration, of a data set that has several.
        image: column of images; None: the one that is called ``image`` or ``img``, say.
        label: column of labels; None: the one that is called ``label``, say, or no labels.
        batch_size: samples in a batch over all processes.
        held_out: share of the images that is set aside for each split that is missing, in (0, 0.5).
        train_size: so many training images, the classes in proportion; None: all.
        in_memory: decode all images once, which must be of one size, and hold them as bytes.
        engine: ``device`` or ``worker``, see :class:`ImageDataModule`.
        num_workers: processes that read images, for each that trains.

    Raises:
        ValueError: a column or a split that isn't there, or a share or number out of range.
        OSError: no such data, or no network.
        ModuleNotFoundError: no library ``datasets``.
    """

    def __init__(
        self,
        views: Sequence[Augmentation],
        eval_augmentation: Augmentation,
        name: str,
        subset: str | None = None,
        image: str | None = None,
        label: str | None = None,
        batch_size: int = 256,
        held_out: float = 0.1,
        train_size: int | None = None,
        in_memory: bool = False,
        engine: Engine = "device",
        num_workers: int = 4,
    ) -> None:
        super().__init__(views, eval_augmentation, batch_size, 0, engine, num_workers)
        if not 0 < held_out < 0.5:
            raise ValueError(f"held_out is a share of the images and must be in (0, 0.5), got {held_out}")
        if train_size is not None and train_size < 2:
            raise ValueError(f"train_size must be at least 2 images, got {train_size}")
        self.source = str(Path(name).expanduser()) if Path(name).expanduser().is_dir() else name
        self.held_out = held_out
        self.train_size = train_size
        self.in_memory = in_memory
        self._format: str | None = None  # of the images, JPEG say
        self._tables = read(self.source, subset)
        columns = next(iter(self._tables.values())).column_names
        found = self._column("image", image, IMAGE_COLUMNS, columns)
        if found is None:
            raise ValueError(f"{name} has no column of images among {', '.join(columns)}: say which, data.image")
        self._image = found
        self._label = self._column("label", label, LABEL_COLUMNS, columns)
        self._labels = self._read_labels()
        self.classes = in_order({value for values in self._labels.values() for value in values if value is not None})
        self.num_classes = len(self.classes)

    @property
    def files(self) -> list[Path]:
        return [Path(self.source)] if Path(self.source).is_dir() else []

    def describe(self) -> dict[str, Any]:
        name = Path(self.source).name if Path(self.source).is_dir() else self.source
        return {**super().describe(), "name": f"{name}, {self._format}" if self._format else name}

    def load(self) -> Samples:
        from datasets import Image, concatenate_datasets

        column = self._image
        assert column is not None
        tables = [
            table.select_columns([column]).cast_column(column, Image(decode=False)) for table in self._tables.values()
        ]
        counts = {split: len(table) for split, table in self._tables.items()}
        ends = np.cumsum(list(counts.values()))
        splits = {split: np.arange(end - counts[split], end) for split, end in zip(counts, ends, strict=True)}
        target = numbers_of([label for values in self._labels.values() for label in values], self.classes)
        for split in get_args(Split):
            if split not in splits:
                splits["train"], splits[split] = stratified_split(target, self.held_out, splits["train"])
        if self.train_size is not None:
            if self.train_size > len(splits["train"]):
                raise ValueError(
                    f"train_size {self.train_size} is more than the {len(splits['train'])} training images"
                )
            if self.train_size < len(splits["train"]):
                _, splits["train"] = stratified_split(target, self.train_size, splits["train"])
        stored = StoredColumn(concatenate_datasets(tables), column, self.source)
        self._format = format_of(stored[int(splits["train"][0])])
        index = {split: torch.from_numpy(rows) for split, rows in splits.items()}
        if not self.in_memory:
            return Samples(EncodedImages(stored), target, index)
        used = torch.cat(list(index.values())).sort().values
        index = {split: torch.searchsorted(used, rows) for split, rows in index.items()}
        return Samples(decode_all([stored[row] for row in used.tolist()]), target[used], index)

    def _column(self, what: str, given: str | None, usual: Sequence[str], columns: Sequence[str]) -> str | None:
        if given is None:
            return next((name for name in usual if name in columns), None)
        if given not in columns:
            raise ValueError(
                f"{self.source} has no column {given}, which data.{what} names; it has {', '.join(columns)}"
            )
        return given

    def _read_labels(self) -> dict[Split, list[str | None]]:
        labels: dict[Split, list[str | None]] = {}
        for split, table in self._tables.items():
            if self._label is None:
                labels[split] = [None] * len(table)
                continue
            values = table[self._label][:]
            names = getattr(table.features[self._label], "names", None)  # −1 marks an unknown label on the hub
            labels[split] = [None if v is None or v == -1 else names[v] if names else str(v) for v in values]
        return labels


def read(name: str, subset: str | None) -> dict[Split, Dataset]:
    """The splits of a data set."""
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("HuggingFaceImages needs the library datasets: pip install datasets") from error
    try:
        found = datasets.load_dataset(name, subset)
    except (OSError, ValueError, datasets.exceptions.DatasetGenerationError) as error:
        reason = str(error).partition("\n")[0]
        raise FileNotFoundError(f"{name} is no data set that can be read: {reason}") from error
    tables = {NAMES[key]: table for key, table in found.items() if key in NAMES}
    if "train" not in tables:
        raise ValueError(f"{name} has no split train; it has {', '.join(found)}")
    return {split: tables[split] for split in get_args(Split) if split in tables}
