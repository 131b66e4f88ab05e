"""Images from the Hugging Face hub, or from a folder of Parquet files in its layout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, overload

import numpy as np
import torch
from torch import Tensor

from datamodules.augmentations.base import Augmentation
from datamodules.base import Samples, Split
from datamodules.images.base import Engine
from datamodules.images.cache import decode_all
from datamodules.images.decoding import Encoded, format_of
from datamodules.images.held_out import digest_of, set_aside
from datamodules.images.stream import EncodedImages
from datamodules.images.user_images import UserImages
from datamodules.labels import sorted_labels

if TYPE_CHECKING:
    from datasets import Dataset

NAMES: dict[str, Split] = {"train": "train", "validation": "val", "valid": "val", "val": "val", "test": "test"}
"""What splits are called there and here."""
IMAGE_COLUMNS = ("image", "img", "jpg", "png", "picture")
LABEL_COLUMNS = ("label", "labels", "cls", "class", "target")


class StoredColumn(Sequence[Encoded]):
    """Images that are read when they are asked for.

    Args:
        table: a data set whose images are not to be decoded.
        column: name of the column of the images.
        name: what messages call the data set.
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
            if not Path(path).is_file():
                raise ValueError(f"{self.name}, row {row}: there is no file {path}")
            content = Path(path).read_bytes()
        return Encoded(f"{self.name}, row {row}", content)


