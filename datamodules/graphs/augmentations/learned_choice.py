"""The choice of augmentations that JOAO learns."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import Generator, Tensor

from datamodules.graphs.augmentations.edge_perturbation import EdgePerturbation
from datamodules.graphs.augmentations.graphcl import OneForEachGraph
from datamodules.graphs.augmentations.nodes import AttributeMask, NodeDrop, Subgraph
from datamodules.graphs.augmentations.sampling import check_ratio

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class LearnedChoice(OneForEachGraph):
    """One augmentation for every graph, drawn by probabilities that the callback ``JOAO`` changes (You et al., 2021).

    The choices are :class:`NodeDrop`, :class:`EdgePerturbation`, :class:`Subgraph`, :class:`AttributeMask` and none,
    at first equally likely. The ratios are those of JOAO's code, which drops, replaces and masks twice as much as
    GraphCL's, and whose subgraphs keep 80 % of the nodes. The batch says in ``choice``, ``[N]``, the number in
    ``names`` that each graph drew.

    Shapes: a ``Batch`` of N graphs to a ``Batch`` of N graphs.

    Args:
        ratio: fraction of the nodes to drop or mask, or of the edges to replace, in [0, 1].
        subgraph_ratio: fraction of the nodes that a subgraph keeps, in [0, 1].

    Raises:
        ValueError: a ratio outside [0, 1].
    """

    names = ("node_drop", "edge_perturbation", "subgraph", "attribute_mask", "none")
    """What there is to choose from, in the order of the probabilities."""
    probabilities: Tensor

    def __init__(self, ratio: float = 0.2, subgraph_ratio: float = 0.8) -> None:
        check_ratio(subgraph_ratio, "subgraph_ratio")
        super().__init__([NodeDrop(ratio), EdgePerturbation(ratio), Subgraph(subgraph_ratio), AttributeMask(ratio)])
        self.register_buffer("probabilities", torch.full((len(self.names),), 1 / len(self.names)))

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        self.to(generator.device)
        choice = torch.multinomial(self.probabilities, batch.num_graphs, replacement=True, generator=generator)
        view = self.apply_drawn(batch, generator, choice)
        view = copy.copy(view) if view is batch else view
        view.choice = choice
        return view
