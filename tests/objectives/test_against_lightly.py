"""Losses equal those of lightly on one process; in one file, as importing lightly takes seconds."""

from __future__ import annotations

import math

import pytest
import torch

from lightning_renyicl.objectives import BYOL, CPC, DINO, BarlowTwins, Context, SwAV, VICReg

theirs = pytest.importorskip("lightly.loss")

SAMPLES, WIDTH = 12, 5


@pytest.fixture
def views():
    generator = torch.Generator().manual_seed(0)
    return [x.requires_grad_() for x in torch.randn(4, SAMPLES, WIDTH, generator=generator, dtype=torch.float64)]


def same(found, expected, views):
    """Values and gradients."""
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    grads = [torch.autograd.grad(loss, views) for loss in (found, expected)]
    torch.testing.assert_close(*grads, rtol=1e-8, atol=1e-9)


def unit(x):
    return torch.nn.functional.normalize(x, dim=-1)


def test_simclr(views):
    views = views[:2]
    found = CPC(None, temperature=0.3, same_view=True)(views, views)[0]
    constant = math.log(2 * (SAMPLES - 1) + 1)
    same(found / 2 + constant, theirs.NTXentLoss(temperature=0.3)(*views), views)


def test_dcl(views):
    views = views[:2]
    found = CPC(0.0, temperature=0.3, same_view=True)(views, views)[0]
    same(found / 2 + math.log(2 * (SAMPLES - 1)), theirs.DCLLoss(temperature=0.3)(*views), views)


def test_byol_and_simsiam(views):
    views, targets = views[:2], [view.detach() for view in views[2:]]
    loss = theirs.NegativeCosineSimilarity()
    expected = sum(2 + 2 * loss(views[v], targets[1 - v]) for v in range(2))
    same(BYOL()(views, targets)[0], expected, views)


@pytest.mark.parametrize("weight", [0.0051, 0.3])
def test_barlow_twins(views, weight):
    views = views[:2]
    same(BarlowTwins(weight)(views, views)[0], theirs.BarlowTwinsLoss(lambda_param=weight)(*views), views)


def test_vicreg(views):
    views = [0.5 * view for view in views[:2]]  # standard deviations on both sides of the hinge
    expected = theirs.VICRegLoss(lambda_param=3.0, mu_param=5.0, nu_param=2.0)(*views)
    same(VICReg(3.0, 5.0, 2.0)(views, views)[0], expected, views)


@pytest.mark.parametrize("local", [0, 2])
@pytest.mark.parametrize("queue", [0, 7])
def test_swav(views, queue, local):
    views = views[: 2 + local]
    objective = SwAV(prototypes=6, epsilon=0.3, iterations=3, temperature=0.2, queue=queue, queue_epochs=0)
    objective.build(WIDTH, 0)
    objective.double()
    parts = [*views, objective.prototypes.weight]
    earlier = None
    if queue:
        generator = torch.Generator().manual_seed(1)
        earlier = [torch.randn(queue, WIDTH, generator=generator, dtype=torch.float64) for _ in range(2)]
        for held, rows in zip(objective.queues, earlier, strict=True):
            held.push(rows)
        earlier = [unit(rows) @ objective.prototypes.weight.T for rows in earlier]
    scores = [unit(view) @ objective.prototypes.weight.T for view in views]
    expected = theirs.SwaVLoss(0.2, 3, 0.3)(scores[:2], scores[2:], earlier).squeeze()
    same(objective(views, views[:2])[0], expected, parts)


@pytest.mark.parametrize("local", [0, 2])
def test_dino(views, local):
    views = views[: 2 + local]
    objective = DINO(
        prototypes=6, teacher_temperature=3 / 32, teacher_start=1 / 32, warmup_epochs=10, centre_momentum=0.8
    )
    objective.build(WIDTH, 0)
    objective.double()
    objective.teacher.data.add_(0.3)
    loss = theirs.DINOLoss(6, center_momentum=0.8, student_temp=0.1).double()
    for step in range(3):  # the centre moves
        targets = [(view + step).detach().flip(0) for view in views[:2]]
        scores = [unit(target) @ unit(objective.teacher).T for target in targets]
        predictions = [unit(view) @ unit(objective.prototypes.weight).T for view in views]
        expected = loss(scores, predictions, teacher_temp=2 / 32)
        same(objective(views, targets, Context(epoch=5.0))[0], expected, [*views, objective.prototypes.weight])
        torch.testing.assert_close(objective.centre, loss.center.flatten(), rtol=1e-12, atol=1e-12)
