import random
from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare
from torch import Generator

from datamodules.graphs.augmentations.sampling import (
    KEYS,
    check_ratio,
    draw_distinct,
    draw_ranks,
    nth_absent,
    part_of,
    rank_within,
)


def seeded(seed=0):
    return Generator().manual_seed(seed)


def owners(counts):
    counts = torch.as_tensor(counts)
    return torch.arange(len(counts)).repeat_interleave(counts)


def drawn_sets(drawn, groups):
    """The set of every group as the sum of its powers of two, ``[groups]``."""
    return torch.zeros(groups, dtype=torch.long).scatter_add_(0, drawn // KEYS, 2 ** (drawn % KEYS))


@pytest.mark.parametrize("ratio", [-0.1, 1.1, float("nan"), float("inf")])
def test_check_ratio_refuses(ratio):
    with pytest.raises(ValueError, match=r"ratio must be in \[0, 1\], got"):
        check_ratio(ratio)


@pytest.mark.parametrize("ratio", [0, 1, 0.0, 1.0, 0.3])
def test_check_ratio_returns(ratio):
    assert check_ratio(ratio) == ratio


def test_share_is_exact_for_every_hundredth():
    counts = torch.cat((torch.arange(2000), 10 ** torch.arange(3, 8), 10 ** torch.arange(3, 8) - 1))
    for hundredths in range(101):
        assert torch.equal(part_of(counts, hundredths / 100), counts * hundredths // 100), hundredths


@given(st.integers(0, 10**6), st.floats(0, 1))
@settings(deadline=None)
def test_share_is_the_whole_part(count, ratio):
    share = part_of(torch.tensor([count]), ratio)
    assert share.dtype == torch.long
    product = ratio * count
    if abs(product - round(product)) > 1e-4:
        assert share.item() == int(product)
    else:  # where 0.1 · 10 may be a little less than 1
        assert share.item() in (round(product) - 1, round(product))


@pytest.mark.parametrize("count", [1, 3, 7, 49, 93, 1000003])
def test_part_of_a_fraction_of_the_count(count):
    # k / count · count is k, though the float64 of k / count may be below it
    numerators = [k for k in (0, 1, 2, count // 3, count - 1, count) if k <= count]
    assert [part_of(torch.tensor([count]), k / count).item() for k in numerators] == numerators


@given(st.lists(st.lists(st.integers(0, KEYS - 1), unique=True, max_size=6), min_size=1, max_size=6))
@settings(deadline=None)
def test_rank_within(groups):
    keys = torch.tensor([key for group in groups for key in group], dtype=torch.long)
    expected = [sorted(group).index(key) for group in groups for key in group]
    assert rank_within(owners([len(group) for group in groups]), keys, len(groups)).tolist() == expected


def test_rank_within_by_hand():
    owner = torch.tensor([0, 0, 0, 2, 2, 3])  # group 1 and the last one are empty
    keys = torch.tensor([5, KEYS - 1, 0, 9, 8, KEYS - 1])
    assert rank_within(owner, keys, 5).tolist() == [1, 2, 0, 1, 0, 0]
    assert rank_within(owner[:0], keys[:0], 3).shape == (0,)


def test_equal_keys_still_have_different_ranks():
    ranks = rank_within(owners([50, 50]), torch.zeros(100, dtype=torch.long), 2)
    assert ranks[:50].sort().values.tolist() == ranks[50:].sort().values.tolist() == list(range(50))


def test_rank_within_has_room_for_the_groups_it_promises():
    last = 2**23 - 1
    owner = torch.tensor([0, last - 1, last, last])
    assert rank_within(owner, torch.tensor([KEYS - 1, KEYS - 1, KEYS - 1, 0]), last + 1).tolist() == [0, 0, 1, 0]


def test_draw_ranks_draws_every_order_alike():
    times = 4000
    counts = torch.tensor([3, 0, 2, 1, 4]).repeat(times)
    ranks = draw_ranks(owners(counts), len(counts), seeded()).view(times, 10)
    for first, size, orders in ((0, 3, 6), (3, 2, 2), (6, 4, 24)):
        part = ranks[:, first : first + size]
        assert torch.equal(part.sort(dim=1).values, torch.arange(size).expand(times, -1))
        seen = (part * 10 ** torch.arange(size)).sum(dim=1).unique(return_counts=True)[1]
        assert len(seen) == orders
        assert chisquare(seen.numpy()).pvalue > 1e-3
    assert (ranks[:, 5] == 0).all()
    table = torch.zeros(3, 2, dtype=torch.long).index_put_((ranks[:, 0], ranks[:, 3]), torch.ones(1).long(), True)
    assert chi2_contingency(table.numpy()).pvalue > 1e-3  # groups know nothing of each other


def test_draw_ranks_of_nothing():
    assert draw_ranks(torch.zeros(0, dtype=torch.long), 0, seeded()).shape == (0,)
    assert draw_ranks(torch.zeros(0, dtype=torch.long), 3, seeded()).shape == (0,)


SIZES = [(count, size) for size in range(7) for count in range(size + 1)]


def test_draw_distinct_draws_every_set_alike():
    times = 2000
    count, size = torch.tensor(SIZES).repeat(times, 1).T.contiguous()
    drawn = draw_distinct(count, size, seeded())
    assert drawn.diff().gt(0).all()  # sorted and different
    assert torch.equal((drawn // KEYS).bincount(minlength=len(count)), count)
    sets = drawn_sets(drawn, len(count)).view(times, len(SIZES))
    for (number, below), seen in zip(SIZES, sets.T, strict=True):
        values, counts = seen.unique(return_counts=True)
        possible = sorted(sum(2**member for member in chosen) for chosen in combinations(range(below), number))
        assert values.tolist() == possible, (number, below)
        assert len(possible) == 1 or chisquare(counts.numpy()).pvalue > 1e-3, (number, below)


def test_draw_distinct_draws_groups_independently():
    count, size = torch.tensor([(2, 4), (3, 4)]).repeat(5000, 1).T.contiguous()
    one, other = drawn_sets(draw_distinct(count, size, seeded(1)), len(count)).view(-1, 2).T
    table = torch.zeros(16, 16, dtype=torch.long).index_put_((one, other), torch.ones(1).long(), True)
    table = table[table.sum(dim=1) > 0][:, table.sum(dim=0) > 0]
    assert table.shape == (6, 4)
    assert chi2_contingency(table.numpy()).pvalue > 1e-3


@given(st.lists(st.integers(0, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), max_size=30))
@settings(deadline=None)
def test_draw_distinct_of_any_sizes(groups):
    count, size = torch.tensor(groups, dtype=torch.long).view(-1, 2).T
    drawn = draw_distinct(count, size, seeded(len(groups)))
    assert torch.equal(drawn // KEYS, owners(count))
    assert (drawn % KEYS < size[drawn // KEYS]).all()
    assert drawn.diff().gt(0).all()


@pytest.mark.parametrize(("count", "size"), [(0, 0), (0, 1), (1, 1), (0, 5), (5, 5)])
def test_draw_distinct_limits(count, size):
    drawn = draw_distinct(torch.tensor([count, 1, count]), torch.tensor([size, 1, size]), seeded())
    assert drawn.tolist() == [*range(count), KEYS, *range(2 * KEYS, 2 * KEYS + count)]


def test_draw_distinct_of_no_groups():
    nothing = torch.zeros(0, dtype=torch.long)
    assert draw_distinct(nothing, nothing, seeded()).shape == (0,)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.6, 0.999])
def test_draw_distinct_of_many_numbers(share):
    size = 200_000
    count = int(share * size)
    drawn = draw_distinct(torch.tensor([count]), torch.tensor([size]), seeded())
    assert len(drawn) == count
    assert drawn.diff().gt(0).all()
    assert 0 <= drawn[0] <= drawn[-1] < size
    tenths = (drawn * 10 // size).bincount(minlength=10)
    # a tenth has a hypergeometric number of them
    deviation = (count * 0.1 * 0.9 * (size - count) / (size - 1)) ** 0.5
    assert (tenths - count / 10).abs().max() < 4.5 * deviation


def test_draw_distinct_from_a_range_above_32_bits():
    size = 2**39
    drawn = draw_distinct(torch.full((2000,), 2), torch.full((2000,), size), seeded()) % KEYS
    assert drawn.max() < size
    assert chisquare((drawn * 8 // size).bincount(minlength=8).numpy()).pvalue > 1e-3
    assert chisquare((drawn % 8).bincount(minlength=8).numpy()).pvalue > 1e-3


def test_draw_distinct_of_many_groups():
    groups = 100_000
    size = torch.randint(6, (groups,), generator=seeded(5))
    count = (torch.rand(groups, generator=seeded(6)) * (size + 1)).long()
    drawn = draw_distinct(count, size, seeded())
    assert torch.equal(drawn // KEYS, owners(count))
    assert (drawn % KEYS < size[drawn // KEYS]).all()
    assert drawn.diff().gt(0).all()
    chosen = (drawn % KEYS)[(size == 5)[drawn // KEYS]]
    assert chisquare(chosen.bincount(minlength=5).numpy()).pvalue > 1e-3


def test_draws_come_from_the_generator_alone():
    count, size = torch.tensor([3, 40, 0, 90]), torch.tensor([9, 80, 3, 100])
    states = torch.get_rng_state(), random.getstate()
    first, same, other = (draw_distinct(count, size, seeded(seed)) for seed in (1, 1, 2))
    ranks, same_ranks, other_ranks = (draw_ranks(owners([9, 80]), 2, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, same)
    assert torch.equal(ranks, same_ranks)
    assert not torch.equal(first, other)
    assert not torch.equal(ranks, other_ranks)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert (count.tolist(), size.tolist()) == ([3, 40, 0, 90], [9, 80, 3, 100])


def absent(present, nth):
    """The n-th number that a set lacks, by counting."""
    number = 0
    while True:
        if number not in present:
            if nth == 0:
                return number
            nth -= 1
        number += 1


@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, 25), max_size=15), st.lists(st.integers(0, 20), max_size=6)),
        min_size=1,
        max_size=6,
    )
)
@settings(deadline=None)
def test_nth_absent(groups):
    present = [group * KEYS + number for group, (numbers, _) in enumerate(groups) for number in sorted(numbers)]
    nth = [group * KEYS + n for group, (_, queries) in enumerate(groups) for n in queries]
    expected = [group * KEYS + absent(numbers, n) for group, (numbers, queries) in enumerate(groups) for n in queries]
    result = nth_absent(torch.tensor(present).long(), torch.tensor(nth).long(), len(groups))
    assert result.tolist() == expected


def test_nth_absent_by_hand():
    present = torch.tensor([0, 1, 4, KEYS + 2, 3 * KEYS])
    nth = torch.tensor([0, 1, 2, KEYS, KEYS + 2, 2 * KEYS, 2 * KEYS + 7, 3 * KEYS])
    expected = [2, 3, 5, KEYS, KEYS + 3, 2 * KEYS, 2 * KEYS + 7, 3 * KEYS + 1]
    assert nth_absent(present, nth, 4).tolist() == expected
    assert nth_absent(present, nth.flip(0), 4).tolist() == expected[::-1]
