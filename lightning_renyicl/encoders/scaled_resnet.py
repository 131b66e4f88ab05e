"""torchvision's ResNet with any number of channels. In a file of its own, since torchvision takes long to import."""

from __future__ import annotations

from typing import Any

from torch import nn
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet


class ScaledResNet(ResNet):
    """A ResNet without a classifier, whose first stage has ``width`` channels where torchvision's has 64.

    Args:
        block: torchvision's class of a residual block.
        layers: number of blocks of each stage.
        width: channels of the first stage.
        cifar_stem: a first convolution of 3 x 3 and stride 1, and no pooling after it.
        zero_init_residual: start every residual block as the identity.
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: list[int],
        width: int,
        cifar_stem: bool,
        zero_init_residual: bool,
    ) -> None:
        self.width = width
        super().__init__(block, layers, zero_init_residual=zero_init_residual)
        self.fc = nn.Identity()
        if cifar_stem:
            self.conv1 = nn.Conv2d(3, width, kernel_size=3, padding=1, bias=False)
            self.maxpool = nn.Identity()
        elif width != 64:
            self.conv1 = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False)
        if cifar_stem or width != 64:
            nn.init.kaiming_normal_(self.conv1.weight, mode="fan_out", nonlinearity="relu")
            self.bn1 = nn.BatchNorm2d(width)

    def _make_layer(self, block: Any, planes: int, *others: Any, **named: Any) -> nn.Sequential:
        if planes == 64:
            self.inplanes = self.width
        return super()._make_layer(block, planes * self.width // 64, *others, **named)
