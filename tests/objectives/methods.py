"""The table of methods that are no bound on scores: how each is made, and what its loss may depend on.

A new method is a row of ``METHODS``; the tests of all methods, of several processes and of training follow.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from lightning_renyicl.objectives import (
    BYOL,
    CLSA,
    CPC,
    DINO,
    NNCLR,
    BarlowTwins,
    Context,
    MoCo,
    MoCoV3,
    Objective,
    SupCon,
    SwAV,
    VICReg,
)

WIDTH, CLASSES = 4, 3


@dataclass(frozen=True)
class Method:
    """One choice of a method's arguments, and its laws.

    Attributes:
        make: makes the objective, small enough for a test.
        momentum: whether it is trained with a momentum encoder.
        predictor: whether it is trained with a predictor.
        views: numbers of views that it is tested with.
        scale_free: whether the length of embeddings has no part in the loss.
        differentiable: whether its gradient is that of its value. Not where what it reads with gradient is also held
            fixed; the test of the method's own file then looks at its gradient.
        collapses: whether it is trained without negatives, so that equal embeddings are its danger.
        rate: learning rate of AdamW at which it learns eight samples.
    """

    make: Callable[[], Objective]
    momentum: bool = False
    predictor: bool = False
    views: tuple[int, ...] = (2, 4)
    scale_free: bool = True
    differentiable: bool = True
    collapses: bool = False
    rate: float = 0.01

    def built(self, dtype: torch.dtype = torch.float64, width: int = WIDTH) -> Objective:
        """The objective with weights of its own, the same ones each time."""
        torch.manual_seed(0)
        objective = self.make()
        objective.build(width, CLASSES)
        return objective.to(dtype)

    def embeddings(
        self, views: int, samples: int = 6, dtype: torch.dtype = torch.float64
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Embeddings of online views and of two targets, which are the same but for a momentum encoder or predictor."""
        generator = torch.Generator().manual_seed(views)
        online = torch.randn(views, samples, WIDTH, generator=generator, dtype=torch.float64).to(dtype)
        target = torch.randn(2, samples, WIDTH, generator=generator, dtype=torch.float64).to(dtype)
        queries = [view.requires_grad_() for view in online.unbind()]
        return queries, list(target.unbind()) if self.momentum or self.predictor else queries[:2]


def context(samples: int = 6) -> Context:
    """Labels of which one is unknown, in the middle of a training."""
    labels = torch.arange(samples) % CLASSES
    labels[1] = -1
    return Context(labels=labels, epoch=20.0)


def loss_of(objective: Objective, online: list[Tensor], target: list[Tensor], about: Context) -> Tensor:
    """The loss as it is now: whatever the objective keeps is left as it was."""
    kept = copy.deepcopy(dict(objective.named_buffers()))
    extra = {module: module.get_extra_state() for module in objective.modules() if has_extra_state(module)}
    loss, _ = objective(online, target, about)
    for name, buffer in objective.named_buffers():
        buffer.copy_(kept[name])
    for module, state in extra.items():
        module.set_extra_state(state)
    return loss


def has_extra_state(module: torch.nn.Module) -> bool:
    return type(module).get_extra_state is not torch.nn.Module.get_extra_state


METHODS: dict[str, Method] = {
    "barlow_twins": Method(BarlowTwins, views=(2,), scale_free=False),
    "clsa": Method(lambda: CLSA(queue=8), momentum=True, views=(3, 4), differentiable=False),
    "dino": Method(lambda: DINO(prototypes=8), momentum=True, collapses=True),
    "moco": Method(lambda: MoCo(queue=8), momentum=True),
    "nnclr": Method(lambda: NNCLR(queue=8), predictor=True, views=(2,)),
    "swav": Method(lambda: SwAV(prototypes=8), differentiable=False, collapses=True),
    "swav_queue": Method(lambda: SwAV(prototypes=8, queue=9), differentiable=False, collapses=True),
    "vicreg": Method(VICReg, views=(2,), scale_free=False),
    "simclr": Method(lambda: CPC(None, same_view=True), views=(2,)),
    "dcl": Method(lambda: CPC(0.0, same_view=True), views=(2,)),
    "moco_v3": Method(MoCoV3, momentum=True, predictor=True),
    "byol": Method(BYOL, momentum=True, predictor=True, collapses=True),
    "simsiam": Method(BYOL, predictor=True, collapses=True),
    "supcon": Method(SupCon),
    "scarf": Method(lambda: CPC(None, temperature=1.0, symmetric=False)),
}
