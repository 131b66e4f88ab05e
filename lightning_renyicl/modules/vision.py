"""Contrastive learning on images."""

from __future__ import annotations

from lightning_renyicl.modules.base import ContrastiveModule


class VisionModule(ContrastiveModule):
    """Contrastive learning on image tensors ``[N, C, H, W]``; arguments are those of :class:`ContrastiveModule`."""
