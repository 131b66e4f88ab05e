"""Draws within every group of a batch at once, without a loop over groups."""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor

from datamodules.augmentations.base import Augmentation

KEYS = 2**40
"""Sort keys within a group are smaller; above them an int64 has room for 2**23 groups."""


class GraphAugmentation(Augmentation):
    """An augmentation of graphs."""

    takes = "graphs"


def check_ratio(ratio: float, name: str = "ratio") -> float:
    """Returns a ratio; raises ValueError for one outside [0, 1]."""
    if not 0 <= ratio <= 1:
        raise ValueError(f"{name} must be in [0, 1], got {ratio}")
    return ratio


def part_of(counts: Tensor, ratio: float) -> Tensor:
    """The whole part of ratio · count, in integers: float32 may find 0.7 · 10 below 7; not every GPU has float64."""
    return counts * math.ceil(ratio * 2**36) >> 36


def rank_within(owner: Tensor, keys: Tensor, groups: int) -> Tensor:
    """The place of every key among those of its group when they are sorted, ``[M]``.

    Args:
        owner: group of every key, in order, ``[M]``.
        keys: numbers to sort by, in [0, KEYS), ``[M]``.
        groups: number of groups.
    """
    order = (owner * KEYS + keys).argsort()
    rank = torch.arange(len(owner), device=owner.device) - _starts(owner, groups).index_select(0, owner)
    return torch.empty_like(rank).scatter_(0, order, rank)


def draw_ranks(owner: Tensor, groups: int, generator: Generator) -> Tensor:
    """The members of each group in an order drawn uniformly: their places, ``[M]``."""
    keys = torch.randint(KEYS, owner.shape, generator=generator, device=generator.device)
    return rank_within(owner, keys, groups)


def draw_distinct(count: Tensor, size: Tensor, generator: Generator) -> Tensor:
    """``count`` different whole numbers below ``size`` for every group, each set equally likely.

    Args:
        count: amount of numbers for each group, ``[N]``, at most ``size``.
        size: ``[N]``, at most KEYS.
        generator: generator on the device of ``count``.

    Returns:
        group · KEYS + number, sorted, ``[count.sum()]``.
    """
    # The fewer of those to take and those to leave out are drawn, so that a draw is new with probability above 1/2.
    inverted = 2 * count > size
    owner = torch.arange(len(count), device=count.device).repeat_interleave(torch.where(inverted, size - count, count))
    limit = size.index_select(0, owner)

    def drawn(of: Tensor) -> Tensor:
        numbers = torch.randint(KEYS, of.shape, generator=generator, device=generator.device)
        return owner.index_select(0, of) * KEYS + numbers % limit.index_select(0, of)

    values = drawn(torch.arange(len(owner), device=owner.device))
    while True:
        values = values.sort().values
        # Drawing anew what is there twice treats all numbers alike, and so all sets.
        again = (values[1:] == values[:-1]).nonzero().squeeze(1) + 1
        if not len(again):
            break
        values[again] = drawn(again)
    taken = torch.arange(len(count), device=count.device).repeat_interleave(count)
    by_complement, from_complement = inverted.index_select(0, taken), inverted.index_select(0, owner)
    place = torch.arange(len(taken), device=taken.device) - _starts(taken, len(count)).index_select(0, taken)
    result = torch.empty_like(taken)
    result[~by_complement] = values[~from_complement]
    result[by_complement] = nth_absent(values[from_complement], (taken * KEYS + place)[by_complement], len(count))
    return result


def nth_absent(present: Tensor, nth: Tensor, groups: int) -> Tensor:
    """The n-th whole number, counted from 0, that ``present`` lacks for a group.

    Args:
        present: group · KEYS + number, sorted and different, ``[M]``.
        nth: group · KEYS + n, ``[K]``.
        groups: number of groups.

    Returns:
        group · KEYS + number, ``[K]``.
    """
    owner = present // KEYS
    starts = _starts(owner, groups)
    place = torch.arange(len(present), device=present.device) - starts.index_select(0, owner)
    # number - place is how many smaller ones are absent
    present_below = torch.searchsorted(present - place, nth, right=True)
    return nth + present_below - starts.index_select(0, nth // KEYS)


def _starts(owner: Tensor, groups: int) -> Tensor:
    """Where each group begins, ``[groups]``."""
    counts = owner.bincount(minlength=groups)
    return counts.cumsum(0) - counts
