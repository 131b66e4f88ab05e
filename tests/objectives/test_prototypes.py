"""Sinkhorn's marginals, and prototypes on the sphere."""

from __future__ import annotations

import pytest
import torch

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
