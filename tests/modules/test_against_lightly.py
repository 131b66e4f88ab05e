"""Six optimizer steps with lightly's heads, losses and averages give the weights that a trainer gives our module.

Its losses are means over two directions where ours are sums, so its rate is as much higher. Its heads lose what ours
leave out: biases of last layers, an affine last BatchNorm, GELU. Its average moves after the step, as in the papers; in
its examples it moves before the next one, by that step's coefficient.
"""

from __future__ import annotations

import copy
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, normalize
from torch.utils.data import DataLoader

from lightning_renyicl.encoders import MLP
from lightning_renyicl.heads import MLPHead, Predictor
from lightning_renyicl.modules import ContrastiveModule
from lightning_renyicl.objectives import BYOL, DINO, NNCLR, BarlowTwins, SwAV, VICReg

losses = pytest.importorskip("lightly.loss")
heads = pytest.importorskip("lightly.models.modules.heads")
banks = pytest.importorskip("lightly.models.modules.nn_memory_bank")
update_momentum = pytest.importorskip("lightly.models.utils").update_momentum
cosine_schedule = pytest.importorskip("lightly.utils.scheduler").cosine_schedule

SAMPLES, COLUMNS, STEPS, RATE, MOMENTUM = 16, 6, 6, 0.05, 0.8
INPUT, HIDDEN, WIDTH = 8, 12, 5


@pytest.fixture(autouse=True)
def double_precision():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def batches():
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(STEPS, 1, SAMPLES, COLUMNS, generator=generator)
    noise = torch.randn(STEPS, 4, SAMPLES, COLUMNS, generator=generator)
    return list(rows + 0.5 * noise)  # four views a sample


@pytest.fixture
def train(fit, batches):
    """Trains a module, and gives it and what it was before."""

    def _train(objective, projector, predictor=None, momentum=None, views=2):
        torch.manual_seed(0)
        module = ContrastiveModule(
            MLP(COLUMNS, [16, 2 * INPUT], maxout_sets=2),
            projector,
            objective,
            partial(torch.optim.SGD, lr=RATE, momentum=0.9),
            predictor=predictor,
            momentum=momentum,
        )
        before = copy.deepcopy(module)
        labels = torch.zeros(SAMPLES, dtype=torch.long)
        loader = DataLoader([(list(batch[:views]), labels) for batch in batches], batch_size=None)
        fit((module, loader), precision="64-true")
        assert not torch.allclose(module.backbone.layers[0].weight, before.backbone.layers[0].weight, atol=1e-3)
        return module, before

    return _train


def descend(parts, batches, loss_of, rate=RATE, before_step=lambda step: None, after_step=lambda step: None):
    """Plain steps of SGD on ``loss_of(views, step)``."""
    optimizer = torch.optim.SGD([p for part in parts for p in part.parameters()], lr=rate, momentum=0.9)
    for step, views in enumerate(batches):
        loss = loss_of(views, step)
        optimizer.zero_grad()
        loss.backward()
        before_step(step)
        optimizer.step()
        after_step(step)


def like(theirs, ours):
    """Gives lightly's head the weights of ours, and takes from it what ours leaves out."""
    for i, (their, our) in enumerate(zip(theirs.layers, ours.layers, strict=True)):
        if isinstance(our, nn.ReLU):
            theirs.layers[i] = nn.ReLU()  # DINO's is GELU
        for name in ("weight", "bias"):
            if getattr(our, name, None) is None and getattr(their, name, None) is not None:
                setattr(their, name, None)
    theirs.layers.load_state_dict(ours.layers.state_dict())
    return theirs


def same(*pairs):
    for found, expected in pairs:
        found, expected = (list(x.state_dict().values()) if isinstance(x, nn.Module) else x for x in (found, expected))
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-8)


def follow(step, online, average):
    """Moves the average by lightly's schedule and function."""
    update_momentum(online, average, m=cosine_schedule(step, STEPS, MOMENTUM, 1.0))


def test_byol(train, batches):
    module, start = train(BYOL(), partial(MLPHead, widths=[HIDDEN, WIDTH]), partial(Predictor, hidden=HIDDEN), MOMENTUM)
    body = start.backbone
    projector = like(heads.BYOLProjectionHead(INPUT, HIDDEN, WIDTH), start.projector)
    predictor = like(heads.BYOLPredictionHead(WIDTH, HIDDEN, WIDTH), start.predictor)
    average = copy.deepcopy(nn.ModuleList([body, projector])).requires_grad_(False)
    criterion = losses.NegativeCosineSimilarity()

    def loss_of(views, step):
        p0, p1 = (predictor(projector(body(x))) for x in views[:2])
        z0, z1 = (average[1](average[0](x)) for x in views[:2])
        return 0.5 * (criterion(p0, z1) + criterion(p1, z0))

    online = nn.ModuleList([body, projector])
    descend([online, predictor], batches, loss_of, 4 * RATE, after_step=lambda step: follow(step, online, average))
    same(*zip([module.backbone, module.projector, module.predictor], [body, projector, predictor], strict=True))
    same((module.momentum_target, average))


def test_simsiam(train, batches):
    widths = [HIDDEN, HIDDEN, WIDTH]
    module, start = train(BYOL(), partial(MLPHead, widths=widths, last_norm=True), partial(Predictor, hidden=HIDDEN))
    body = start.backbone
    projector = like(heads.SimSiamProjectionHead(INPUT, HIDDEN, WIDTH), start.projector)
    predictor = like(heads.SimSiamPredictionHead(WIDTH, HIDDEN, WIDTH), start.predictor)
    criterion = losses.NegativeCosineSimilarity()

    def loss_of(views, step):
        z0, z1 = (projector(body(x)) for x in views[:2])
        return 0.5 * (criterion(predictor(z0), z1.detach()) + criterion(predictor(z1), z0.detach()))

    descend([body, projector, predictor], batches, loss_of, 4 * RATE)
    same(*zip([module.backbone, module.projector, module.predictor], [body, projector, predictor], strict=True))


