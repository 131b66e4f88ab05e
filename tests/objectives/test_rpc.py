"""Relative predictive coding: the equation, its best critic and what is read off it."""

from itertools import chain
from statistics import fmean

import pytest
import torch

from lightning_renyicl.objectives import RPC
from lightning_renyicl.objectives.rpc import rpc

WEIGHTS = [(0.0, 0.001, 1.0), (0.01, 0.005, 0.995), (0.3, 0.2, 0.5), (0.0, 0.0, 1.0)]
JOINT = torch.tensor([[0.30, 0.05, 0.02], [0.04, 0.25, 0.06], [0.10, 0.03, 0.15]], dtype=torch.float64)
PRODUCT = JOINT.sum(1, keepdim=True) * JOINT.sum(0)


def expected_bound(f, a, b, c):
    """The bound for a critic of pairs of JOINT, in expectation."""
    return (JOINT * (f - b / 2 * f**2) - PRODUCT * (a * f + c / 2 * f**2)).sum()


@pytest.mark.parametrize("weights", WEIGHTS)
def test_by_the_equation(weights):
    generator = torch.Generator().manual_seed(0)
    p, n = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((5, 2), (5, 2, 3)))
    a, b, c = weights
    positive = fmean(f - b / 2 * f * f for f in chain(*p.tolist()))
    negative = fmean(a * f + c / 2 * f * f for f in chain(*chain(*n.tolist())))
    assert rpc(p, n, *weights).item() == pytest.approx(positive - negative, rel=1e-12)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_best_critic_of_discrete_pairs(weights):
    """Its bound is stationary and a maximum, and its scores tell r."""
    a, b, c = weights
    ratio = JOINT / PRODUCT
    best = ((ratio - a) / (b * ratio + c)).requires_grad_()
    (gradient,) = torch.autograd.grad(expected_bound(best, *weights), best)
    torch.testing.assert_close(gradient, torch.zeros_like(best), rtol=0, atol=1e-15)
    for seed in range(5):
        step = 0.1 * torch.randn(3, 3, generator=torch.Generator().manual_seed(seed))
        assert expected_bound(best + step, *weights) < expected_bound(best, *weights)
    # samples in these shares: every cell of JOINT 100 times its probability, every one of PRODUCT 10,000 times
    p = best.detach().flatten().repeat_interleave((JOINT.flatten() * 100).round().long())
    n = best.detach().flatten().repeat_interleave((PRODUCT.flatten() * 10000).round().long())
    n = n.expand(len(p), -1)
    torch.testing.assert_close(rpc(p, n, *weights), expected_bound(best.detach(), *weights))
    read = RPC(*weights).log_ratios(p, n, None)
    assert list(read) == ["by_critic", "by_batch"]
    information = (JOINT * ratio.log()).sum()
    for ratios in read.values():
        torch.testing.assert_close(ratios.mean(), information)
        assert ratios.shape == p.shape


def test_with_squares_of_negatives_alone_it_is_the_chi_squared_divergence():
    ratio = JOINT / PRODUCT
    chi_squared = (PRODUCT * (ratio - 1) ** 2).sum()
    torch.testing.assert_close(expected_bound(ratio, 0.0, 0.0, 1.0), (chi_squared + 1) / 2)


def test_a_read_out_that_is_off_is_put_right_by_the_batch():
    p, n = torch.tensor([2.0, 4.0]), torch.tensor([[1.0, 3.0], [1.0, 3.0]])
    read = RPC(0.0, 0.0, 1.0).log_ratios(p, n, None)
    torch.testing.assert_close(read["by_critic"], p.log())
    torch.testing.assert_close(read["by_batch"], (p / 2).log())


def test_scores_that_no_ratio_has():
    """From -a/c down, and from 1/b up."""
    p = torch.tensor([-0.2, -0.1, 0.0, 0.5, 1.9, 2.0, 2.1])
    ratios = RPC(0.1, 0.5, 1.0).log_ratios(p, torch.zeros(7, 1), None)["by_critic"]
    assert ratios[:2].isnan().all()
    assert ratios[2:5].isfinite().all()
    assert not ratios[5:].isfinite().any()


def test_its_critic_is_the_dot_product():
    generator = torch.Generator().manual_seed(0)
    online, target = torch.randn(2, 5, 4, generator=generator, dtype=torch.float64)
    p, n = RPC(temperature=3.0).scores([online], target)
    for i in range(5):
        scores = [sum(a * b for a, b in zip(online[i].tolist(), y, strict=True)) / 3 for y in target.tolist()]
        assert p[i, 0].item() == pytest.approx(scores.pop(i))
        assert n[i, 0].tolist() == pytest.approx(scores)
    assert RPC().scores([online.half()], target.half())[0].dtype == torch.float32
    assert RPC().temperature == 128


def test_an_estimate_that_reads_scores_as_logarithms_is_not_logged():
    online = list(torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0)))
    assert set(RPC()(online, online)[1]) == {"bound", "positive_score", "negative_score"}


@pytest.mark.parametrize("value", [-0.1, float("inf"), float("nan")])
@pytest.mark.parametrize("name", ["relative", "square_positive"])
def test_weights_out_of_range(name, value):
    weights = {"relative": 0.0, "square_positive": 0.1, "square_negative": 1.0, name: value}
    for make in (lambda: RPC(**weights), lambda: rpc(torch.zeros(2), torch.zeros(2, 1), **weights)):
        with pytest.raises(ValueError, match=f"{name} must be a finite number of at least 0, got"):
            make()


@pytest.mark.parametrize("value", [0.0, -0.1, float("inf"), float("nan")])
def test_without_squares_of_negatives_nothing_bounds_it(value):
    for make in (lambda: RPC(0.0, 0.1, value), lambda: rpc(torch.zeros(2), torch.zeros(2, 1), 0.0, 0.1, value)):
        with pytest.raises(ValueError, match="square_negative must be a finite number above 0, got"):
            make()


def test_shapes():
    with pytest.raises(ValueError, match="expected positives"):
        rpc(torch.zeros(3), torch.zeros(2, 3), *WEIGHTS[0])
