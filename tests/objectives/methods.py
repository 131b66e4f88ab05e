"""The table of methods that are no bound on scores: how each is made, and what its loss may depend on.

A new method is a row of ``METHODS``; the tests of all methods, of several processes and of training follow.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from lightning_renyicl.heads import Predictor
from lightning_renyicl.objectives import (
    BYOL,
    CBYOL,
    CLSA,
    CPC,
    DINO,
    HCL,
    JSD,
    MINE,
    NNCLR,
    RINCE,
    RPC,
    WPC,
    BarlowTwins,
    Context,
    IMix,
    IMixBYOL,
    IMixMoCo,
    Mixing,
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
        batch_norm: whether heads of its own have batch statistics, which are switched off where a batch is taken apart.
    """

    make: Callable[[], Objective]
    momentum: bool = False
    predictor: bool = False
    views: tuple[int, ...] = (2, 4)
    scale_free: bool = True
    differentiable: bool = True
    collapses: bool = False
    rate: float = 0.01
    batch_norm: bool = False

    def built(self, dtype: torch.dtype = torch.float64, width: int = WIDTH) -> Objective:
        """The objective with weights of its own, the same ones each time."""
        torch.manual_seed(0)
        objective = self.make()
        objective.build(width, CLASSES)
        return objective.to(dtype).train(not self.batch_norm)

    def parts(self) -> dict[str, Any]:
        """Arguments of a module that trains by the method."""
        return {
            "objective": self.make(),
            "momentum": 0.9 if self.momentum else None,
            "predictor": partial(Predictor, hidden=16) if self.predictor else None,
            "num_classes": 4,
        }

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
    """Labels of which one is unknown, in the middle of a training, and a mixing with one sample's own partner."""
    labels = torch.arange(samples) % CLASSES
    labels[1] = -1
    partner = torch.tensor([*range(1, samples - 1), 0, samples - 1])
    mixing = Mixing(partner, torch.linspace(0.5, 1.0, samples, dtype=torch.float64))
    return Context(labels=labels, epoch=20.0, generator=torch.Generator().manual_seed(0), mixing=mixing)


def loss_of(objective: Objective, online: list[Tensor], target: list[Tensor], about: Context) -> Tensor:
    """The loss as it is now: whatever the objective keeps is left as it was."""
    kept = copy.deepcopy(dict(objective.named_buffers()))
    extra = {module: module.get_extra_state() for module in objective.modules() if has_extra_state(module)}
    if objective.draws:
        about = replace(about, generator=torch.Generator().manual_seed(0))
    loss, _ = objective(online, target, about)
    for name, buffer in objective.named_buffers():
        if not torch.equal(buffer, kept[name]):
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
    "cbyol": Method(lambda: CBYOL(hidden=8, kappa_e=1e3), momentum=True, collapses=True, batch_norm=True),
    "imix_npair": Method(lambda: IMix(2.0)),
    "imix_moco": Method(lambda: IMixMoCo(2.0, queue=8), momentum=True),
    "imix_byol": Method(lambda: IMixBYOL(2.0), momentum=True, predictor=True, collapses=True),
    "simsiam": Method(BYOL, predictor=True, collapses=True),
    "supcon": Method(SupCon),
    "scarf": Method(lambda: CPC(None, temperature=1.0, symmetric=False)),
    "hcl": Method(lambda: HCL(same_view=True), views=(2,)),
    "hcl, one view's negatives": Method(lambda: HCL(2.0, 0.02)),
    "jsd": Method(JSD),
    "mine": Method(lambda: MINE(0.3), views=(2,)),  # with two targets the second gradient is not that of the value
    "rince": Method(RINCE),
    "rpc": Method(lambda: RPC(0.1, 0.01, 1.0, temperature=2.0, same_view=True), views=(2,), scale_free=False),
}

TRAINED: dict[str, Method] = {**METHODS, "wpc": Method(WPC, views=(2, 3))}
"""Every method, one of which needs more than embeddings."""
