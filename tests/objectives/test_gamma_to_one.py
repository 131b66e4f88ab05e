"""RMLCPC near gamma = 1: linear towards MLCPC, no loss of digits, continuous across its internal switches."""

import math

import pytest
import torch

from lightning_renyicl.objectives import functional
from lightning_renyicl.objectives.functional import mlcpc, rmlcpc

ALPHA = 1 / 16
STEPS = [sign * 10.0**-k for k in (3, 6) for sign in (1, -1)]


def slope_at_one(p, n, alpha):
    """The derivative by gamma: half the variance of p, and the tilted mean of the mixture."""
    weight_p, weight_n = alpha * p.exp() / p.numel(), (1 - alpha) * n.exp() / n.numel()
    total = weight_p.sum() + weight_n.sum()
    tilted = ((weight_p * p).sum() + (weight_n * n).sum()) / total
    return p.var(correction=0) / 2 + total.log() - tilted


@pytest.mark.parametrize("step", STEPS)
def test_linear_in_double_precision(draw, step):
    p, n = draw((16, 2), 15)
    slope = (rmlcpc(p, n, ALPHA, 1 + step) - mlcpc(p, n, ALPHA)) / step
    torch.testing.assert_close(slope, slope_at_one(p, n, ALPHA), rtol=0, atol=20 * abs(step) + 1e-8)


@pytest.mark.parametrize("shift", [0.0, 1000.0])
@pytest.mark.parametrize("step", [*STEPS, 0.2, -0.2])
def test_single_precision_loses_nothing(draw, step, shift):
    p, n = draw((256,), 255, scale=5.0, dtype=torch.float32)
    p, n = (p + shift).requires_grad_(), (n + shift).requires_grad_()
    p64, n64 = (scores.detach().double().requires_grad_() for scores in (p, n))
    single, double = rmlcpc(p, n, ALPHA, 1 + step), rmlcpc(p64, n64, ALPHA, 1 + step)
    rounding = torch.finfo(torch.float32).eps * n.detach().abs().max().item()
    assert abs(single.item() - double.item()) < 4 * rounding
    torch.testing.assert_close(
        torch.autograd.grad(single, (p, n)), torch.autograd.grad(double, (p64, n64)), check_dtype=False, rtol=1e-3,
        atol=1e-7,
    )  # fmt: skip


def both_sides(p, n, below, above):
    for gamma in (below, above):
        p_, n_ = p.clone().requires_grad_(), n.clone().requires_grad_()
        value = rmlcpc(p_, n_, ALPHA, gamma)
        yield value.detach(), *torch.autograd.grad(value, (p_, n_))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("edge", [1 + functional._NEAR_ONE, 1 - functional._NEAR_ONE])
def test_continuous_at_the_edge_of_the_neighbourhood(draw, edge, dtype):
    p, n = draw((32,), 31, dtype=dtype)
    below, above = both_sides(p, n, math.nextafter(edge, 0), math.nextafter(edge, 2))
    tolerance = 8 * torch.finfo(dtype).eps
    torch.testing.assert_close(below, above, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("step", [0.2, -0.2])
def test_continuous_at_the_largest_centred_exponent(draw, step, dtype):
    p, n = draw((32,), 31, dtype=dtype)
    # One outlier brings the largest exponent, step * (p - mean p), to its limit.
    others = p[1:].mean()
    p[0] = others + functional._CENTRED_MAX / step * 32 / 31
    relative = 64 * torch.finfo(dtype).eps
    below, above = both_sides(p, n, 1 + step * (1 - relative), 1 + step * (1 + relative))
    torch.testing.assert_close(below, above, rtol=1e4 * relative, atol=1e3 * relative)


def test_both_forms_are_the_equation_around_the_largest_exponent(draw, loop):
    p, n = draw((8,), 7)
    for outlier in torch.linspace(20, 45, 26):
        p[0] = p[1:].mean() + outlier / 0.2
        assert rmlcpc(p, n, ALPHA, 1.2).item() == pytest.approx(loop("rmlcpc", p, n, alpha=ALPHA, gamma=1.2), rel=1e-12)
