"""CLSA by a loop, and without its strong views."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from lightning_renyicl.objectives import CLSA, MoCo


@pytest.fixture
def embeddings():
    generator = torch.Generator().manual_seed(0)
    online, target = torch.randn(2, 4, 6, 3, generator=generator, dtype=torch.float64)
    return [view.requires_grad_() for view in online], list(target[:2])


def built(kind, **arguments):
    objective = kind(queue=5, temperature=0.3, **arguments)
    objective.build(3, 0)
    return objective.double()


@pytest.mark.parametrize("views", [3, 4])
def test_against_a_loop(embeddings, views):
    online, target = embeddings
    online = online[:views]
    objective, moco = built(CLSA, weight=0.7), built(MoCo)
    for _ in range(2):
        keys = [*(F.normalize(key, dim=0) for key in target[1]), *objective.queue.rows]

        def scores(query, keys=keys):
            return torch.stack([F.normalize(query, dim=0) @ key / 0.3 for key in keys])

        terms = []
        for strong in online[2:]:
            for x, s in zip(online[0], strong, strict=True):
                terms.append(-(scores(x).detach().softmax(0) * scores(s).log_softmax(0)).sum())
        divergence = sum(terms) / len(terms)
        expected = moco(online[:2], target)[0] + 0.7 * divergence
        loss, logs = objective(online, target)
        torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(logs["strong_cross_entropy"], divergence.detach(), rtol=1e-12, atol=1e-12)
        parts = [online[0], *online[2:]]
        found = [torch.autograd.grad(one, parts) for one in (loss, expected)]
        torch.testing.assert_close(*found, rtol=1e-10, atol=1e-12)
        assert torch.equal(objective.queue.rows, moco.queue.rows)


def test_without_weight_it_is_moco(embeddings):
    online, target = embeddings
    assert torch.equal(built(CLSA, weight=0.0)(online, target)[0], built(MoCo)(online[:2], target)[0])


def test_two_views(embeddings):
    online, target = embeddings
    assert (CLSA.views, CLSA.needs_momentum) == (3, True)
    with pytest.raises(ValueError, match=r"CLSA contrasts at least 3 views.*got 2"):
        built(CLSA)(online[:2], target)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_weight_out_of_range(weight):
    with pytest.raises(ValueError, match="weight must be a finite number of at least 0"):
        CLSA(weight)
