"""How the columns of a table become numbers, as fitted on training rows."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from datamodules.labels import some
from datamodules.reading.values import floats_of, places_in, text_of

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_CODE = 2
"""Code of a categorical column's first value. 0 is for masked ones, 1 for values that training rows don't have."""


@dataclass(frozen=True)
class Columns:
    """What was learnt from training rows, in plain types whose order a configuration file keeps.

    A row is encoded as F numbers: numeric columns in standard units, then a 1 for each of ``indicators`` that is
    missing, then the codes of categorical columns. So 0 stands for a numeric column's mean and for nothing in a
    categorical one, and masking is the same in both.

    Attributes:
        numeric: names of the numeric columns.
        means: their means.
        deviations: their standard deviations, 1 for a constant one.
        indicators: those that training rows lack values of.
        categorical: names of the categorical columns.
        categories: their values, which have the codes from 2 on; None is a missing value.
        impute: whether a missing number counts as the mean; it is refused otherwise.
    """

    numeric: list[str]
    means: list[float]
    deviations: list[float]
    indicators: list[str]
    categorical: list[str]
    categories: list[list[str | None]]
    impute: bool

    @property
    def in_features(self) -> int:
        """Numbers of a row, F."""
        return len(self.numeric) + len(self.indicators) + len(self.categorical)

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of each categorical column; their columns are the last of a row."""
        return tuple(len(values) + FIRST_CODE for values in self.categories)

    def to_dict(self) -> dict[str, Any]:
        """Plain types, for a checkpoint."""
        return asdict(self)

    def summary(self) -> str:
        """What there is of columns, in words."""
        sizes = {name: len(values) for name, values in zip(self.categorical, self.categories, strict=True)}
        largest = max(sizes, key=lambda name: sizes[name], default="")
        of_them = f" (largest: {largest}, {sizes[largest]:,} values)" if sizes else ""
        return f"{len(self.numeric)} numbers, {len(sizes)} categories{of_them}"

    def encode(self, table: Mapping[str, pa.ChunkedArray], place: object) -> Tensor:
        """Rows ``[M, F]``, float32. Columns are found by their names; others are left alone.

        Args:
            table: columns of M rows.
            place: the file, for messages.

        Raises:
            ValueError: a column that isn't there, or a value that is missing, no number or too large for a float32.
        """
        names = [*self.numeric, *self.categorical]
        lacking = [name for name in names if name not in table]
        if lacking:
            raise ValueError(f"{place} lacks columns that training had: {some(lacking)}")
        rows = torch.zeros(len(table[names[0]]), self.in_features)
        for number, (name, mean, deviation) in enumerate(zip(self.numeric, self.means, self.deviations, strict=True)):
            values = floats_of(table[name], name, place)
            missing = np.isnan(values)
            self._check(missing, name, place)
            values[missing] = mean
            with np.errstate(over="ignore"):
                scaled = ((values - mean) / deviation).astype(np.float32)
            if not np.isfinite(scaled).all():
                row = int((~np.isfinite(scaled)).argmax())
                raise ValueError(f"{place}, row {row + 1}: {name} is {values[row]:g}, too far from training's {mean:g}")
            rows[:, number] = torch.from_numpy(scaled)
            if name in self.indicators:
                rows[:, len(self.numeric) + self.indicators.index(name)] = torch.from_numpy(missing)
        first = self.in_features - len(self.categorical)
        for number, (name, known) in enumerate(zip(self.categorical, self.categories, strict=True), start=first):
            rows[:, number] = torch.from_numpy(self._codes(table[name], known, name, place))
        return rows

    def _codes(
        self, column: pa.ChunkedArray, values: list[str | None], name: str, place: object
    ) -> NDArray[np.float32]:
        import pyarrow.compute as pc

        missing = text_of(column).is_null()
        self._check(missing.to_numpy(), name, place)
        known = places_in(column, values)
        if not pc.all(missing).as_py() and not pc.any(pc.and_not(known.is_valid(), missing)).as_py():
            log.warning(
                "%s: %s has none of the training's values, so that all count as unknown: it has %s, training had %s",
                *(place, name, some(text_of(column).drop_null().unique().to_pylist()), some(values)),
            )
        known = known.fill_null(-1)  # which comes to the code of unknown ones
        codes: NDArray[np.float32] = known.to_numpy().astype(np.float32) + FIRST_CODE
        return codes

    def _check(self, missing: NDArray[np.bool_], name: str, place: object) -> None:
        if missing.any() and not self.impute:
            raise ValueError(f"{place}, row {int(missing.argmax()) + 1}: {name} is missing, as none was in training")
