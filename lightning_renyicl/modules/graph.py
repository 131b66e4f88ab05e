"""Contrastive learning on graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lightning_renyicl.encoders import Backbone
from lightning_renyicl.modules.base import ContrastiveModule


class GraphModule(ContrastiveModule):
    """Contrastive learning on ``Batch`` objects of N graphs.

    Args:
        backbone: builds the encoder from the number of node features.
        in_features: number of node features F; the command line takes it from the data.
        shared: the other arguments of :class:`ContrastiveModule`.
    """

    def __init__(self, backbone: Callable[[int], Backbone], in_features: int, **shared: Any) -> None:
        super().__init__(backbone(in_features), **shared)
