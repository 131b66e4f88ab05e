"""Multi-layer perceptrons for rows of a table."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from lightning_renyicl.encoders.backbone import Backbone


class MaxOut(nn.Module):
    """The maximum over ``sets`` groups of inputs (Goodfellow et al., 2013).

    Shapes: ``[N, sets * F]`` to ``[N, F]``.
    """

    def __init__(self, sets: int) -> None:
        super().__init__()
        self.sets = sets

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.sets, -1)).amax(-2)


class MLP(Backbone):
    """Linear layers with BatchNorm and ReLU, and MaxOut at the end (RényiCL, appendix "Tabular experiments").

    Shapes: rows ``[N, F]`` to ``[N, widths[-1] / maxout_sets]``.

    Args:
        in_features: number of columns F.
        widths: output width of each layer; the default is the paper's.
        maxout_sets: number of sets that MaxOut takes the maximum of.

    Raises:
        ValueError: widths that are empty, or whose last is no multiple of ``maxout_sets``.
    """

    def __init__(
        self, in_features: int, widths: Sequence[int] = (2048, 2048, 4096, 4096, 8192), maxout_sets: int = 4
    ) -> None:
        if not widths or min(widths) < 1:
            raise ValueError(f"an MLP needs at least one layer, and widths of at least 1, got {list(widths)}")
        if maxout_sets < 1 or widths[-1] % maxout_sets:
            raise ValueError(
                f"maxout_sets must be at least 1 and divide the last of widths, got {maxout_sets} and {list(widths)}"
            )
        super().__init__(widths[-1] // maxout_sets)
        layers: list[nn.Module] = []
        width = in_features
        for hidden in widths[:-1]:
            layers += [nn.Linear(width, hidden, bias=False), nn.BatchNorm1d(hidden), nn.ReLU(inplace=True)]
            width = hidden
        self.layers = nn.Sequential(*layers, nn.Linear(width, widths[-1]), MaxOut(maxout_sets))

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.layers(x)
        return features
