"""i-Mix by the two cross entropies of its authors' code, and at its extremes."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from lightning_renyicl.objectives import BYOL, CPC, Context, IMix, IMixBYOL, IMixMoCo, Mixing, MoCo

TAU = 0.3
MIXING = Mixing(torch.tensor([3, 1, 0, 5, 2, 4]), torch.tensor([0.5, 0.7, 1.0, 0.9, 0.6, 0.8], dtype=torch.float64))
CONTEXT = Context(mixing=MIXING)
WHOLE = Context(mixing=Mixing(MIXING.partner, torch.ones(6)))
"""Every sample with all of the weight."""


@pytest.fixture
def embeddings():
    generator = torch.Generator().manual_seed(0)
    online, target = torch.randn(2, 4, 6, 3, generator=generator, dtype=torch.float64)
    return [view.requires_grad_() for view in online], list(target[:2])


def with_queue(queue, kind=IMixMoCo):
    objective = kind(queue=queue, temperature=TAU)
    objective.build(3, 0)
    return objective.double()


def two_cross_entropies(queries, keys, rows, mixing=MIXING):
    """The authors' loss, less the constant by which a bound on mutual information differs from it."""
    keys = torch.cat([F.normalize(keys, dim=1), rows])
    logits = F.normalize(queries, dim=1) @ keys.T / TAU
    own, partners = (F.cross_entropy(logits, at, reduction="none") for at in (torch.arange(6), mixing.partner))
    return (mixing.weight * own + (1.0 - mixing.weight) * partners).mean() - math.log(len(keys))


def test_n_pair_is_two_cross_entropies(embeddings):
    online, _ = embeddings
    loss, logs = IMix(temperature=TAU)(online[:2], online[:2], CONTEXT)
    expected = two_cross_entropies(online[0], online[1], online[1].new_empty(0, 3))
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
    found = [torch.autograd.grad(one, online[:2]) for one in (loss, expected)]
    torch.testing.assert_close(*found, rtol=1e-10, atol=1e-12)
    assert logs["bound"].item() == -loss.item()
    assert "mutual_information" not in logs  # mixed queries are no samples of the views


@pytest.mark.parametrize("queue", [1, 10])
def test_moco_is_two_cross_entropies_with_the_queue(embeddings, queue):
    online, target = embeddings
    objective = with_queue(queue)
    for step in range(3):
        rows, keys = objective.queue.rows.clone(), target[1].roll(step, 1)
        loss, _ = objective(online[:2], [target[0], keys], CONTEXT)
        expected = two_cross_entropies(online[0], keys, rows)
        torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
        found = [torch.autograd.grad(one, online[0])[0] for one in (loss, expected)]
        torch.testing.assert_close(*found, rtol=1e-10, atol=1e-12)


def test_byol_against_a_loop(embeddings):
    online, target = embeddings
    loss, logs = IMixBYOL()(online[:2], target, CONTEXT)
    cosines = F.cosine_similarity(online[0][:, None], target[1], dim=-1)  # [N, N]
    expected = sum(
        2 - 2 * w * cosines[i, i] - 2 * (1 - w) * cosines[i, j]
        for i, (w, j) in enumerate(zip(MIXING.weight, MIXING.partner, strict=True))
    )
    torch.testing.assert_close(loss, expected / 6, rtol=1e-12, atol=1e-12)
    assert logs["cosine"].item() == pytest.approx(1 - loss.item() / 2)


def test_with_all_of_the_weight_it_is_the_method_that_is_mixed(embeddings):
    online, target = embeddings
    plain = CPC(None, temperature=TAU, symmetric=False)(online, target)[0]
    assert torch.equal(IMix(temperature=TAU)(online, target, WHOLE)[0], plain)
    assert torch.equal(with_queue(5)(online, target, WHOLE)[0], with_queue(5, MoCo)(online, target)[0])
    swapped = [view[:2][::-1] for view in (online, target)]
    both = sum(IMixBYOL()(*views, WHOLE)[0] for views in ((online[:2], target), swapped))
    torch.testing.assert_close(both, BYOL()(online[:2], target)[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("objective", [IMix(temperature=TAU), IMixBYOL()], ids=["npair", "byol"])
def test_local_views_are_queries_that_are_not_mixed(embeddings, objective):
    online, target = embeddings
    losses = [
        objective([online[v], online[1]], target, CONTEXT if v == 0 else WHOLE)[0] for v in range(len(online)) if v != 1
    ]
    torch.testing.assert_close(objective(online, target, CONTEXT)[0], sum(losses) / 3, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("objective", [IMix(), with_queue(3), IMixBYOL()], ids=["npair", "moco", "byol"])
def test_without_weights(embeddings, objective):
    online, target = embeddings
    before = {name: buffer.clone() for name, buffer in objective.named_buffers()}
    with pytest.raises(ValueError, match="i-Mix needs the weights and partners"):
        objective(online[:2], target)
    assert all(torch.equal(buffer, before[name]) for name, buffer in objective.named_buffers())


@pytest.mark.parametrize("kind", [IMix, IMixMoCo, IMixBYOL])
@pytest.mark.parametrize("mixing", [0.0, -1.0, math.inf, math.nan])
def test_concentration_out_of_range(kind, mixing):
    with pytest.raises(ValueError, match="mixing must be a finite number above 0, got"):
        kind(mixing)
