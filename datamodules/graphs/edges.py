"""Edge lists put in order, and node features made of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from datamodules.room import check_room

log = logging.getLogger(__name__)


def clean_edges(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Edges without duplicates and self-loops, in the order of the nodes that they lead to, ``[2, edges]``.

    GIN adds a node's own features itself, and sums neighbours fastest in this order.
    """
    source, sink = edge_index[:, edge_index[0] != edge_index[1]]
    keys = (sink * num_nodes + source).numpy()
    keys.sort()  # NumPy sorts long lists several times as fast as torch
    distinct = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=distinct[1:])
    ordered = torch.from_numpy(keys if distinct.all() else keys[distinct])
    sink = ordered // num_nodes
    return torch.stack((ordered - sink * num_nodes, sink))


def warn_of_edges(place: object, edge_index: Tensor, num_nodes: int) -> None:
    """Warns of graphs that all lack edges, and of edges that are all given in one direction only.

    Args:
        place: where the data lies, for messages.
        edge_index: ends of the edges, which are no self-loops, ``[2, edges]``.
        num_nodes: nodes of all graphs.
    """
    source, sink = edge_index.numpy()
    if not len(sink):
        log.warning("%s: no graph has an edge, so that only nodes are learnt from", place)
        return
    keys, reverse = sink * num_nodes + source, source * num_nodes + sink
    if not ((keys == reverse[0]).any() or np.isin(reverse, keys).any()):  # the first is nearly always enough
        log.warning(
            "%s: no edge has its reverse, so that nodes see only those from which an edge leads to them: give edges of "
            "undirected graphs in both directions",
            place,
        )


def edge_ptr_of(sink: Tensor, node_ptr: Tensor) -> Tensor:
    """The first edge of every graph and, last, the number of edges, for edges in the order of ``sink``, ``[M + 1]``."""
    return torch.searchsorted(sink.contiguous(), node_ptr)


def one_hot_degree(sink: Tensor, num_nodes: int, largest: int) -> Tensor:
    """How many edges lead to a node, one-hot, the last column for ``largest`` and more, ``[nodes, largest + 1]``.

    Raises:
        ValueError: more numbers than data may be.
    """
    check_room(f"degrees of {num_nodes:,} nodes up to {largest:,}, one-hot,", 8 * num_nodes * (largest + 1))
    return F.one_hot(sink.bincount(minlength=num_nodes).clamp_max(largest), largest + 1).float()


def node_features(given: Sequence[Tensor], sink: Tensor, num_nodes: int, max_degree: int | None) -> Tensor:
    """Given features, ``[nodes, F]`` each, and degrees unless ``max_degree`` is None; without any a constant 1."""
    degrees = () if max_degree is None else (one_hot_degree(sink, num_nodes, max_degree),)
    return torch.cat((*given, *degrees), dim=1) if given or degrees else torch.ones(num_nodes, 1)


def with_graphcl_loops(edge_index: Tensor, node_ptr: Tensor) -> Tensor:
    """Edges and GraphCL's code's self-loops, in the order of the nodes that they lead to, ``[2, edges]``.

    A graph's nodes 0 to m − 1 get one, with m its highest node that has an edge: neither this one nor isolated ones
    after it.
    """
    nodes = torch.arange(int(node_ptr[-1]))
    highest = torch.full((len(node_ptr) - 1,), -1)
    owner = torch.searchsorted(node_ptr, edge_index[1], right=True) - 1
    highest.scatter_reduce_(0, owner, edge_index.amax(dim=0), "amax")
    loops = nodes[nodes < highest.repeat_interleave(node_ptr.diff())]
    joined = torch.cat((edge_index, loops.expand(2, -1)), dim=1)
    return joined[:, joined[1].int().sort(stable=True).indices]
