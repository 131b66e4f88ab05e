"""Graph isomorphism network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from lightning_renyicl.encoders.backbone import Backbone

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class GIN(Backbone):
    """GIN with a sum read-out of every layer, concatenated (Xu et al., 2019), as GraphCL uses it on TU data sets.

    Each layer is a GINConv with eps fixed at 0 and a two-layer perceptron, then ReLU, then BatchNorm.

    Shapes: a ``Batch`` of N graphs with node features ``[nodes, F]`` to ``[N, layers * width]``.

    Args:
        in_features: node features F.
        width: units of every layer.
        layers: number of layers.
    """

    def __init__(self, in_features: int, width: int = 32, layers: int = 3) -> None:
        from torch_geometric.nn import GINConv

        if width < 1 or layers < 1:
            raise ValueError(f"a GIN needs at least one layer of width 1, got {layers} of width {width}")
        super().__init__(layers * width)
        self.convolutions = nn.ModuleList()
        self.norms = nn.ModuleList()
        for layer in range(layers):
            first = nn.Linear(in_features if layer == 0 else width, width)
            second = nn.Linear(width, width)
            self.convolutions.append(GINConv(nn.Sequential(first, nn.ReLU(), second)))
            for linear in (first, second):  # after GINConv, whose constructor resets the layers it is given
                nn.init.xavier_uniform_(linear.weight)
                nn.init.zeros_(linear.bias)
            self.norms.append(nn.BatchNorm1d(width))

    def forward(self, batch: Batch) -> Tensor:
        from torch_geometric.nn import global_add_pool

        x, readouts = batch.x, []
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = norm(convolution(x, batch.edge_index).relu())
            readouts.append(global_add_pool(x, batch.batch, size=batch.num_graphs))
        return torch.cat(readouts, dim=-1)
