"""Hard negatives against a loop over the equation, their limits and their floor."""

from math import exp, log
from statistics import fmean

import pytest
import torch

from lightning_renyicl.objectives import CPC, HCL, functional
from lightning_renyicl.objectives.hcl import hcl

TAU = 0.5


def cosines(*shape, seed=0):
    """Scores of cosines at temperature TAU."""
    generator = torch.Generator().manual_seed(seed)
    return (2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1) / TAU


def loop(p, n, hardness, prior):
    """The loss of the paper in direct form, times −1 and plus log(K + 1)."""
    terms = []
    for positive, negatives in zip(p.tolist(), n.tolist(), strict=True):
        k = len(negatives)
        weights = [exp(hardness * score) for score in negatives]
        mean = sum(w * exp(score) for w, score in zip(weights, negatives, strict=True)) / sum(weights)
        hard = max(k * (mean - prior * exp(positive)) / (1 - prior), k * exp(-1 / TAU))
        terms.append(log(exp(positive) / (exp(positive) + hard)) + log(k + 1))
    return fmean(terms)


@pytest.mark.parametrize(("hardness", "prior"), [(0.0, 0.0), (1.0, 0.0), (0.0, 0.1), (1.0, 0.1), (2.5, 0.6)])
def test_by_the_equation(hardness, prior):
    p, n = cosines(40), cosines(40, 7, seed=1)
    expected = loop(p, n, hardness, prior)
    assert hcl(p, n, hardness, prior, TAU).item() == pytest.approx(expected, rel=1e-12)
    pairs = hcl(p.view(20, 2), n.view(20, 2, 7), hardness, prior, TAU)  # each with negatives of its own
    assert pairs.item() == pytest.approx(expected, rel=1e-12)


def test_without_hardness_and_false_negatives_it_is_infonce():
    p, n = cosines(40).requires_grad_(), cosines(40, 7, seed=1).requires_grad_()
    found, expected = hcl(p, n, 0.0, 0.0, TAU), functional.cpc(p, n)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found, (p, n)), torch.autograd.grad(expected, (p, n)))
    online = list(torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    for same_view in (True, False):
        losses = [one(online, online)[0] for one in (HCL(0.0, 0.0, same_view=same_view), CPC(same_view=same_view))]
        torch.testing.assert_close(*losses)


def test_harder_means_nearer_to_the_hardest():
    p, n = cosines(40), cosines(40, 7, seed=1)
    values = [hcl(p, n, hardness, 0.0, TAU) for hardness in (0.0, 1.0, 4.0, 1e4)]
    assert values == sorted(values, reverse=True)
    hardest = n.max(-1).values
    expected = (p - torch.logaddexp(p, hardest + log(7)) + log(8)).mean()
    torch.testing.assert_close(values[-1], expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize("temperature", [1.0, 0.05, 0.01])
def test_at_the_floor_negatives_have_no_gradient(temperature):
    p = torch.tensor([1.0, 1.0], dtype=torch.float32).div(temperature).requires_grad_()
    n = torch.tensor([[-1.0, -0.9], [1.0, 0.9]]).div(temperature).requires_grad_()
    value = hcl(p, n, 1.0, 0.1, temperature)
    of_p, of_n = torch.autograd.grad(value, (p, n))
    assert value.isfinite()
    assert of_p.isfinite().all()
    assert of_n.isfinite().all()
    assert not of_n[0].any()  # more is taken away than there is
    assert of_n[1].any()


def test_where_nothing_is_left_gradients_are_finite():
    """Before, at and behind the point where all that hard negatives have is taken away."""
    scores = torch.linspace(-1e-6, 1e-6, 201).add(log(10)).requires_grad_()
    gradient = torch.autograd.grad(hcl(scores, torch.zeros(201, 3), 1.0, 0.1, 20.0), scores)[0]
    assert gradient.isfinite().all()


def test_scores_that_are_not_finite_are_not_hidden():
    p, n = cosines(4), cosines(4, 3, seed=1)
    assert hcl(p, n.index_fill(0, torch.tensor([1]), torch.nan), 1.0, 0.1, TAU).isnan()


@pytest.mark.parametrize("hardness", [-0.1, float("inf"), float("nan")])
def test_hardness_out_of_range(hardness):
    for make in (lambda: HCL(hardness), lambda: hcl(cosines(2), cosines(2, 1), hardness, 0.1, TAU)):
        with pytest.raises(ValueError, match="hardness must be a finite number of at least 0, got"):
            make()


@pytest.mark.parametrize("prior", [-0.1, 1.0, float("nan")])
def test_prior_out_of_range(prior):
    for make in (lambda: HCL(1.0, prior), lambda: hcl(cosines(2), cosines(2, 1), 1.0, prior, TAU)):
        with pytest.raises(ValueError, match=r"prior must be in \[0, 1\), got"):
            make()


def test_shapes():
    with pytest.raises(ValueError, match="expected positives"):
        hcl(cosines(3), cosines(2, 3), 1.0, 0.1, TAU)
