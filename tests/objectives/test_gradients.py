"""Gradients of every bound by finite differences, and their finiteness where a weight vanishes."""

import torch


def test_gradcheck(bound, draw):
    p, n = (scores.requires_grad_() for scores in draw((3, 2), 2))
    assert torch.autograd.gradcheck(bound, (p, n))


def test_both_sides_are_in_the_graph_with_finite_gradients(bound, draw):
    p, n = (scores.requires_grad_() for scores in draw((4, 2), 3, dtype=torch.float32))
    bound(p, n).backward()
    assert p.grad.isfinite().all()
    assert n.grad.isfinite().all()
    # With the whole weight on one side the other side's gradient is 0, and only there.
    whole = bound.alpha(3) == 1
    assert bool(n.grad.any()) != whole
    # The gradient of p vanishes by hand in one case: p - log e^p of each anchor.
    assert bool((p.grad.abs() > 1e-6).any()) != (whole and bound.row.normalises_per_anchor)
