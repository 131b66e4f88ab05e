"""MoCo by a loop, and without a queue."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from lightning_renyicl.objectives import CPC, MoCo


@pytest.fixture
def embeddings():
    generator = torch.Generator().manual_seed(0)
    online, target = torch.randn(2, 4, 6, 3, generator=generator, dtype=torch.float64)
    return [view.requires_grad_() for view in online], list(target[:2])


def built(queue, **arguments):
    objective = MoCo(queue, **arguments)
    objective.build(3, 0)
    return objective.double()


def looped(queries, keys, rows, temperature):
    """The cross-entropy of each query's own key among all keys of the batch and the queue, less a constant."""
    keys = [*(F.normalize(key, dim=0) for key in keys), *rows]
    loss = 0.0
    for i, query in enumerate(queries):
        scores = [F.normalize(query, dim=0) @ key / temperature for key in keys]
        loss += (sum(score.exp() for score in scores)).log() - scores[i]
    return loss / len(queries) - math.log(len(keys))


@pytest.mark.parametrize("queue", [1, 4, 10])
def test_against_a_loop(embeddings, queue):
    online, target = embeddings
    objective = built(queue, temperature=0.3)
    for step in range(3):
        rows = objective.queue.rows.clone()
        keys = target[1].roll(step, 1)
        loss, _ = objective(online[:2], [target[0], keys])
        expected = looped(online[0], keys, rows, 0.3)
        torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
        found = [torch.autograd.grad(one, online[0])[0] for one in (loss, expected)]
        torch.testing.assert_close(*found, rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(objective.queue.rows[:6], F.normalize(keys, dim=1)[:queue])


@pytest.mark.parametrize("views", [2, 4])
def test_an_empty_queue_is_cpc_in_one_direction(embeddings, views):
    online, target = embeddings
    loss, logs = built(0, temperature=0.3)(online[:views], target)
    expected, expected_logs = CPC(None, temperature=0.3, symmetric=False)(online[:views], target)
    assert torch.equal(loss, expected)
    assert {**logs} == {**expected_logs}


def test_local_views_are_queries_too(embeddings):
    online, target = embeddings
    rows = built(5).queue.rows
    loss, _ = built(5, temperature=0.3)(online, target)
    expected = sum(looped(view, target[1], rows, 0.3) for v, view in enumerate(online) if v != 1) / 3
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)


def test_needs_a_momentum_encoder():
    assert MoCo.needs_momentum
