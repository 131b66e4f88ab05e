"""Any image network of timm."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lightning_renyicl.encoders.backbone import Backbone


class TimmModel(Backbone):
    """A network of timm without its classifier, in channels-last memory layout.

    Shapes: images ``[N, 3, H, W]`` to ``[N, num_features]``.

    Args:
        name: timm's name of the network, such as ``convnext_tiny`` or ``vit_small_patch16_224``.
        pretrained: start from timm's weights, which are downloaded.
        arguments: arguments of the network, such as ``img_size: 96`` or ``drop_path_rate: 0.1``.

    Raises:
        ValueError: a name that timm doesn't know, or ``num_classes`` among the arguments; when it runs, images of a
            size that the network doesn't take, or one that gives a map or tokens in place of one vector an image.
    """

    def __init__(self, name: str, pretrained: bool = False, arguments: dict[str, Any] | None = None) -> None:
        import timm

        if "num_classes" in (arguments or {}):
            raise ValueError("arguments cannot have num_classes: the network is taken without its classifier")
        if not timm.is_model(name):
            from difflib import get_close_matches

            close = ", ".join(get_close_matches(name, timm.list_models(), n=3)) or "none like it"
            raise ValueError(f"timm {timm.__version__} has no network {name}; it has {close}")
        network = timm.create_model(name, pretrained=pretrained, num_classes=0, **(arguments or {}))
        features: Any = getattr(network, "head_hidden_size", None) or network.num_features
        super().__init__(features)
        self.name, self.arguments = name, dict(arguments or {})
        self.network = network.to(memory_format=torch.channels_last)

    def forward(self, x: Tensor) -> Tensor:
        try:
            features: Tensor = self.network(x.contiguous(memory_format=torch.channels_last))
        except AssertionError as error:  # timm's way to say it
            raise ValueError(f"{error} If it is about the images' size: arguments.img_size") from error
        if features.shape != (len(x), self.num_features):
            raise ValueError(
                f"the network gives {list(features.shape)} for {len(x)} images in place of one vector of "
                f"{self.num_features} numbers each: choose one that pools, or its arguments global_pool"
            )
        return features
