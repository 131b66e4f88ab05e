"""Which model of timm or torchvision an encoder is, and the code that builds it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from lightning_renyicl.encoders import Backbone, ResNet, TimmModel

Library = Literal["timm", "torchvision"]
OTHERS = "--to safetensors, onnx or torch_export"


@dataclass(frozen=True)
class Published:
    """A model of another library, without its classifier.

    Attributes:
        code: lines of Python that build it as ``model``, with what they import.
        differs: which published model it is nearly, and what it has in place of its parts; None: it is that one.
        weights: tensors under the names that it loads.
    """

    code: list[str]
    differs: str | None
    weights: dict[str, Tensor]


def published(backbone: Backbone, library: Library) -> Published:
    """An encoder as a model of another library.

    Args:
        backbone: the encoder.
        library: where the model comes from.

    Raises:
        ValueError: an encoder that the library cannot build.
    """
    name = type(backbone).__name__
    if isinstance(backbone, ResNet):
        return _resnet(backbone, library)
    if isinstance(backbone, TimmModel):
        if library == "timm":
            extra = "".join(f", {key}={value!r}" for key, value in backbone.arguments.items())
            code = ["import timm", f"model = timm.create_model({backbone.name!r}, num_classes=0{extra})"]
            return Published(code, None, backbone.network.state_dict())
        raise ValueError(f"{backbone.name} is timm's, and torchvision has other names for its weights: --to timm")
    raise ValueError(f"{name} is no model of {library}: --to safetensors or, for rows, onnx or torch_export")


def _resnet(backbone: ResNet, library: Library) -> Published:
    depth = backbone.depth
    nearest = f"resnet{18 if depth == 10 else depth}"
    if backbone.width != 64:
        raise ValueError(
            f"the ResNet of depth {depth} and width {backbone.width} is no model of {library}, whose {nearest} has "
            f"width 64 and no argument for another: {OTHERS}"
        )
    differences = []
    if library == "timm":
        layers = ", layers=(1, 1, 1, 1)" if depth == 10 else ""
        code = ["import timm", "import torch", f"model = timm.create_model({nearest!r}, num_classes=0{layers})"]
    else:
        built = f"{nearest}()" if depth != 10 else "resnet.ResNet(torchvision.models.resnet.BasicBlock, [1, 1, 1, 1])"
        code = ["import torch", "import torchvision", f"model = torchvision.models.{built}"]
        code.append("model.fc = torch.nn.Identity()")
    if depth == 10:
        differences.append("one residual block a stage in place of two")
    if backbone.cifar_stem:
        code.append("model.conv1 = torch.nn.Conv2d(3, 64, kernel_size=3, padding=1, bias=False)")
        code.append("model.maxpool = torch.nn.Identity()")
        differences.append("a first convolution of 3 x 3 and stride 1 in place of 7 x 7 and stride 2, and no pooling")
    differs = f"not {library}'s {nearest}: it has {'; '.join(differences)}" if differences else None
    return Published(code, differs, backbone.network.state_dict())
