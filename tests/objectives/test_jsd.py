"""The Jensen-Shannon bound: the equation, its best critic and what is read off it."""

from itertools import chain
from math import exp, log, log1p
from statistics import fmean

import pytest
import torch
from scipy.spatial.distance import jensenshannon

from lightning_renyicl.objectives import JSD
from lightning_renyicl.objectives.jsd import jsd

JOINT = torch.tensor([[0.30, 0.05, 0.02], [0.04, 0.25, 0.06], [0.10, 0.03, 0.15]], dtype=torch.float64)
PRODUCT = JOINT.sum(1, keepdim=True) * JOINT.sum(0)


def samples(scores):
    """Scores of pairs, every cell of JOINT 100 times its probability and every one of PRODUCT 10,000 times."""
    p = scores.flatten().repeat_interleave((JOINT.flatten() * 100).round().long())
    n = scores.flatten().repeat_interleave((PRODUCT.flatten() * 10000).round().long())
    return p, n.expand(len(p), -1)


def test_by_the_equation():
    generator = torch.Generator().manual_seed(0)
    p, n = (3 * torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((5, 2), (5, 2, 3)))
    positive = fmean(log(2) - log1p(exp(-f)) for f in chain(*p.tolist()))
    negative = fmean(log1p(exp(f)) - log(2) for f in chain(*chain(*n.tolist())))
    assert jsd(p, n).item() == pytest.approx(positive - negative, rel=1e-12)


def test_the_best_critic_of_discrete_pairs_tells_the_divergence_and_the_ratio():
    best = (JOINT / PRODUCT).log().requires_grad_()
    bound = jsd(*samples(best))
    (gradient,) = torch.autograd.grad(bound, best)
    torch.testing.assert_close(gradient, torch.zeros_like(best), rtol=0, atol=1e-14)
    divergence = jensenshannon(JOINT.flatten().numpy(), PRODUCT.flatten().numpy()) ** 2
    assert bound.item() == pytest.approx(2 * divergence, rel=1e-12)
    for seed in range(5):
        step = 0.1 * torch.randn(3, 3, generator=torch.Generator().manual_seed(seed))
        assert jsd(*samples(best + step)) < bound
    read = JSD().log_ratios(*samples(best.detach()), None)
    information = (JOINT * best).sum().detach()
    for ratios in read.values():
        torch.testing.assert_close(ratios.mean(), information)


@pytest.mark.parametrize("size", [0.0, 30.0, 1000.0])
def test_scores_of_any_size(size):
    p, n = torch.full((3,), size).requires_grad_(), torch.full((3, 2), -size)
    bound = jsd(p, n)
    assert bound.item() == pytest.approx(0.0 if size == 0 else 2 * log(2))
    assert torch.autograd.grad(bound, p)[0].isfinite().all()


def test_read_outs_against_loops():
    """The score itself, and that of SMILE, whose negative scores are clipped."""
    generator = torch.Generator().manual_seed(0)
    p, n = (8 * torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((5,), (5, 4)))
    read = JSD().log_ratios(p, n, None)
    assert list(read) == ["by_critic", "by_batch"]
    assert torch.equal(read["by_critic"], p)
    assert (n.abs() > 5).any()
    clipped = [exp(min(max(f, -5.0), 5.0)) for f in chain(*n.tolist())]
    assert read["by_batch"].mean().item() == pytest.approx(fmean(p.tolist()) - log(fmean(clipped)), rel=1e-12)


def test_shapes():
    with pytest.raises(ValueError, match="expected positives"):
        jsd(torch.zeros(3), torch.zeros(2, 3))
