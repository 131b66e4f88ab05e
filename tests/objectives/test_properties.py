"""Invariances, identities and upper limits of the bounds over drawn scores."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_renyicl.objectives import functional as f

few = settings(max_examples=8, deadline=None, derandomize=True, database=None)
many = settings(few, max_examples=40)
skews = st.floats(0, 1) | st.sampled_from([0.0, 1.0])
positive_skews = st.floats(1e-6, 1)
orders = st.floats(0.05, 5) | st.sampled_from([1.0, 1.25, 2.0])


@st.composite
def scores(draw, one_column=False):
    anchors, negatives = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    shape = (anchors,) if one_column or draw(st.booleans()) else (anchors, draw(st.integers(1, 3)))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    scale, offset = draw(st.floats(0.1, 8)), draw(st.floats(-4, 4))
    p = scale * torch.randn(shape, generator=generator, dtype=torch.float64) + offset
    return p, scale * torch.randn((*shape, negatives), generator=generator, dtype=torch.float64)


def close(actual, expected, tolerance=1e-11):
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


@few
@given(scores(), st.floats(-50, 50))
def test_shift_invariance(shift_invariant, drawn, shift):
    p, n = drawn
    close(shift_invariant(p + shift, n + shift), shift_invariant(p, n), 1e-10)


def test_a_shift_changes_all_others(row, draw):
    p, n = draw((4,), 3)
    bound = row.bounds()[0]
    assert bool(abs(bound(p + 1, n + 1) - bound(p, n)) > 1e-3) is not row.shift_invariant


@few
@given(scores(), st.randoms(use_true_random=False))
def test_permuted_anchors(bound, drawn, random):
    p, n = drawn
    order = random.sample(range(len(p)), len(p))
    close(bound(p[order], n[order]), bound(p, n))


@few
@given(scores(), st.randoms(use_true_random=False))
def test_bounds_over_the_batch_read_two_sets(batch_bound, drawn, random):
    p, n = drawn
    order = random.sample(range(n.numel()), n.numel())
    close(batch_bound(p, n.flatten()[order].view_as(n)), batch_bound(p, n))


def test_only_bounds_per_anchor_know_whose_a_negative_is(row, draw):
    p, n = draw((4,), 3)
    bound = row.bounds()[0]
    swapped = bound(p, n.roll(1, 0).where(torch.arange(3) == 0, n))
    assert bool(abs(swapped - bound(p, n)) > 1e-3) is row.normalises_per_anchor
    assert row.objective is None or row.objective.normalises_per_anchor is row.normalises_per_anchor


@many
@given(scores(), skews, orders)
def test_names_for_special_cases(drawn, alpha, gamma):
    p, n = drawn
    close(f.renyi(p, n, gamma), f.rmlcpc(p, n, 0.0, gamma), 0)
    close(f.dv(p, n, alpha), f.mlcpc(p, n, alpha), 0)
    close(f.dv(p, n), f.mlcpc(p, n, 0.0), 0)
    close(f.rmlcpc(p, n, alpha, 1.0), f.mlcpc(p, n, alpha), 0)
    close(f.mutual_information(p, n), f.cpc(p, n, 0.0))


@many
@given(scores(one_column=True))
def test_infonce_is_cross_entropy(drawn):
    p, n = drawn
    logits = torch.cat([p[:, None], n], dim=1)
    loss = F.cross_entropy(logits, torch.zeros(len(p), dtype=torch.long))
    close(f.cpc(p, n), math.log(logits.shape[1]) - loss)


@many
@given(scores(one_column=True))
def test_graphcl_is_cpc_without_the_positive_in_the_denominator(drawn):
    p, n = drawn
    graphcl = -(p.exp() / n.exp().sum(1)).log().mean()
    close(f.cpc(p, n, 0.0), -graphcl + math.log(n.shape[1]))


@many
@given(scores(), positive_skews, orders)
def test_no_bound_exceeds_its_limit(skewed, drawn, alpha, gamma):
    """With an order it is lower: the power mean of order gamma - 1 is at most that of order gamma."""
    options = {"alpha": alpha, "gamma": gamma} if skewed.takes("gamma") else {"alpha": alpha}
    assert skewed.function(*drawn, **options) <= skewed.limit(alpha, options.get("gamma", 1.0)) + 1e-9


@pytest.mark.parametrize("alpha", [1e-4, 0.5, 1.0])
@pytest.mark.parametrize("gamma", [2.0, 1.1])
def test_the_limit_is_reached_with_negatives_far_away(skewed, alpha, gamma):
    options = {"alpha": alpha, "gamma": gamma} if skewed.takes("gamma") else {"alpha": alpha}
    p = torch.full((3, 2), skewed.peak(alpha), dtype=torch.float64)
    n = torch.full((3, 2, 4), -200.0, dtype=torch.float64)
    limit = skewed.limit(alpha, options.get("gamma", 1.0))
    close(skewed.function(p, n, **options), torch.tensor(limit, dtype=torch.float64))
