"""Contrastive learning on images."""

from __future__ import annotations

from typing import Any

from lightning_renyicl.encoders import Backbone
from lightning_renyicl.modules.base import ContrastiveModule


class VisionModule(ContrastiveModule):
    """Contrastive learning on image tensors ``[N, C, H, W]``.

    Args:
        backbone: encoder of images.
        compile_backbone: run the encoder through ``torch.compile``; a checkpoint's names stay as they are.
        shared: the other arguments of :class:`ContrastiveModule`.
    """

    def __init__(self, backbone: Backbone, compile_backbone: bool = False, **shared: Any) -> None:
        super().__init__(backbone, **shared)
        if compile_backbone:
            self.backbone.compile()
