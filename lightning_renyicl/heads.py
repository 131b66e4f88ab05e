"""Projection and prediction heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn

Initialization = Literal["kaiming", "xavier"]


def initialize(module: nn.Module, initialization: Initialization) -> None:
    """Draws the weights of all linear layers anew.

    Args:
        module: what holds the layers.
        initialization: ``kaiming`` leaves what torch's layers begin with, weights and biases uniform within
            1 / sqrt(inputs); ``xavier`` draws weights uniformly within sqrt(6 / (inputs + outputs)) (Glorot and Bengio,
            2010) and sets biases to 0.

    Raises:
        ValueError: an initialization of another name.
    """
    if initialization not in get_args(Initialization):
        raise ValueError(f"initialization must be one of {', '.join(get_args(Initialization))}, got {initialization}")
    if initialization == "kaiming":
        return
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


class Head(nn.Module):
    """A network from representations ``[N, in_features]`` to embeddings ``[N, out_features]``."""

    def __init__(self, out_features: int) -> None:
        super().__init__()
        self.out_features = out_features


class NoHead(Head):
    """The identity, for methods that are trained on the representations themselves.

    Args:
        in_features: input width; given by the module.
    """

    def __init__(self, in_features: int) -> None:
        super().__init__(in_features)

    def forward(self, x: Tensor) -> Tensor:
        return x


class MLPHead(Head):
    """Linear layers, each but the last with BatchNorm and ReLU (RényiCL, appendix "ImageNet experiments").

    Linear layers have no bias: the authors' code omits it, the paper's text doesn't say so.

    Args:
        in_features: input width; given by the module.
        widths: output width of each layer.
        norm: BatchNorm after each layer but the last; without it layers have a bias and ReLU alone, as in GraphCL's
            projection head.
        last_norm: BatchNorm without affine parameters after the last layer, as on ImageNet's projector.
        initialization: ``kaiming``, as torch's layers begin, or ``xavier``, as GraphCL's head; see :func:`initialize`.

    Raises:
        ValueError: no widths, a width below 1, or an initialization of another name.
    """

    def __init__(
        self,
        in_features: int,
        widths: Sequence[int],
        norm: bool = True,
        last_norm: bool = False,
        initialization: Initialization = "kaiming",
    ) -> None:
        if not widths or min(widths) < 1:
            raise ValueError(f"a head needs at least one layer, and widths of at least 1, got {list(widths)}")
        super().__init__(widths[-1])
        layers: list[nn.Module] = []
        width = in_features
        for hidden in widths[:-1]:
            layers.append(nn.Linear(width, hidden, bias=not norm))
            if norm:
                layers.append(nn.BatchNorm1d(hidden))
            layers.append(nn.ReLU(inplace=True))
            width = hidden
        layers.append(nn.Linear(width, widths[-1], bias=not norm))
        if last_norm:
            layers.append(nn.BatchNorm1d(widths[-1], affine=False))
        self.layers = nn.Sequential(*layers)
        initialize(self.layers, initialization)

    def forward(self, x: Tensor) -> Tensor:
        embeddings: Tensor = self.layers(x)
        return embeddings


class Predictor(MLPHead):
    """The prediction head of BYOL, SimSiam and MoCo v3: one hidden layer, and an output as wide as the input.

    Args:
        in_features: width of an embedding; given by the module.
        hidden: width of the hidden layer.

    Raises:
        ValueError: a hidden layer without units.
    """

    def __init__(self, in_features: int, hidden: int) -> None:
        if hidden < 1:
            raise ValueError(f"hidden must be at least 1, got {hidden}")
        super().__init__(in_features, [hidden, in_features])


class ResidualHead(Head):
    """InfoGraph's head: three linear layers, each with ReLU, beside a linear one, all as wide as the input.

    Weights are Xavier's and biases 0, as in the authors' code.

    Args:
        in_features: input width; given by the module.
    """

    def __init__(self, in_features: int) -> None:
        super().__init__(in_features)
        layers = [part for _ in range(3) for part in (nn.Linear(in_features, in_features), nn.ReLU())]
        self.layers = nn.Sequential(*layers)
        self.shortcut = nn.Linear(in_features, in_features)
        initialize(self, "xavier")

    def forward(self, x: Tensor) -> Tensor:
        embeddings: Tensor = self.layers(x) + self.shortcut(x)
        return embeddings


class HeadPerAugmentation(Head):
    """JOAOv2's projection heads: one for each augmentation that a sample may have had (You et al., 2021).

    Every head sees all samples, of which each keeps what the head of its own augmentation says, so that no head is
    without a gradient. The authors' code draws one head for a whole epoch instead, whatever each graph's augmentation.

    Args:
        in_features: input width; given by the module.
        choices: number of augmentations; the last one leaves a sample as it is.
        widths: output width of each layer, as of :class:`MLPHead`.
        norm: BatchNorm after each layer but the last, over all samples of the batch.
        initialization: ``kaiming`` or ``xavier``; see :func:`initialize`.

    Raises:
        ValueError: no choices, no widths, a width below 1, or an initialization of another name.
    """

    def __init__(
        self,
        in_features: int,
        choices: int,
        widths: Sequence[int],
        norm: bool = False,
        initialization: Initialization = "kaiming",
    ) -> None:
        if choices < 1:
            raise ValueError(f"choices must be at least 1, got {choices}")
        heads = [MLPHead(in_features, widths, norm, initialization=initialization) for _ in range(choices)]
        super().__init__(widths[-1])
        self.heads = nn.ModuleList(heads)

    def forward(self, x: Tensor, choice: Tensor | None = None) -> Tensor:
        """The embeddings ``[N, out_features]`` by each sample's own head.

        Args:
            x: representations ``[N, in_features]``.
            choice: number of each sample's head, ``[N]``; None: the last head for all.
        """
        every = torch.stack([head(x) for head in self.heads], dim=1)  # [N, choices, out_features]
        if choice is None:
            return every[:, -1]
        return every.take_along_dim(choice[:, None, None], dim=1).squeeze(1)
