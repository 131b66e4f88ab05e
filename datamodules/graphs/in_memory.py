"""What all graph data shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from datamodules.base import InMemoryDataModule
from datamodules.graphs.packed import edge_pointer

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class InMemoryGraphs(InMemoryDataModule):
    """Graphs in memory, whose batches are PyG ``Batch`` objects."""

    SAMPLES = "graphs"

    def raw_input(self, x: Batch) -> Tensor:
        """Sums of the node features of N graphs, and their numbers of nodes and edges, ``[N, F + 2]``."""
        sums = x.x.new_zeros(x.num_graphs, x.x.shape[1]).index_add_(0, x.batch, x.x)
        counts = torch.stack((x.ptr.diff(), edge_pointer(x).diff()), dim=1)
        return torch.cat((sums, counts.to(sums.dtype)), dim=1)