@pytest.mark.parametrize(
    ("objective", "criterion"),
    [(BarlowTwins, partial(losses.BarlowTwinsLoss, lambda_param=0.0051)), (VICReg, losses.VICRegLoss)],
)
def test_barlow_twins_and_vicreg(train, batches, objective, criterion):
    module, start = train(objective(), partial(MLPHead, widths=[HIDDEN, HIDDEN, WIDTH]))
    body, loss = start.backbone, criterion()
    projector = like(heads.BarlowTwinsProjectionHead(INPUT, HIDDEN, WIDTH), start.projector)
    descend([body, projector], batches, lambda views, step: loss(*(projector(body(x)) for x in views[:2])))
    same((module.backbone, body), (module.projector, projector))


def test_swav(train, batches):
    objective = SwAV(prototypes=7, epsilon=0.1, iterations=3, temperature=0.2, freeze_epochs=0.5)
    module, start = train(objective, partial(MLPHead, widths=[HIDDEN, WIDTH]), views=4)
    body = start.backbone
    projector = like(heads.SwaVProjectionHead(INPUT, HIDDEN, WIDTH), start.projector)
    prototypes = heads.SwaVPrototypes(WIDTH, 7, n_steps_frozen_prototypes=STEPS // 2)
    layer = prototypes.heads[0]
    layer.weight.data, layer.bias = start.objective.prototypes.weight.detach().clone(), None
    criterion = losses.SwaVLoss(temperature=0.2, sinkhorn_iterations=3, sinkhorn_epsilon=0.1)

    def loss_of(views, step):
        prototypes.normalize()
        scores = [prototypes(normalize(projector(body(x))), step) for x in views]
        return criterion(scores[:2], scores[2:]).sum()

    descend([body, projector, prototypes], batches, loss_of)
    prototypes.normalize()  # as ours does after each step
    same((module.backbone, body), (module.projector, projector), (module.objective.prototypes, prototypes))


def test_dino(train, batches):
    temperatures = {"temperature": 0.2, "teacher_temperature": 0.05, "teacher_start": 0.05}
    objective = DINO(prototypes=7, **temperatures, centre_momentum=0.8, freeze_epochs=0.5)
    projector = partial(MLPHead, widths=[HIDDEN, HIDDEN, WIDTH], norm=False)
    module, start = train(objective, projector, momentum=MOMENTUM, views=4)
    body = start.backbone
    head, average = (
        like(heads.DINOProjectionHead(INPUT, HIDDEN, WIDTH, 7, freeze_last_layer=1), start.projector) for _ in range(2)
    )
    for each in (head, average):  # a weight that is normalised has no copy
        each.last_layer.weight_v.data.copy_(start.objective.prototypes.weight)
    student, teacher = nn.Sequential(body, head), nn.Sequential(copy.deepcopy(body), average).requires_grad_(False)
    criterion = losses.DINOLoss(7, student_temp=0.2, center_momentum=0.8)
    descend(
        [student],
        batches,
        lambda views, step: criterion([teacher(x) for x in views[:2]], [student(x) for x in views], teacher_temp=0.05),
        before_step=lambda step: head.cancel_last_layer_gradients(2 * step // STEPS),
        after_step=lambda step: follow(step, student, teacher),
    )
    target, objective = module.momentum_target.network, module.objective
    same((module.backbone, body), (module.projector.layers, head.layers))
    same((target[0], teacher[0]), (target[1].layers, teacher[1].layers))
    same((objective.prototypes.weight, head.last_layer.weight_v), (objective.teacher, teacher[1].last_layer.weight_v))
    same((objective.centre, criterion.center.flatten()))


def test_nnclr(train, batches):
    """The loss is torch's: lightly's has negatives in the neighbours' own view as well, the paper's has none."""
    queue, tau = 3 * SAMPLES, 0.3
    projector = partial(MLPHead, widths=[HIDDEN, HIDDEN, WIDTH], last_norm=True)
    module, start = train(NNCLR(queue, tau), projector, partial(Predictor, hidden=HIDDEN))
    body = start.backbone
    projector = like(heads.NNCLRProjectionHead(INPUT, HIDDEN, WIDTH), start.projector)
    predictor = like(heads.NNCLRPredictionHead(WIDTH, HIDDEN, WIDTH), start.predictor)
    bank = banks.NNMemoryBankModule((queue, WIDTH)).double()  # its bank is of float32
    bank.bank.copy_(start.objective.queue.rows.flip(0))  # it replaces its first row first, ours its last

    def criterion(neighbours, predictions):
        return cross_entropy(normalize(neighbours) @ normalize(predictions).T / tau, torch.arange(SAMPLES))

    def loss_of(views, step):
        z0, z1 = (projector(body(x)) for x in views[:2])
        p0, p1 = predictor(z0), predictor(z1)
        n0, n1 = bank(z0.detach(), update=False), bank(z1.detach(), update=True)
        return 0.5 * (criterion(n0, p1) + criterion(n1, p0))

    descend([body, projector, predictor], batches, loss_of, 2 * RATE)
    same(*zip([module.backbone, module.projector, module.predictor], [body, projector, predictor], strict=True))
    blocks = [normalize(bank.bank).unflatten(0, (3, SAMPLES))[i] for i in (2, 1, 0)]  # six batches fill it twice
    same((module.objective.queue.rows, torch.cat(blocks)))
