"""Robust InfoNCE against a loop over the equation and its limits."""

from math import exp, log
from statistics import fmean

import pytest
import torch

from lightning_renyicl.objectives import RINCE, functional
from lightning_renyicl.objectives.rince import rince


def draw(dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    p, n = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((40,), (40, 7)))
    return p.to(dtype), n.to(dtype)


def loop(p, n, q, weight):
    """Minus the loss of the paper."""
    rows = zip(p.tolist(), n.tolist(), strict=True)
    sums = [(exp(positive), sum(map(exp, negatives))) for positive, negatives in rows]
    return fmean(positive**q / q - (weight * (positive + rest)) ** q / q for positive, rest in sums)


@pytest.mark.parametrize("q", [0.1, 0.6, 1.0])
@pytest.mark.parametrize("weight", [0.01, 0.5, 1.0])
def test_by_the_equation(q, weight):
    p, n = draw()
    assert rince(p, n, q, weight).item() == pytest.approx(loop(p, n, q, weight), rel=1e-12)
    pairs = rince(p.view(20, 2), n.view(20, 2, 7), q, weight)
    assert pairs.item() == pytest.approx(loop(p, n, q, weight), rel=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-7), (torch.float32, 1e-5)])
def test_as_q_falls_it_becomes_infonce(dtype, tolerance):
    p, n = (scores.requires_grad_() for scores in draw(dtype))
    found, expected = rince(p, n, 1e-9, 0.01), functional.cpc(p, n) - log(8) - log(0.01)
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
    gradients = [torch.autograd.grad(value, (p, n)) for value in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=tolerance, atol=tolerance)


def test_at_q_1_exponentials_are_averaged():
    """The loss that is linear in exponentials, most robust to false pairs."""
    p, n = draw()
    weight = 0.25
    expected = p.exp().mean() - weight * (p.exp() + n.exp().sum(-1)).mean()
    torch.testing.assert_close(rince(p, n, 1.0, weight), expected)


@pytest.mark.parametrize(("q", "temperature"), [(1.0, 0.0126), (0.1, 0.0013), (0.6, 0.1)])
def test_finite_up_to_the_temperature_that_is_refused(q, temperature):
    online = [torch.eye(4).requires_grad_(), torch.eye(4)]
    loss, _ = RINCE(q, temperature=temperature)(online, online)
    assert loss.isfinite()
    assert torch.autograd.grad(loss, online[0])[0].isfinite().all()


@pytest.mark.parametrize(("q", "temperature"), [(1.0, 0.0125), (0.1, 0.00125), (0.5, 0.005)])
def test_a_temperature_at_which_exponentials_overflow(q, temperature):
    with pytest.raises(ValueError, match=rf"q / temperature, .* below 80, got {q} / {temperature}: raise"):
        RINCE(q, temperature=temperature)


@pytest.mark.parametrize("value", [0.0, -0.5, 1.1, float("nan")])
@pytest.mark.parametrize("name", ["q", "weight"])
def test_out_of_range(name, value):
    for make in (lambda: RINCE(**{name: value}), lambda: rince(*draw(), **{"q": 0.1, "weight": 0.1, name: value})):
        with pytest.raises(ValueError, match=rf"{name} must be in \(0, 1\], got"):
            make()


def test_shapes():
    p, n = draw()
    with pytest.raises(ValueError, match="expected positives"):
        rince(p[1:], n, 0.1, 0.01)