class HuggingFaceImages(UserImages):
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
        held_out: fraction of the images that is set aside for each split that is missing, in [0, 0.5).
        train_size: so many training images, the classes in proportion; None: all.
        in_memory: decode all images once, which must be of one size, and hold them as bytes.
        engine: ``device`` or ``worker``, see :class:`ImageDataModule`.
        num_workers: processes that read images, for each that trains.
        labels: training samples that training sees: so many of each class, or as a fraction this share of the labelled
            ones, see :class:`~datamodules.base.InMemoryDataModule`; None: all, labelled or not.

    Raises:
        ValueError: a column or a split that isn't there, or a fraction or number out of range.
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
        labels: int | float | None = None,
    ) -> None:
        place = str(Path(name).expanduser()) if Path(name).expanduser().is_dir() else name
        super().__init__(views, eval_augmentation, place, batch_size, held_out, in_memory, engine, num_workers, labels)
        if train_size is not None and train_size < 2:
            raise ValueError(f"train_size must be at least 2 images, got {train_size}")
        self.train_size = train_size
        self._format: str | None = None  # of the images, JPEG say
        self._used: Tensor | None = None  # images that are held in memory, if not all
        self._tables = read(place, subset)
        self.given = set(self._tables)
        columns = next(iter(self._tables.values())).column_names
        found = self._column("image", image, IMAGE_COLUMNS, columns)
        if found is None:
            raise ValueError(f"{name} has no column of images among {', '.join(columns)}: say which, data.image")
        self._image = found
        self._label = self._column("label", label, LABEL_COLUMNS, columns)
        self._split_labels = self._read_labels()
        self.labels = [label for labels in self._split_labels.values() for label in labels]
        self.learn(sorted_labels({label for label in self.labels if label is not None}))

    @property
    def files(self) -> list[Path]:
        return [Path(self.place)] if Path(self.place).is_dir() else []

    def describe(self) -> dict[str, Any]:
        name = Path(self.place).name if Path(self.place).is_dir() else self.place
        return {**super().describe(), "name": f"{name}, {self._format}" if self._format else name}

    def load(self) -> Samples:
        from datasets import concatenate_datasets

        if "train" not in self._tables and not self.predicting:
            raise ValueError(f"{self.place} has no split train; it has {', '.join(self._tables)}")
        tables = [self._images_of(table) for table in self._tables.values()]
        counts = {split: len(table) for split, table in self._tables.items()}
        ends = np.cumsum(list(counts.values()))
        splits = {split: np.arange(end - counts[split], end) for split, end in zip(counts, ends, strict=True)}
        self._used = None
        target = self.targets()
        splits = self.complete(splits)
        if self.train_size is not None and not self.predicting:
            training = splits["train"]
            if self.train_size > len(training):
                raise ValueError(f"train_size {self.train_size} is more than the {len(training)} training images")
            if self.train_size < len(training):
                _, splits["train"] = set_aside(self.place, target, self.classes, self.train_size, training)
        stored = StoredColumn(concatenate_datasets(tables), self._image, str(self.place))
        self._format = format_of(stored[int(splits["train"][0])])
        index = {split: torch.from_numpy(numbers) for split, numbers in splits.items()}
        if not self.in_memory:
            return Samples(EncodedImages(stored), target, index)
        used = torch.cat(list(index.values())).unique()
        self._used = used
        index = {split: torch.searchsorted(used, numbers) for split, numbers in index.items()}
        return Samples(decode_all([stored[number] for number in used.tolist()]), target[used], index)

    def targets(self) -> Tensor:
        numbers = super().targets()
        return numbers if self._used is None else numbers[self._used]

    def digest(self) -> str:
        return digest_of(part for split, labels in self._split_labels.items() for part in (split, *labels))

    def _images_of(self, table: Dataset) -> Dataset:
        """The column of images as they are stored."""
        from datasets import Image
        from pyarrow.lib import ArrowException

        try:
            return table.select_columns([self._image]).cast_column(self._image, Image(decode=False))
        except (ArrowException, TypeError, ValueError) as error:
            kind = table.features[self._image]
            kind = getattr(kind, "dtype", type(kind).__name__)
            raise ValueError(
                f"{self.place}: column {self._image} has {kind} and no images: say which has, data.image"
            ) from error

    def _column(self, what: str, given: str | None, usual: Sequence[str], columns: Sequence[str]) -> str | None:
        if given is None:
            return next((name for name in usual if name in columns), None)
        if given not in columns:
            raise ValueError(
                f"{self.place} has no column {given}, which data.{what} names; it has {', '.join(columns)}"
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
            # null, NaN and the hub's −1 are unknown
            labels[split] = [None if v is None or v == -1 or v != v else names[v] if names else str(v) for v in values]
        return labels


def read(name: str, subset: str | None) -> dict[Split, Dataset]:
    """The splits of a data set."""
    try:
        import datasets
        from huggingface_hub.utils import HFValidationError, validate_repo_id
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("HuggingFaceImages needs the library datasets: pip install datasets") from error
    folder = Path(name)
    what = "cannot be read" if folder.is_dir() else "is no folder here, and no data set of the hub that can be read"
    try:
        if not folder.is_dir():
            validate_repo_id(name)  # before a path is made of it
        if any((folder / file).is_file() for file in ("dataset_dict.json", "state.json")):  # of save_to_disk
            found = datasets.load_from_disk(name)
            found = found if isinstance(found, dict) else {"train": found}
        else:
            found = datasets.load_dataset(name, subset)
    except HFValidationError as error:
        raise FileNotFoundError(f"{name} {what}: its names are NAME or OWNER/NAME") from error
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        generating = isinstance(error, datasets.exceptions.DatasetGenerationError) and error.__cause__ is not None
        reason, _, rest = str(error.__cause__ if generating else error).partition("\n")
        subsets = re.search(r"available configs: (\[.*\])", reason + rest)
        if subsets:
            raise ValueError(f"{name} has several subsets, say which, data.subset: {subsets[1]}") from error
        raise FileNotFoundError(f"{name} {what}: {reason}") from error
    tables = {NAMES[key]: table for key, table in found.items() if key in NAMES}
    if not tables:
        raise ValueError(f"{name} has none of the splits train, validation and test; it has {', '.join(found)}")
    return {split: tables[split] for split in get_args(Split) if split in tables}
