"""A step by other methods on rows, against the same networks and the loss in a few lines of tensor code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from datamodules import FakeTable, InMemoryDataModule
from datamodules.augmentations import FeatureCorruption, Identity
from lightning_renyicl.encoders import MLP
from lightning_renyicl.heads import MLPHead, Predictor
from lightning_renyicl.modules import ContrastiveModule, TabularModule
from lightning_renyicl.objectives import BYOL, DINO, NNCLR, BarlowTwins, SwAV
from tests.benchmarks.step import epoch_against_floor

STEPS = 16
BATCH = 512


def build(objective: Callable[[], Any], **parts: Any) -> tuple[ContrastiveModule, InMemoryDataModule]:
    """Three layers of 512 with MaxOut and a head of 512 and 128, on 54 columns."""
    data = FakeTable([Identity(), FeatureCorruption(0.2)], BATCH, num_samples=BATCH * STEPS, in_features=54)
    module = TabularModule(
        partial(MLP, widths=[512, 512, 1024], maxout_sets=4),
        in_features=54,
        projector=partial(MLPHead, widths=[512, 128]),
        objective=objective(),
        optimizer=partial(torch.optim.SGD, lr=0.01, momentum=0.9),
        **parts,
    )
    return module, data


def byol(module: ContrastiveModule, online: list[Tensor], target: list[Tensor]) -> Tensor:
    (q0, q1), (t0, t1) = [[F.normalize(view, dim=1) for view in views] for views in (online, target)]
    return 4 - 2 * (q0 * t1.detach()).sum(1).mean() - 2 * (q1 * t0.detach()).sum(1).mean()


def barlow_twins(module: ContrastiveModule, online: list[Tensor], target: list[Tensor]) -> Tensor:
    first, second = (F.batch_norm(view, None, None, training=True) for view in online)
    correlation = first.T @ second / len(first)
    apart = correlation - torch.eye(len(correlation))
    squares = apart.square()
    return 0.0051 * squares.sum() + (1 - 0.0051) * squares.diagonal().sum()


def nnclr(module: ContrastiveModule, online: list[Tensor], target: list[Tensor]) -> Tensor:
    queue, labels = module.objective.queue, torch.arange(len(online[0]))
    z0, z1 = (F.normalize(view.detach(), dim=1) for view in target)
    q0, q1 = (F.normalize(view, dim=1) for view in online)
    near0, near1 = (queue.rows[(z @ queue.rows.T).argmax(1)] for z in (z0, z1))
    queue.rows = torch.cat([z1, queue.rows])[: len(queue.rows)]
    return F.cross_entropy(near0 @ q1.T / 0.1, labels) + F.cross_entropy(near1 @ q0.T / 0.1, labels)


def swav(module: ContrastiveModule, online: list[Tensor], target: list[Tensor]) -> Tensor:
    with torch.no_grad():
        weight = module.objective.prototypes.weight
        weight.copy_(F.normalize(weight, dim=1))
    scores = [F.normalize(view, dim=1) @ weight.T for view in online]
    codes = []
    for each in scores:
        with torch.no_grad():
            code = (each / 0.05).exp().T
            code /= code.sum()
            for _ in range(3):
                code /= code.sum(1, keepdim=True) * len(code)
                code /= code.sum(0, keepdim=True) * code.shape[1]
            codes.append((code * code.shape[1]).T)
    terms = [(codes[t] * F.log_softmax(scores[1 - t] / 0.1, dim=1)).sum(1).mean() for t in (0, 1)]
    return -(terms[0] + terms[1]) / 2


def dino(module: ContrastiveModule, online: list[Tensor], target: list[Tensor]) -> Tensor:
    objective = module.objective
    weight = F.normalize(objective.prototypes.weight, dim=1)
    with torch.no_grad():
        teacher = F.normalize(objective.teacher, dim=1)
        scores = [F.normalize(view, dim=1) @ teacher.T for view in target]
        taught = [F.softmax((each - objective.centre) / 0.04, dim=1) for each in scores]
        objective.centre.lerp_(torch.cat(scores).mean(0), 0.1)
        objective.teacher.lerp_(objective.prototypes.weight, 0.01)
    student = [F.log_softmax(F.normalize(view, dim=1) @ weight.T / 0.1, dim=1) for view in online]
    return -((taught[0] * student[1]).sum(1).mean() + (taught[1] * student[0]).sum(1).mean()) / 2


PREDICTOR = partial(Predictor, hidden=512)
METHODS: dict[str, tuple[Callable, Callable, dict[str, Any]]] = {
    "byol": (BYOL, byol, {"predictor": PREDICTOR, "momentum": 0.99}),
    "barlow_twins": (BarlowTwins, barlow_twins, {}),
    "nnclr": (partial(NNCLR, queue=4096), nnclr, {"predictor": PREDICTOR}),
    "swav": (partial(SwAV, prototypes=512, freeze_epochs=0.0), swav, {}),
    "dino": (partial(DINO, prototypes=1024, freeze_epochs=0.0), dino, {"momentum": 0.99}),
}


def run() -> dict[str, dict[str, Any]]:
    """An epoch of each method in float32."""
    return {
        f"methods/step_vs_bare_{name}": epoch_against_floor(partial(build, objective, **parts), "32-true", 7, loss=loss)
        for name, (objective, loss, parts) in METHODS.items()
    }
