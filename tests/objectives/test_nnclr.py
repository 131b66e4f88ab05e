"""NNCLR by a loop, and with the batch itself in its queue."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from lightning_renyicl.objectives import CPC, NNCLR


@pytest.fixture
def embeddings():
    generator = torch.Generator().manual_seed(0)
    online, target = torch.randn(2, 2, 6, 3, generator=generator, dtype=torch.float64)
    return [view.requires_grad_() for view in online], [view.requires_grad_() for view in target]


def built(queue):
    objective = NNCLR(queue, temperature=0.3)
    objective.build(3, 0)
    return objective.double()


def test_the_batch_itself_is_cpc_of_swapped_roles(embeddings):
    online, target = embeddings
    objective = built(12)
    for view in target:
        objective.queue.push(view)
    found, _ = objective(online, target)
    expected, _ = CPC(None, temperature=0.3)([view.detach() for view in target], online)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    gradients = [torch.autograd.grad(loss, online) for loss in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-12)


def test_against_a_loop(embeddings):
    online, target = embeddings
    objective = built(9)
    for _ in range(2):
        rows = objective.queue.rows.clone()
        expected = 0.0
        for t in range(2):
            keys = [F.normalize(key, dim=0) for key in online[1 - t]]
            for i, z in enumerate(target[t].detach()):
                anchor = F.normalize(max(rows, key=lambda row, z=z: float(row @ z)), dim=0)
                scores = torch.stack([anchor @ key / 0.3 for key in keys])
                expected += (scores.logsumexp(0) - scores[i]) / 6
        found, _ = objective(online, target)
        torch.testing.assert_close(found, expected - 2 * torch.tensor(6.0).double().log(), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(objective.queue.rows[:6], F.normalize(target[1], dim=1).detach())


def test_targets_get_no_gradient(embeddings):
    online, target = embeddings
    built(9)(online, target)[0].backward()
    assert all(view.grad is not None for view in online)
    assert all(view.grad is None for view in target)


def test_more_than_two_views(embeddings):
    online, target = embeddings
    with pytest.raises(ValueError, match="NNCLR compares two views, got 4"):
        built(4)([*online, *online], target)
