"""Residual networks for images."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lightning_renyicl.encoders.backbone import Backbone

_BLOCKS = {
    10: ("BasicBlock", [1, 1, 1, 1]),
    18: ("BasicBlock", [2, 2, 2, 2]),
    34: ("BasicBlock", [3, 4, 6, 3]),
    50: ("Bottleneck", [3, 4, 6, 3]),
}


class ResNet(Backbone):
    """torchvision's ResNet without its classifier (He et al., 2016), in channels-last memory layout.

    Shapes: images ``[N, 3, H, W]`` to ``[N, 512]`` (``[N, 2048]`` at depth 50).

    Args:
        depth: 10, 18, 34 or 50.
        cifar_stem: a 3 x 3 first convolution of stride 1 and no pooling, for small images (SimCLR, appendix B.9).
        zero_init_residual: start every residual block as the identity.

    Raises:
        ValueError: an unknown depth.
    """

    def __init__(self, depth: int = 18, cifar_stem: bool = False, zero_init_residual: bool = False) -> None:
        from torchvision.models import resnet

        if depth not in _BLOCKS:
            raise ValueError(f"depth must be one of {sorted(_BLOCKS)}, got {depth}")
        name, layers = _BLOCKS[depth]
        network = resnet.ResNet(getattr(resnet, name), layers, zero_init_residual=zero_init_residual)
        super().__init__(network.fc.in_features)
        network.fc = nn.Identity()
        if cifar_stem:
            network.conv1 = nn.Conv2d(3, 64, kernel_size=3, padding=1, bias=False)
            nn.init.kaiming_normal_(network.conv1.weight, mode="fan_out", nonlinearity="relu")
            network.maxpool = nn.Identity()
        self.network = network.to(memory_format=torch.channels_last)

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.network(x.contiguous(memory_format=torch.channels_last))
        return features
