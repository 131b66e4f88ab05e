"""What a table does to a row before a network sees it, as a module that can leave this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from datamodules.tables.columns import FIRST_CODE, Columns


class RowPreparation(nn.Module):
    """Rows as they are in a file, with codes in place of categories, to rows as the network takes them.

    Shapes: ``[N, numbers + categories]`` in double precision, so that large numbers keep their digits, to ``[N, F]`` in
    single precision: numbers in standard units, a 1 for each of ``indicators`` that is missing, codes.

    Args:
        numeric: names of the columns of numbers, which come first.
        means: what is subtracted from them.
        deviations: what they are divided by.
        categories: names of the columns of categories and their values, which have the codes from 2 on; a 1 is one that
            is none of them.
        indicators: places of the columns of numbers of which it is said where they are missing.
        impute: whether a missing number, NaN, counts as the mean.
    """

    means: Tensor
    deviations: Tensor

    def __init__(
        self,
        numeric: Sequence[str],
        means: Sequence[float],
        deviations: Sequence[float],
        categories: Mapping[str, Sequence[str | None]],
        indicators: Sequence[int] = (),
        impute: bool = False,
    ) -> None:
        super().__init__()
        self.numeric = list(numeric)
        self.categories = {name: list(values) for name, values in categories.items()}
        self.indicators = list(indicators)
        self.impute = impute
        self.register_buffer("means", torch.tensor(means, dtype=torch.float64))
        self.register_buffer("deviations", torch.tensor(deviations, dtype=torch.float64))

    @classmethod
    def of(cls, columns: Columns) -> RowPreparation:
        """What :meth:`Columns.encode` does, once categories are codes."""
        return cls(
            columns.numeric,
            columns.means,
            columns.deviations,
            dict(zip(columns.categorical, columns.categories, strict=True)),
            [columns.numeric.index(name) for name in columns.indicators],
            columns.impute,
        )

    @property
    def in_columns(self) -> int:
        """Columns that it takes."""
        return len(self.numeric) + len(self.categories)

    def forward(self, rows: Tensor) -> Tensor:
        numbers, codes = rows.tensor_split([len(self.numeric)], dim=1)
        missing = numbers.isnan()
        scaled = (numbers - self.means) / self.deviations
        if self.impute:
            scaled = torch.where(missing, torch.zeros_like(scaled), scaled)
        return torch.cat((scaled, missing[:, self.indicators].to(scaled.dtype), codes), dim=1).float()

    def describe(self) -> dict[str, Any]:
        """The columns in order, and what becomes of them, in plain types."""
        return {
            "numeric": self.numeric,
            "means": self.means.tolist(),
            "deviations": self.deviations.tolist(),
            "indicators": [self.numeric[place] for place in self.indicators],
            "missing": "NaN, which counts as the mean" if self.impute else None,
            "codes": {name: _codes(values) for name, values in self.categories.items()},
        }


def _codes(values: Sequence[str | None]) -> dict[str, int]:
    codes = {"any other": 1}
    codes.update({"missing" if value is None else value: code for code, value in enumerate(values, start=FIRST_CODE)})
    return codes
