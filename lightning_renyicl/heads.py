"""Projection and prediction heads."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn


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

    Raises:
        ValueError: no widths, or a width below 1.
    """

    def __init__(self, in_features: int, widths: Sequence[int], norm: bool = True, last_norm: bool = False) -> None:
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
