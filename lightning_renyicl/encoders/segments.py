"""Sums over neighbours and over graphs, as products with a sparse matrix of ones."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


class SparseSum:
    """Sums of rows: ``[M, D]`` to ``[S, D]``, where row ``source`` of each pair is added to sum ``sink``.

    Rows are read where they lie, so that no tensor with a row for each pair is made: on CPUs this is many times as fast
    as gather and scatter, the more so the more pairs a row is in. Pairs sorted by ``sink`` need no sorting here. What
    the backward pass needs is made by the first of them.

    Args:
        source: rows, int64 ``[pairs]``.
        sink: sums, int64 ``[pairs]``.
        num_sources: number of rows M.
        num_sinks: number of sums S.
    """

    def __init__(self, source: Tensor, sink: Tensor, num_sources: int, num_sinks: int) -> None:
        # asking a GPU whether they are sorted would wait for it longer than sorting takes
        if sink.is_cuda or bool((sink[1:] < sink[:-1]).any()):
            sink, source = _sorted(sink, source)
        self._set(source, sink, num_sources, num_sinks)

    def _set(self, source: Tensor, sink: Tensor, num_sources: int, num_sinks: int) -> None:
        self.num_sources = num_sources
        self._sink = sink
        self._rows, self._starts = source, _starts(sink, num_sinks)

    @cached_property
    def _transposed(self) -> SparseSum:
        """The backward pass: sums of gradients, which can be differentiated in turn."""
        source, sink = _sorted(self._rows, self._sink)
        transposed = SparseSum.__new__(SparseSum)
        transposed._set(sink, source, len(self._starts), self.num_sources)
        return transposed

    def __call__(self, x: Tensor) -> Tensor:
        """Sums of the rows of ``x``."""
        out: Tensor = _Sum.apply(x, self)
        return out


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, pairs: SparseSum) -> Tensor:
        ctx.pairs = pairs
        return F.embedding_bag(pairs._rows, x, pairs._starts, mode="sum")

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.pairs._transposed(gradient.contiguous()), None


def _sorted(keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the order of the keys; 32 bits sort twice as fast."""
    ordered, order = torch.sort(keys.int(), stable=True)
    return ordered.long(), values.index_select(0, order)


def _starts(keys: Tensor, count: int) -> Tensor:
    """Where each of ``count`` keys begins when they are sorted, ``[count]``."""
    # not by bincount, which makes a GPU wait
    counts = keys.new_zeros(count + 1).scatter_add_(0, keys + 1, torch.ones_like(keys))
    return counts[:count].cumsum(0)
