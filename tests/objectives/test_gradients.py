"""Gradients of every bound by finite differences, and their finiteness where a weight vanishes."""

import pytest
import torch


@pytest.mark.parametrize("shape", [(4,), (3, 2)], ids=str)
def test_gradcheck(bound, draw, shape):
    p, n = (scores.requires_grad_() for scores in draw(shape, 3))
    assert torch.autograd.gradcheck(bound, (p, n))


def test_both_sides_are_in_the_graph_with_finite_gradients(bound, draw):
    p, n = (scores.requires_grad_() for scores in draw((4, 2), 3, dtype=torch.float32))
    bound(p, n).backward()
    assert p.grad.isfinite().all()
    assert n.grad.isfinite().all()
    options = dict(bound.options)
    # With the whole weight on one side the other side's gradient is 0, and only there.
    assert bool(n.grad.any()) == (options.get("alpha") != 1.0)
    # The gradient of p vanishes by hand in one case: p - log e^p.
    assert bool((p.grad.abs() > 1e-6).any()) == (bound.name != "cpc" or options["alpha"] != 1.0)
