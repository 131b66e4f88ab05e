"""Contrastive learning on graphs."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from torch import Tensor

from lightning_renyicl.encoders import Backbone
from lightning_renyicl.heads import HeadPerAugmentation
from lightning_renyicl.modules.base import ContrastiveModule
from lightning_renyicl.modules.steps import logs_now
from lightning_renyicl.objectives import Parts


class GraphModule(ContrastiveModule):
    """Contrastive learning on ``Batch`` objects of N graphs.

    Logs the share of the nodes and edges that an augmented view kept of the data module's graphs, where this says so:
    ``train/view2/kept_nodes`` and ``train/view2/kept_edges`` for the second view.

    Args:
        backbone: builds the encoder from the number of node features.
        in_features: number of node features F; the command line takes it from the data.
        shared: the other arguments of :class:`ContrastiveModule`.
    """

    MIXES = False

    def __init__(self, backbone: Callable[[int], Backbone], in_features: int, **shared: Any) -> None:
        super().__init__(backbone(in_features), **shared)
        if isinstance(self.projector, HeadPerAugmentation) and self.momentum_target is not None:
            raise ValueError("a momentum encoder doesn't know which augmentation a graph had: model.momentum null")

    def with_inputs(self, view: Any) -> tuple[Any, Parts]:
        graphs = copy(view)
        graphs.x = view.x.detach().requires_grad_()
        return graphs, Parts(graphs.x, view.batch)

    def project(self, features: Tensor, view: Any) -> Tensor:
        if not isinstance(self.projector, HeadPerAugmentation):
            return super().project(features, view)
        embeddings: Tensor = self.projector(features, view.get("choice"))
        return embeddings

    def training_step(self, batch: tuple[list[Any], Tensor], batch_idx: int) -> dict[str, Tensor]:
        outputs = super().training_step(batch, batch_idx)
        if not logs_now(self):
            return outputs
        views, target = batch
        kept = {
            f"train/view{number}/{key}": view[key]
            for number, view in enumerate(views, start=1)
            for key in ("kept_nodes", "kept_edges")
            if key in view
        }
        self.log_dict(kept, batch_size=len(target))
        return outputs
