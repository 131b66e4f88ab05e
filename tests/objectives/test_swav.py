"""SwAV's gradient, its queue and its frozen prototypes; its value is compared with lightly's."""

from __future__ import annotations

import math

import pytest
import torch

from lightning_renyicl.objectives import Context, SwAV


def built(**arguments):
    torch.manual_seed(0)
    objective = SwAV(prototypes=6, **arguments)
    objective.build(3, 0)
    return objective.double()


@pytest.fixture
def views():
    generator = torch.Generator().manual_seed(0)
    return [view.requires_grad_() for view in torch.randn(4, 5, 3, generator=generator, dtype=torch.float64)]


def test_gradients_where_assignments_are_held(views):
    objective = built()
    loss, _ = objective(views, views[:2])
    parts = [*views, objective.prototypes.weight]
    expected = torch.autograd.grad(loss, parts)
    held = objective.assignments(views[:2], None)
    objective.assignments = lambda *_: held
    assert torch.autograd.gradcheck(lambda *_: objective(views, views[:2])[0], parts)
    torch.testing.assert_close(torch.autograd.grad(objective(views, views[:2])[0], parts), expected)


def test_a_queue_is_used_when_it_is_full(views):
    objective, other = built(queue=8, queue_epochs=2), built()
    targets = views[:2]

    def losses(epoch):
        return [one(views, targets, Context(epoch=epoch))[0].item() for one in (objective, other)]

    for epoch, full in ((0.0, False), (1.9, False), (2.0, False), (2.1, False), (2.2, True)):
        assert all(queue.full == full for queue in objective.queues)
        first, second = losses(epoch)
        assert (first == second) == (not full)
    assert [queue.pushed for queue in objective.queues] == [15, 15]
    for queue, view in zip(objective.queues, targets, strict=True):
        torch.testing.assert_close(queue.rows[:5], torch.nn.functional.normalize(view, dim=1).detach())


def test_prototypes_stay_until_they_are_free_and_then_on_the_sphere(views):
    objective = built(freeze_epochs=1.5)
    optimizer = torch.optim.SGD(objective.parameters(), lr=0.5, momentum=0.9, weight_decay=0.1)
    before = objective.prototypes.weight.detach().clone()
    for epoch in (0.0, 1.0, 1.4, 1.5):
        assert torch.equal(objective.prototypes.weight, before)
        optimizer.zero_grad()
        objective(views, views[:2])[0].backward()
        assert objective.prototypes.weight.grad is not None
        objective.before_step(epoch)
        optimizer.step()
        objective.after_step(None)
    assert (objective.prototypes.weight - before).abs().max() > 1e-3
    torch.testing.assert_close(objective.prototypes.weight.norm(dim=1), torch.ones(6, dtype=torch.float64))


def test_entropy_of_assignments(views):
    """By its definition, and all prototypes alike as the limit."""
    objective = built(epsilon=0.5)
    q = torch.stack(objective.assignments(views[:2], None))
    expected = -(q * q.log()).sum(-1).mean()
    torch.testing.assert_close(objective(views, views[:2])[1]["assignment_entropy"], expected)
    entropy = built(epsilon=1e5)(views, views[:2])[1]["assignment_entropy"]
    assert entropy.item() == pytest.approx(math.log(6))


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("prototypes", 1, "prototypes must be at least 2, got 1"),
        ("epsilon", 0.0, "epsilon must be a finite number above 0, got 0.0"),
        ("temperature", float("inf"), "temperature must be a finite number above 0, got inf"),
        ("iterations", 0, "iterations must be at least 1, got 0"),
        ("queue_epochs", -1.0, "queue_epochs must be at least 0, got -1.0"),
        ("freeze_epochs", float("nan"), "freeze_epochs must be at least 0, got nan"),
    ],
)
def test_arguments_out_of_range(argument, value, message):
    with pytest.raises(ValueError, match=message):
        SwAV(**{argument: value})
