"""The newest embeddings come first, the oldest go."""

from __future__ import annotations

import pytest
import torch

from lightning_renyicl.objectives import CLSA, NNCLR, MoCo, SwAV
from lightning_renyicl.objectives.queue import Queue, rows_of_queues


def embeddings(samples, seed=0):
    x = torch.randn(samples, 3, generator=torch.Generator().manual_seed(seed))
    return x, torch.nn.functional.normalize(x, dim=1)


def test_starts_with_random_directions_that_are_the_same_everywhere():
    torch.manual_seed(0)
    queue = Queue(500, 3)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    assert torch.equal(queue.rows, Queue(500, 3).rows)
    assert torch.equal(state, torch.get_rng_state())
    torch.testing.assert_close(queue.rows.norm(dim=1), torch.ones(500))
    assert queue.rows.mean(0).norm() < 0.1


@pytest.mark.parametrize("length", [0, 1, 4, 5, 6, 20])
def test_keeps_the_newest(length):
    queue = Queue(length, 3)
    start = queue.rows.clone()
    batches = [embeddings(5, seed) for seed in range(3)]
    for pushed, (x, _) in enumerate(batches):
        assert queue.full == (5 * pushed >= length)
        queue.push(x)
    expected = torch.cat([*(unit for _, unit in reversed(batches)), start])[:length]
    torch.testing.assert_close(queue.rows, expected)


def test_embeddings_that_are_not_finite_are_left_out_and_the_next_are_not():
    queue = Queue(4, 3)
    start = queue.rows.clone()
    x, unit = embeddings(2)
    queue.push(x.index_fill(0, torch.tensor([1]), torch.inf))
    assert torch.equal(queue.rows, start)
    queue.push(x)
    torch.testing.assert_close(queue.rows, torch.cat([unit, start[:2]]))


def test_gradients_of_a_loss_of_earlier_rows():
    queue = Queue(4, 3)
    x = embeddings(2)[0].requires_grad_()
    loss = (x @ queue.rows.T).square().sum()
    expected = torch.autograd.grad(loss, x, retain_graph=True)
    queue.push(x)
    assert not queue.rows.requires_grad
    assert torch.equal(torch.autograd.grad(loss, x)[0], expected[0])


def test_state():
    queue, other = Queue(4, 3), Queue(4, 3)
    queue.push(embeddings(5)[0])
    assert set(queue.state_dict()) == {"rows", "_extra_state"}
    other.load_state_dict(queue.state_dict())
    assert (other.pushed, other.full) == (5, True)
    assert torch.equal(other.rows, queue.rows)


@pytest.mark.parametrize(
    ("objective", "names"),
    [
        (MoCo(4), ["queue.rows"]),
        (CLSA(queue=4), ["queue.rows"]),
        (NNCLR(4), ["queue.rows"]),
        (SwAV(queue=4), ["queues.0.rows", "queues.1.rows"]),
        (SwAV(), []),
    ],
)
def test_names_of_rows(objective, names):
    objective.build(3, 0)
    assert rows_of_queues(objective) == names
    assert set(names) <= set(dict(objective.named_buffers()))


@pytest.mark.parametrize(("make", "least"), [(MoCo, 0), (CLSA, 0), (NNCLR, 1), (SwAV, 0)])
def test_too_short(make, least):
    with pytest.raises(ValueError, match=f"queue must be at least {least} embeddings long, got {least - 1}"):
        make(queue=least - 1)
