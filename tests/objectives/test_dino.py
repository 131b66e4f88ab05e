"""DINO's centre, teacher and phases; its value is compared with lightly's."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from lightning_renyicl.objectives import DINO, Context


def built(**arguments):
    torch.manual_seed(0)
    objective = DINO(prototypes=6, **arguments)
    objective.build(3, 0)
    return objective.double()


@pytest.fixture
def embeddings():
    generator = torch.Generator().manual_seed(0)
    online, target = torch.randn(2, 4, 5, 3, generator=generator, dtype=torch.float64)
    return [view.requires_grad_() for view in online], list(target[:2])


def test_against_a_loop(embeddings):
    """Loss and centre over three steps in which the teacher moves."""
    online, target = embeddings
    objective = built(temperature=0.2, teacher_temperature=0.1, teacher_start=0.1, centre_momentum=0.7)
    centre = torch.zeros(6, dtype=torch.float64)
    for step in range(3):
        student, teacher = (F.normalize(w, dim=1).detach() for w in (objective.prototypes.weight, objective.teacher))
        taught = [view + step for view in target]
        expected, seen = [], []
        for t, global_view in enumerate(taught):
            for v, view in enumerate(online):
                for z, x in zip(global_view, view, strict=True):
                    scores = teacher @ F.normalize(z, dim=0)
                    p = ((scores - centre) / 0.1).softmax(0)
                    if v == 0:
                        seen.append(scores)
                    if v != t:
                        expected.append(-sum(p * (student @ F.normalize(x, dim=0) / 0.2).log_softmax(0)))
        loss, _ = objective(online, taught)
        torch.testing.assert_close(loss, sum(expected) / len(expected), rtol=1e-12, atol=1e-12)
        centre = 0.7 * centre + 0.3 * sum(seen) / len(seen)
        torch.testing.assert_close(objective.centre, centre, rtol=1e-12, atol=1e-12)
        with torch.no_grad():
            objective.prototypes.weight.add_(torch.randn_like(objective.prototypes.weight))
        followed = 0.9 * objective.teacher + 0.1 * objective.prototypes.weight
        objective.after_step(0.9)
        torch.testing.assert_close(objective.teacher, followed, rtol=1e-12, atol=1e-12)


def test_the_teacher_starts_as_the_student_and_is_not_trained(embeddings):
    online, target = embeddings
    objective = built()
    assert torch.equal(objective.teacher, objective.prototypes.weight)
    objective(online, target)[0].backward()
    assert objective.teacher.grad is None
    assert not objective.teacher.requires_grad
    objective.after_step(1.0)
    with torch.no_grad():
        objective.prototypes.weight.mul_(2)
    objective.after_step(0.0)
    assert torch.equal(objective.teacher, objective.prototypes.weight)


def test_the_length_of_prototypes_changes_nothing(embeddings):
    first, second = built(), built()
    with torch.no_grad():
        second.prototypes.weight.mul_(torch.rand(6, 1) + 0.5)
    torch.testing.assert_close(first(*embeddings)[0], second(*embeddings)[0])


def test_the_teacher_warms_up():
    objective = built(teacher_start=0.04, teacher_temperature=0.07, warmup_epochs=30)
    found = [objective.teacher_temperature_at(epoch) for epoch in (0, 10, 15.5, 30, 300)]
    assert found == pytest.approx([0.04, 0.05, 0.0555, 0.07, 0.07])
    assert built(teacher_start=0.04, teacher_temperature=0.07).teacher_temperature_at(0) == pytest.approx(0.07)


def test_the_temperature_is_that_of_the_epoch(embeddings):
    warming = built(teacher_start=0.04, teacher_temperature=0.4, warmup_epochs=10)
    expected = built(teacher_start=0.22, teacher_temperature=0.22)(*embeddings)[0]
    torch.testing.assert_close(warming(*embeddings, Context(epoch=5.0))[0], expected)


def test_prototypes_stay_until_they_are_free(embeddings):
    objective = built(freeze_epochs=1.5)
    trained = [p for p in objective.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.5, momentum=0.9, weight_decay=0.1)
    before = objective.prototypes.weight.detach().clone()
    for epoch in (0.0, 1.4, 1.5):
        assert torch.equal(objective.prototypes.weight, before)
        assert torch.equal(objective.teacher, before)
        optimizer.zero_grad()
        objective(*embeddings)[0].backward()
        objective.before_step(epoch)
        optimizer.step()
        objective.after_step(0.5)
    moved = objective.prototypes.weight - before
    assert moved.abs().max() > 1e-3
    torch.testing.assert_close(objective.teacher - before, moved / 2)


def test_entropy_of_the_teacher(embeddings):
    online, target = embeddings
    for temperature, limit in ((1e-6, 0.0), (1e6, math.log(6))):
        objective = built(teacher_start=temperature, teacher_temperature=temperature)
        assert objective(online, target)[1]["teacher_entropy"].item() == pytest.approx(limit, abs=1e-6)


def test_without_a_momentum_encoder():
    assert DINO.needs_momentum
    with pytest.raises(ValueError, match="DINO needs a momentum encoder"):
        built().after_step(None)


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("prototypes", 1, "prototypes must be at least 2, got 1"),
        ("temperature", 0.0, "temperature must be a finite number above 0, got 0.0"),
        ("teacher_temperature", -1.0, "teacher_temperature must be a finite number above 0, got -1.0"),
        ("teacher_start", float("nan"), "teacher_start must be a finite number above 0, got nan"),
        ("warmup_epochs", -1.0, "warmup_epochs must be a finite number of at least 0, got -1.0"),
        ("centre_momentum", 1.1, r"centre_momentum must be in \[0, 1\], got 1.1"),
        ("freeze_epochs", -1.0, "freeze_epochs must be at least 0, got -1.0"),
    ],
)
def test_arguments_out_of_range(argument, value, message):
    with pytest.raises(ValueError, match=message):
        DINO(**{argument: value})
