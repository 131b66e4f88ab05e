"""GraphCL's choice of augmentations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

import torch
from torch import Generator, Tensor, nn

from datamodules.augmentations.base import Augmentation, Compose, RandomChoice
from datamodules.graphs.augmentations.edge_perturbation import EdgePerturbation
from datamodules.graphs.augmentations.graphcl_legacy import (
    LegacyEdgePerturbation,
    LegacyNodeDrop,
    LegacySubgraph,
    WithoutIsolated,
)
from datamodules.graphs.augmentations.nodes import AttributeMask, InducedSubgraph, NodeDrop, Subgraph, induced
from datamodules.graphs.augmentations.sampling import GraphAugmentation, check_ratio

if TYPE_CHECKING:
    from torch_geometric.data import Batch

Choice = Literal["dnodes", "subgraph", "pedges", "mask_nodes", "random2", "random3", "random4"]


class OneForEachGraph(GraphAugmentation):
    """Applies to every graph one of several augmentations, drawn uniformly for it.

    As :class:`RandomChoice`, sooner: the batch is not taken apart, each augmentation leaves the others' graphs alone.

    Args:
        parts: augmentations to draw from: an :class:`InducedSubgraph`, or what takes the graphs to change as a third
            argument.
    """

    def __init__(self, parts: Sequence[Augmentation]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        drawn = torch.randint(len(self.parts), (batch.num_graphs,), generator=generator, device=generator.device)  # [N]
        return self.apply_drawn(batch, generator, drawn)

    def apply_drawn(self, batch: Batch, generator: Generator, drawn: Tensor) -> Batch:
        """Applies to every graph the part of the number ``drawn``, ``[N]``; one that no part has leaves it alone."""
        mask = None
        for number, part in enumerate(self.parts):
            if isinstance(part, InducedSubgraph):
                own = part.node_mask(batch, generator, drawn == number)
                mask = own if mask is None else mask & own
            else:
                batch = part(batch, generator, drawn == number)
        return batch if mask is None else induced(batch, mask)


class GraphCL(GraphAugmentation):
    """One of GraphCL's augmentations, or one drawn for every graph by itself (You et al., 2020).

    The names are those of its command line: ``dnodes`` (:class:`NodeDrop`), ``subgraph`` (:class:`Subgraph`),
    ``pedges`` (:class:`EdgePerturbation`), ``mask_nodes`` (:class:`AttributeMask`); ``random2`` draws from the first
    two, ``random3`` from the first three and ``random4`` from all, uniformly.

    Shapes: a ``Batch`` of N graphs to a ``Batch`` of N graphs.

    Args:
        choice: name of the augmentation, or of those to draw from.
        ratio: fraction of the nodes to drop or mask, or of the edges to replace, in [0, 1].
        subgraph_ratio: fraction of the nodes that a subgraph keeps, in [0, 1].
        legacy: whether to do what the original code does instead, with its own ratios; ``TUDataset``'s ``legacy`` sets
            it together with the self-loops that belong to it.

    Raises:
        ValueError: an unknown choice or a ratio outside [0, 1].
    """

    def __init__(self, choice: Choice, ratio: float = 0.1, subgraph_ratio: float = 0.2, legacy: bool = False) -> None:
        super().__init__()
        if choice not in get_args(Choice):
            raise ValueError(f"choice must be one of {', '.join(get_args(Choice))}, got {choice}")
        self.choice = choice
        check_ratio(subgraph_ratio, "subgraph_ratio")
        parts = [NodeDrop(ratio), Subgraph(subgraph_ratio), EdgePerturbation(ratio), AttributeMask(ratio)]
        combine: type[OneForEachGraph | RandomChoice] = OneForEachGraph
        if legacy:
            parts = [LegacyNodeDrop(), LegacySubgraph(), LegacyEdgePerturbation(), AttributeMask(0.1)]
            combine = RandomChoice
        names = get_args(Choice)[: len(parts)]
        chosen = parts[names.index(choice)] if choice in names else combine(parts[: int(choice[-1])])
        isolates = legacy and choice not in ("pedges", "mask_nodes")
        self.augmentation = Compose([chosen, WithoutIsolated()]) if isolates else chosen

    def as_legacy(self) -> GraphCL:
        """The same choice as the original code makes it."""
        return GraphCL(self.choice, legacy=True)

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        return self.augmentation(batch, generator)
