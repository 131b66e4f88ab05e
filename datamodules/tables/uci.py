"""Two large tables of the UCI repository."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from datamodules.augmentations.base import Augmentation
from datamodules.base import InMemoryDataModule, Samples, Split
from datamodules.download import download
from datamodules.splits import stratified_split
from datamodules.tables.columns import FIRST_CODE
from datamodules.tables.files import read_numbers
from datamodules.tables.preparation import RowPreparation
from datamodules.tables.scaling import Standardizer


class UCITable(InMemoryDataModule):
    """A table of numbers without names, as its site ships it.

    The file is read where it lies under ``root``; without it, it is downloaded there. The first columns of a row are
    numbers in the training rows' standard units, the others codes of categories.

    Args:
        views: one augmentation of rows a view.
        batch_size: samples in a batch over all processes.
        root: folder of the file; may be read-only.
    """

    SAMPLES = "rows"

    ROOT_IS_A_PLACE = True
    FILE: ClassVar[str]
    URL: ClassVar[str]
    CLASSES: ClassVar[int]
    NUMERIC: ClassVar[int]
    CARDINALITIES: ClassVar[tuple[int, ...]] = ()
    ROWS: ClassVar[int]

    def __init__(self, views: Sequence[Augmentation], batch_size: int = 512, root: str = "data") -> None:
        super().__init__(views, batch_size, self.CLASSES, self.NUMERIC + len(self.CARDINALITIES))
        self.cardinalities = self.CARDINALITIES
        self.path = Path(root).expanduser().absolute() / self.FILE
        self.scaler = Standardizer()
        self.found = 0  # rows of the file

    @property
    def files(self) -> list[Path]:
        return [self.path]

    def describe(self) -> dict[str, Any]:
        description = super().describe()
        part = "" if self.found == self.ROWS else f", {self.found:,} rows of {self.ROWS:,}"
        return {**description, "name": f"{description['name']}{part}"}

    def prepare_data(self) -> None:
        if not self.path.is_file():
            download(
                self.URL,
                self.path,
                self.FILE,
                lambda url, folder, name: torch.hub.download_url_to_file(url, f"{folder}/{name}", progress=False),
            )

    def encode(self, samples: Samples) -> Samples:
        numbers, codes = samples.inputs[:, : self.NUMERIC], samples.inputs[:, self.NUMERIC :]
        if self.scaler.state is None:
            self.scaler.fit(numbers[samples.splits["train"]])
        return Samples(torch.cat((self.scaler(numbers), codes), dim=1), samples.target, samples.splits)

    def preparation(self) -> RowPreparation:
        categories = {
            f"category {number}": [str(value) for value in range(count - FIRST_CODE)]
            for number, count in enumerate(self.CARDINALITIES, start=1)
        }
        return self.scaler.preparation([f"column {number}" for number in range(1, self.NUMERIC + 1)], categories)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "scaler": self.scaler.state}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self.scaler.state = state_dict["scaler"]

    def _check(self, right: Tensor, what: str) -> None:
        """Raises ValueError with the first row, of a mask ``[M]``, that isn't right."""
        if not right.all():
            row = int((~right).nonzero()[0])
            raise ValueError(f"{self.path}, row {row + 1}: {what}")


class CovType(UCITable):
    """Forest cover type (Blackard, 1998): 581,012 patches of forest, 7 kinds of trees.

    Ten columns are numbers; the four that mark the wilderness and the forty that mark the soil, of which one is 1 each,
    become a categorical column each.

    The first 15,120 rows, 2,160 a class, are for training, a tenth of them for validation; all others are the test
    split. In a shorter file, 3,120 of the 15,120, the classes in proportion, are the test split, and the others are
    left out, as they are not like those of the whole.
    """

    FILE = "covtype.data.gz"
    URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz"
    CLASSES = 7
    NUMERIC = 10
    CARDINALITIES = (4 + FIRST_CODE, 40 + FIRST_CODE)
    ROWS = 581_012
    TRAINING_ROWS = 15_120
    TEST_ROWS = 3_120  # of a shorter file

    def load(self) -> Samples:
        self.prepare_data()
        table = read_numbers(self.path, columns=10 + 4 + 40 + 1, rows=self.ROWS)
        self.found = len(table)
        if self.found < self.TRAINING_ROWS:
            raise ValueError(f"{self.path} has {self.found:,} rows, fewer than the {self.TRAINING_ROWS:,} for training")
        numbers, *marks, label = table.split([10, 4, 40, 1], dim=1)
        for name, group in zip(("wilderness", "soil"), marks, strict=True):
            self._check((group.sum(1) == 1) & (group.amax(1) == 1), f"not one {name} is marked")
        target = label.squeeze(1) - 1
        self._check(torch.isin(target, torch.arange(7.0)), "the last column is no label from 1 to 7")
        codes = torch.stack([group.argmax(1) for group in marks], dim=1) + FIRST_CODE
        return Samples(torch.cat((numbers, codes), dim=1), target.long(), self._splits(target.long()))

    def _splits(self, target: Tensor) -> dict[Split, Tensor]:
        train = np.arange(self.TRAINING_ROWS)
        test: NDArray[np.int64] = np.arange(self.TRAINING_ROWS, len(target))
        if len(target) < self.ROWS:
            train, test = stratified_split(target, self.TEST_ROWS, train)
        train, val = stratified_split(target, 0.1, train)
        return {"train": torch.from_numpy(train), "val": torch.from_numpy(val), "test": torch.from_numpy(test)}


class Higgs(UCITable):
    """HIGGS (Baldi et al., 2014): 11,000,000 simulated collisions, a Higgs boson's or none; 28 columns of numbers.

    The last 500,000 rows are the test split, and 100,000 training rows and 10,000 for validation are drawn from the
    others, always the same. Of a file with fewer than 600,000 rows the last fifth is the test split, a tenth of the
    others is for validation, and all the rest train.
    """

    FILE = "HIGGS.csv.gz"
    URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/00280/HIGGS.csv.gz"
    CLASSES = 2
    NUMERIC = 28
    ROWS = 11_000_000
    ENOUGH = 600_000
    TEST_ROWS = 500_000
    TRAINING_ROWS = 100_000
    VALIDATION_ROWS = 10_000

    def load(self) -> Samples:
        self.prepare_data()
        table = read_numbers(self.path, columns=29, rows=self.ROWS)
        self._check((table[:, 0] == 0) | (table[:, 0] == 1), "the first column is no label, 0 or 1")
        self.found = len(table)
        splits = self._splits(self.found)
        used = torch.cat(list(splits.values())).sort().values  # a twentieth of the whole file
        splits = {name: torch.searchsorted(used, rows) for name, rows in splits.items()}
        return Samples(table[used, 1:], table[used, 0].long(), splits)

    def _splits(self, rows: int) -> dict[Split, Tensor]:
        test = self.TEST_ROWS if rows >= self.ENOUGH else rows // 5
        others = np.random.RandomState(1).permutation(rows - test)
        if rows >= self.ENOUGH:
            train, val = np.split(others[: self.TRAINING_ROWS + self.VALIDATION_ROWS], [self.TRAINING_ROWS])
        else:
            val, train = np.split(others, [len(others) // 10])
        parts: dict[Split, NDArray[np.int64]] = {"train": train, "val": val, "test": np.arange(rows - test, rows)}
        return {name: torch.from_numpy(np.sort(part)) for name, part in parts.items()}
