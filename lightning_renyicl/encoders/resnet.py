"""Residual networks for images."""

from __future__ import annotations

import torch
from torch import Tensor

from lightning_renyicl.encoders.backbone import Backbone

_BLOCKS = {
    10: ("BasicBlock", [1, 1, 1, 1]),
    18: ("BasicBlock", [2, 2, 2, 2]),
    34: ("BasicBlock", [3, 4, 6, 3]),
    50: ("Bottleneck", [3, 4, 6, 3]),
}


class ResNet(Backbone):
    """torchvision's ResNet without its classifier (He et al., 2016).

    Its memory layout is channels-last from 16 channels on.

    Shapes: images ``[N, 3, H, W]`` to ``[N, 8 · width]``, four times as many at depth 50.

    Args:
        depth: 10, 18, 34 or 50.
        cifar_stem: a 3 x 3 first convolution of stride 1 and no pooling, for small images (SimCLR, appendix B.9).
        zero_init_residual: start every residual block as the identity.
        width: channels of the first stage; each of the other three has twice as many as the one before.

    Raises:
        ValueError: an unknown depth, or a width below 1.
    """

    def __init__(
        self, depth: int = 18, cifar_stem: bool = False, zero_init_residual: bool = False, width: int = 64
    ) -> None:
        if depth not in _BLOCKS:
            raise ValueError(f"depth must be one of {sorted(_BLOCKS)}, got {depth}")
        if width < 1:
            raise ValueError(f"width must be at least 1, got {width}")
        from torchvision.models import resnet

        from lightning_renyicl.encoders.scaled_resnet import ScaledResNet

        name, layers = _BLOCKS[depth]
        block = getattr(resnet, name)
        network = ScaledResNet(block, layers, width, cifar_stem, zero_init_residual)
        super().__init__(8 * width * block.expansion)
        self.depth, self.cifar_stem, self.width = depth, cifar_stem, width
        # gradients of narrower strided convolutions in channels-last end the process on some processors (oneDNN 3)
        self.memory_format = torch.channels_last if width >= 16 else torch.contiguous_format
        self.network = network.to(memory_format=self.memory_format)

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.network(x.contiguous(memory_format=self.memory_format))
        return features
