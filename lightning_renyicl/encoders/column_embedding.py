"""Rows with categorical columns as rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

LARGEST_CODE = {torch.bfloat16: 2**8, torch.float16: 2**11}
"""Whole numbers up to here survive in half precision."""


class ColumnEmbedding(nn.Module):
    """Replaces the code of every categorical column by a learnt vector, or one-hot; numeric columns stay.

    Shapes: rows ``[N, F]``, whose last C columns hold codes, to ``[N, F − C + C · width]``, one-hot to
    ``[N, F − C + sum of cardinalities]``.

    Args:
        in_features: number of columns F.
        cardinalities: number of codes of each of the C categorical columns.
        width: length of a vector; None: codes become one-hot.

    Raises:
        ValueError: more categorical columns than columns, a width below 1; in ``forward``, rows in a precision that has
            not all codes.
    """

    first: Tensor

    def __init__(self, in_features: int, cardinalities: Sequence[int], width: int | None) -> None:
        super().__init__()
        self.numeric = in_features - len(cardinalities)
        if self.numeric < 0:
            raise ValueError(f"{len(cardinalities)} of {in_features} columns cannot be categorical")
        if width is not None and width < 1:
            raise ValueError(f"an embedding needs a width of at least 1, got {width}")
        self.codes = sum(cardinalities)
        self.most = max(cardinalities)
        self.out_features = self.numeric + (self.codes if width is None else len(cardinalities) * width)
        # the columns' own, one below the other
        self.table = None if width is None else nn.Embedding(self.codes, width)
        first = torch.tensor([0, *cardinalities[:-1]]).cumsum(0)  # [C]
        self.register_buffer("first", first, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        if self.most > LARGEST_CODE.get(x.dtype, self.most):
            raise ValueError(f"a column has {self.most} codes, which {x.dtype} doesn't hold: use a mixed precision")
        codes = x[:, self.numeric :].long() + self.first
        if self.table is None:
            categories = x.new_zeros(len(x), self.codes).scatter_(1, codes, 1.0)
        else:
            categories = self.table(codes).flatten(1).to(x.dtype)
        return torch.cat((x[:, : self.numeric], categories), dim=1)
