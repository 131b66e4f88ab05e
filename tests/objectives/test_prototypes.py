"""Sinkhorn's marginals, and prototypes on the sphere."""

from __future__ import annotations

import pytest
import torch

from lightning_renyicl.objectives import DINO, SwAV
from lightning_renyicl.objectives.prototypes import Prototypes, sinkhorn


def scores(samples=8, count=5):
    return torch.rand(samples, count, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 2 - 1


@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_many_iterations_reach_both_marginals(epsilon):
    found = sinkhorn(scores(), epsilon, 2000, None)
    torch.testing.assert_close(found.sum(1), torch.ones(8, dtype=torch.float64))
    torch.testing.assert_close(found.sum(0), torch.full((5,), 8 / 5, dtype=torch.float64))


@pytest.mark.parametrize("iterations", [1, 3])
def test_against_the_direct_form(iterations):
    """Rows and columns of exp(S / epsilon) divided by their sums in turn, Q [K, N] as the paper has it."""
    q = (scores() / 0.3).exp().T
    q /= q.sum()
    for _ in range(iterations):
        q /= q.sum(1, keepdim=True) * q.shape[0]
        q /= q.sum(0, keepdim=True) * q.shape[1]
    torch.testing.assert_close(sinkhorn(scores(), 0.3, iterations, None), q.T * q.shape[1], rtol=1e-12, atol=1e-12)


def test_scores_far_beyond_what_an_exponential_holds():
    found = sinkhorn(scores().float(), 1e-4, 3, None)
    assert found.isfinite().all()
    torch.testing.assert_close(found.sum(1), torch.ones(8))


def test_assignments_get_no_gradient():
    assert not sinkhorn(scores().requires_grad_(), 0.1, 3, None).requires_grad


def test_prototypes_are_of_length_one_and_scores_are_cosines():
    prototypes = Prototypes(7, 3)
    z = torch.randn(4, 3)
    expected = torch.cosine_similarity(z[:, None], prototypes.weight[None], dim=-1)
    torch.testing.assert_close(prototypes(z), expected)
    with torch.no_grad():
        prototypes.weight.mul_(torch.rand(7, 1) + 0.5)
    prototypes.renormalise()
    torch.testing.assert_close(prototypes.weight.norm(dim=1), torch.ones(7))
    torch.testing.assert_close(prototypes(z), expected)
    assert prototypes.weight.requires_grad


@pytest.mark.parametrize("objective", [SwAV(prototypes=50), DINO(prototypes=50)], ids=lambda one: type(one).__name__)
def test_local_views_share_their_assignment(objective):
    """At 65,536 prototypes and batches of 512 each copy would keep 128 MiB for the gradient."""
    samples, width, local = 7, 5, 6
    objective.build(width, 0)
    views = list(torch.randn(2 + local, samples, width, requires_grad=True).unbind())
    kept = {}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor  # which lives on, so that no other gets its place
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        objective(views, [view.detach() for view in views[:2]])
    large = [tensor for tensor in kept.values() if tensor.shape == (samples, 50)]
    assert len(large) <= len(views) + 3  # each view's own prediction, the two assignments and their sum
