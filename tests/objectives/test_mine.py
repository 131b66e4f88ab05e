"""MINE: the value of DV, the gradient of its surrogate, and the average over steps."""

from math import exp, log
from statistics import fmean

import pytest
import torch

from lightning_renyicl.objectives import DV, MINE, functional
from lightning_renyicl.objectives.mine import mine

RATE = 0.3


def draw(seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    p, n = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((6,), (6, 5)))
    return p.to(dtype), n.to(dtype)


def test_the_value_is_that_of_dv_and_the_gradient_that_of_the_surrogate():
    p, n = (scores.requires_grad_() for scores in draw())
    average = torch.tensor(log(3.0), dtype=torch.float64)
    bound = mine(p, n, average)
    torch.testing.assert_close(bound, functional.dv(p, n))
    surrogate = p.mean() - n.exp().mean() / 3.0
    found, expected = (torch.autograd.grad(value, (p, n)) for value in (bound, surrogate))
    torch.testing.assert_close(found, expected)


def test_at_the_batchs_own_average_it_is_dv():
    p, n = (scores.requires_grad_() for scores in draw())
    values = mine(p, n, n.detach().exp().mean().log()), functional.dv(p, n)
    torch.testing.assert_close(*[torch.autograd.grad(value, (p, n)) for value in values])


def test_its_average_is_that_of_a_loop_over_steps():
    objective, average = MINE(RATE).double(), None
    for seed in range(6):
        p, n = draw(seed)
        newest = fmean(exp(score) for row in n.tolist() for score in row)
        average = newest if average is None else (1 - RATE) * average + RATE * newest
        n.requires_grad_()
        (gradient,) = torch.autograd.grad(objective.bound(p, n, None), n)
        assert objective.log_average.exp().item() == pytest.approx(average, rel=1e-12)
        torch.testing.assert_close(gradient, -n.detach().exp() / n.numel() / average)


def test_every_target_moves_it():
    """Two where a momentum encoder's are contrasted, one where both directions are the same."""
    generator = torch.Generator().manual_seed(0)
    online, target = (list(torch.randn(2, 6, 4, generator=generator, dtype=torch.float64)) for _ in range(2))
    for views in (target, online):
        objective = MINE(RATE).double()
        loss, _ = objective(online, views)
        torch.testing.assert_close(loss, DV()(online, views)[0])
        first, second = (objective.scores([online[1 - t]], views[t])[1].exp().mean() for t in (1, 0))
        expected = first if views is online else (1 - RATE) * first + RATE * second
        torch.testing.assert_close(objective.log_average.exp(), expected)


def test_at_rate_1_it_is_dv_in_every_step():
    objective = MINE(1.0).double()
    for seed in range(3):
        p, n = (scores.requires_grad_() for scores in draw(seed))
        values = objective.bound(p, n, None), functional.dv(p, n)
        torch.testing.assert_close(*values)
        torch.testing.assert_close(*[torch.autograd.grad(value, (p, n)) for value in values])


def test_its_gradient_is_less_biased_than_that_of_dv():
    """Of small batches: with the average of many, close to that with the mean of e^n of all."""
    generator = torch.Generator().manual_seed(0)
    noise = 1.5 * torch.randn(800, 2, 1, generator=generator, dtype=torch.float64)
    scale = torch.ones((), dtype=torch.float64, requires_grad=True)
    objective, p = MINE(0.01).double(), torch.zeros(2, dtype=torch.float64)
    gradients = [torch.autograd.grad(objective.bound(p, scale * n, None), scale)[0].item() for n in noise]
    truth = -(noise * noise.exp()).mean() / noise.exp().mean()
    of_dv = -(noise * noise.softmax(1)).sum(1).mean()
    assert abs(fmean(gradients) - truth) < abs(of_dv - truth) / 2


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@pytest.mark.parametrize("steps", [0, 2])
def test_what_is_not_finite_does_not_enter(value, steps):
    objective = MINE(RATE).double()
    for seed in range(steps):
        objective.bound(*draw(seed), None)
    before = objective.log_average.clone()
    p, n = draw(3)
    n[2, 1] = value
    assert not objective.bound(p, n, None).isfinite()
    assert torch.equal(objective.log_average, before)
    objective.bound(*draw(4), None)
    assert objective.log_average.isfinite()


@pytest.mark.parametrize("sign", [-1, 1])
def test_scores_beyond_the_range_of_exponentials(sign):
    """The average lies in a logarithm, and a sudden rise cannot pull more than 1 / rate times as much."""
    objective = MINE(0.01)
    for size in (0.0, 500.0):
        p, n = torch.zeros(4).requires_grad_(), torch.full((4, 3), sign * size).requires_grad_()
        bound = objective.bound(p, n, None)
        assert bound.item() == pytest.approx(-sign * size)
        gradient = torch.autograd.grad(bound, n)[0]
        assert gradient.isfinite().all()
        assert gradient.abs().sum() < 100.01
    assert objective.log_average.isfinite()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_of_half_precision(dtype):
    objective = MINE().to(dtype)
    with pytest.raises(ValueError, match=f"the average of MINE stands still in {dtype}: use a mixed precision or"):
        objective.bound(*draw(dtype=torch.float32), None)


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1, float("nan")])
def test_rate_out_of_range(rate):
    with pytest.raises(ValueError, match=r"rate must be in \(0, 1\], got"):
        MINE(rate)


def test_shapes():
    with pytest.raises(ValueError, match="expected positives"):
        mine(torch.zeros(3), torch.zeros(2, 3), torch.zeros(()))
