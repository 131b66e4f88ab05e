"""Graph isomorphism network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from lightning_renyicl.encoders.backbone import Backbone
from lightning_renyicl.encoders.segments import SparseSum
from lightning_renyicl.heads import initialize
from lightning_renyicl.objectives import Parts

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class GIN(Backbone):
    """GIN with a sum read-out of every layer, concatenated (Xu et al., 2019), as GraphCL uses it on TU data sets.

    Each layer adds to a node's features those of the nodes with an edge to it (eps is 0), and applies a perceptron of
    two layers, ReLU, and BatchNorm over all nodes of the batch.

    Shapes: a ``Batch`` of N graphs with node features ``[nodes, F]`` to ``[N, layers * width]``.

    Args:
        in_features: number of node features F.
        width: number of units of every layer.
        layers: number of layers.

    Raises:
        ValueError: no layer, or a width below 1.
    """

    def __init__(self, in_features: int, width: int = 32, layers: int = 3) -> None:
        if width < 1 or layers < 1:
            raise ValueError(f"a GIN needs at least one layer of width 1, got {layers} of width {width}")
        super().__init__(layers * width)
        self.perceptrons = nn.ModuleList()
        self.norms = nn.ModuleList()
        for layer in range(layers):
            first = nn.Linear(in_features if layer == 0 else width, width)
            second = nn.Linear(width, width)
            perceptron = nn.Sequential(first, nn.ReLU(), second, nn.ReLU())
            initialize(perceptron, "xavier")
            self.perceptrons.append(perceptron)
            self.norms.append(nn.BatchNorm1d(width))

    def forward(self, batch: Batch) -> Tensor:
        _, graphs = self._layers(batch)
        return torch.cat(graphs, dim=-1)

    def with_parts(self, batch: Batch) -> tuple[Tensor, Parts]:
        """Representations of graphs, and of their nodes ``[nodes, layers * width]``, all layers' side by side."""
        nodes, graphs = self._layers(batch)
        return torch.cat(graphs, dim=-1), Parts(torch.cat(nodes, dim=-1), batch.batch)

    def _layers(self, batch: Batch) -> tuple[list[Tensor], list[Tensor]]:
        """What each layer makes of the nodes, ``[nodes, width]``, and its sums over graphs, ``[N, width]``."""
        x = batch.x
        nodes = torch.arange(len(x), device=x.device)
        neighbours = SparseSum(batch.edge_index[0], batch.edge_index[1], num_sources=len(x), num_sinks=len(x))
        graphs = SparseSum(nodes, batch.batch, num_sources=len(x), num_sinks=batch.num_graphs)
        layers, readouts = [], []
        for perceptron, norm in zip(self.perceptrons, self.norms, strict=True):
            x = norm(perceptron(x + neighbours(x)))
            layers.append(x)
            readouts.append(graphs(x))
        return layers, readouts
