import random
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import chisquare
from torch import Generator
from torch_geometric.data import Batch, Data
from torch_geometric.nn import global_add_pool
from torch_geometric.utils import subgraph

from datamodules.augmentations import Compose, NodeDrop, Subgraph

BOTH = pytest.mark.parametrize("augmentation", [NodeDrop(0.3), Subgraph(0.3)], ids=["NodeDrop", "Subgraph"])


def seeded(seed=0):
    return Generator().manual_seed(seed)


def graph(size, edges):
    """A node's one feature is its number; edges in both directions."""
    ends = torch.tensor(edges, dtype=torch.long).view(-1, 2).T
    return Data(x=torch.arange(size).float()[:, None], edge_index=torch.cat((ends, ends.flip(0)), dim=1))


def path(size):
    return graph(size, [(i, i + 1) for i in range(size - 1)])


def complete(size):
    return graph(size, list(combinations(range(size), 2)))


def rings(*sizes):
    """One graph of several rings."""
    edges, first = [], 0
    for size in sizes:
        edges += [(first + i, first + (i + 1) % size) for i in range(size)]
        first += size
    return graph(first, edges)


@st.composite
def batches(draw):
    graphs = []
    for size in draw(st.lists(st.integers(1, 12), min_size=1, max_size=6)):
        pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
        edges = torch.tensor(draw(st.lists(pairs, max_size=20)), dtype=torch.long).view(-1, 2).T
        graphs.append(Data(x=torch.arange(size).float()[:, None], edge_index=edges))
    return Batch.from_data_list(graphs)


def components(graph):
    size = graph.num_nodes
    ones = np.ones(graph.edge_index.shape[1])
    return connected_components(coo_array((ones, graph.edge_index.numpy()), shape=(size, size)), directed=False)[1]


def assert_induced(after, before):
    """Each graph is a subgraph on some nodes of the one before, in their order, with all edges among them."""
    assert after.num_graphs == before.num_graphs
    assert after.batch.diff().ge(0).all()
    for new, old in zip(after.to_data_list(), before.to_data_list(), strict=True):
        kept = new.x[:, 0].long()
        assert len(kept) >= 1
        assert kept.diff().gt(0).all()
        expected, _ = subgraph(kept, old.edge_index, relabel_nodes=True, num_nodes=old.num_nodes)
        assert torch.equal(new.edge_index, expected)
        assert torch.equal(new.x, old.x[kept])


@given(batches(), st.sampled_from([0, 0.1, 0.25, 0.5, 0.9, 1]), st.integers(0, 99))
@settings(max_examples=80, deadline=None)
def test_node_drop_keeps_induced_graphs(batch, ratio, seed):
    after = NodeDrop(ratio)(batch, seeded(seed))
    assert_induced(after, batch)
    sizes = batch.ptr.diff().tolist()
    assert after.ptr.diff().tolist() == [size - min(int(ratio * size), size - 1) for size in sizes]


@given(batches(), st.sampled_from([0, 0.1, 0.25, 0.5, 0.9, 1]), st.integers(0, 99))
@settings(max_examples=80, deadline=None)
def test_subgraph_keeps_connected_graphs(batch, ratio, seed):
    after = Subgraph(ratio)(batch, seeded(seed))
    assert_induced(after, batch)
    for new, old in zip(after.to_data_list(), batch.to_data_list(), strict=True):
        label = components(old)
        labels = label[new.x[:, 0].long().numpy()]
        assert components(new).max() == 0
        component = (label == labels[0]).sum()
        assert new.num_nodes == min(max(1, int(ratio * old.num_nodes) + 1), component)


@pytest.mark.parametrize("ratio", [0.1, 0.2])
def test_counts_are_exact_at_any_size(ratio):
    batch = Batch.from_data_list([path(size) for size in range(1, 301)])
    sizes = range(1, 301)
    dropped = batch.ptr.diff() - NodeDrop(ratio)(batch, seeded()).ptr.diff()
    assert dropped.tolist() == [int(ratio * size) for size in sizes]
    kept = Subgraph(ratio)(batch, seeded()).ptr.diff()
    assert kept.tolist() == [int(ratio * size) + 1 for size in sizes]


def test_node_drop_ratio_0_is_identity():
    batch = Batch.from_data_list([path(5), graph(3, []), graph(1, [])])
    after = NodeDrop(0)(batch, seeded())
    assert torch.equal(after.x, batch.x)
    assert torch.equal(after.edge_index, batch.edge_index)
    assert torch.equal(after.batch, batch.batch)
    assert torch.equal(after.ptr, batch.ptr)


def test_subgraph_limits():
    batch = Batch.from_data_list([path(5), rings(3, 4)])
    assert Subgraph(0)(batch, seeded()).ptr.tolist() == [0, 1, 2]
    whole = Subgraph(1)(batch, seeded())
    assert whole.ptr[1] == 5
    assert whole.ptr.diff()[1] in (3, 4)


def test_dropped_nodes_leave_the_read_out():
    batch = Batch.from_data_list([complete(50), complete(50)])
    batch.x = torch.ones(100, 1)
    after = NodeDrop(0.99)(batch, seeded())
    assert global_add_pool(after.x, after.batch, size=2).tolist() == [[1.0], [1.0]]
    assert after.edge_index.shape == (2, 0)


def test_long_path_grows_past_the_first_neighbours():
    batch = Batch.from_data_list([path(50)] * 20)
    for after in Subgraph(0.2)(batch, seeded()).to_data_list():
        kept = after.x[:, 0]
        assert len(kept) == 11
        assert kept.diff().eq(1).all()


def test_edges_count_in_both_directions():
    one_way = path(20)
    one_way.edge_index = one_way.edge_index[:, :19]
    after = Subgraph(0.45)(Batch.from_data_list([one_way] * 30), seeded())
    assert after.ptr.diff().eq(10).all()
    starts = {int(graph.x[0]) for graph in after.to_data_list()}
    assert len(starts) > 3


def test_smaller_component_is_kept_whole():
    batch = Batch.from_data_list([rings(3, 17)] * 200)
    sizes = Counter(Subgraph(0.5)(batch, seeded()).ptr.diff().tolist())
    assert set(sizes) == {3, 11}
    assert 10 < sizes[3] < 60  # a seed of the small ring has probability 3 / 20


@BOTH
def test_graphs_draw_independently(augmentation):
    after = augmentation(Batch.from_data_list([rings(20)] * 30), seeded())
    assert len({tuple(graph.x[:, 0].tolist()) for graph in after.to_data_list()}) > 10


def test_node_drop_is_uniform():
    after = NodeDrop(0.4)(Batch.from_data_list([path(5)] * 10000), seeded())
    counts = Counter(map(tuple, after.x.view(-1, 3).tolist()))
    assert len(counts) == 10
    assert chisquare(list(counts.values())).pvalue > 1e-3


def growth(graph, target):
    """The probability of every kept set when it grows by one uniform neighbour at a time."""
    neighbours = [set() for _ in range(graph.num_nodes)]
    for source, sink in graph.edge_index.T.tolist():
        neighbours[source].add(sink)
    sets = {frozenset([node]): 1 / graph.num_nodes for node in range(graph.num_nodes)}
    for _ in range(target - 1):
        grown = Counter()
        for kept, probability in sets.items():
            border = set().union(*(neighbours[node] for node in kept)) - kept
            for node in border:
                grown[kept | {node}] += probability / len(border)
        sets = grown
    return sets


@pytest.mark.parametrize(
    "kite",
    [
        graph(7, [(0, 1), (0, 2), (0, 3), (1, 2), (3, 4), (4, 5), (4, 6)]),
        graph(7, [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (5, 6), (0, 5)]),  # (0, 5) twice: a neighbour counts once
    ],
)
def test_subgraph_is_distributed_as_growth_by_uniform_neighbours(kite):
    times = 20000
    after = Subgraph(0.5)(Batch.from_data_list([kite] * times), seeded())
    counts = Counter(map(frozenset, after.x.view(-1, 4).tolist()))
    expected = growth(kite, 4)
    assert set(counts) <= set(expected)
    pvalue = chisquare([counts[kept] for kept in expected], [times * p for p in expected.values()]).pvalue
    assert pvalue > 1e-3


@BOTH
def test_reproducible_from_the_generator(augmentation):
    batch = Batch.from_data_list([rings(12), path(9), graph(4, [])])
    one, same, other = (augmentation(batch, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.x, same.x)
    assert torch.equal(one.edge_index, same.edge_index)
    assert not torch.equal(one.x, other.x)


@BOTH
def test_leaves_input_and_global_random_state_alone(augmentation):
    batch = Batch.from_data_list([rings(12), path(9), graph(4, [])])
    before = batch.clone()
    states = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    augmentation(batch, seeded())
    for key in ("x", "edge_index", "batch", "ptr"):
        assert torch.equal(batch[key], before[key])
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (np.random.get_state()[1] == states[1]).all()
    assert random.getstate() == states[2]


@BOTH
def test_single_nodes_and_no_edges(augmentation):
    batch = Batch.from_data_list([graph(1, []), graph(1, [(0, 0)]), graph(5, [])])
    after = augmentation(batch, seeded())
    assert_induced(after, batch)
    assert after.ptr.diff()[:2].tolist() == [1, 1]
    alone = augmentation(Batch.from_data_list([graph(1, [])]), seeded())
    assert alone.ptr.tolist() == [0, 1]
    assert alone.edge_index.shape == (2, 0)


@BOTH
def test_small_molecules_stay_apart_and_finite(augmentation):
    molecules = [rings(6, 5), path(10), rings(6, 6, 1), complete(3), graph(11, [(0, 1), (4, 5)])] * 4
    after = augmentation(Batch.from_data_list(molecules), seeded())
    assert torch.equal(after.batch[after.edge_index[0]], after.batch[after.edge_index[1]])
    simple = [graph for graph, old in zip(after.to_data_list(), molecules, strict=True) if old.num_nodes != 13]
    for one in simple:
        assert len(set(map(tuple, one.edge_index.T.tolist()))) == one.edge_index.shape[1]  # no edge is doubled


def test_compose():
    batch = Batch.from_data_list([rings(20), path(30)])
    after = Compose([NodeDrop(0.1), Subgraph(1)])(batch, seeded())
    assert after.num_graphs == 2
    assert all(components(graph).max() == 0 for graph in after.to_data_list())


@pytest.mark.parametrize("kind", [NodeDrop, Subgraph])
@pytest.mark.parametrize("ratio", [-0.1, 1.1, float("nan")])
def test_refuses_ratio(kind, ratio):
    with pytest.raises(ValueError, match=r"ratio must be in \[0, 1\]"):
        kind(ratio)


@pytest.mark.parametrize("kind", [NodeDrop, Subgraph])
def test_default_precision_does_not_matter(kind):
    batch = Batch.from_data_list([path(999)])
    expected = kind()(batch, seeded())
    torch.set_default_dtype(torch.bfloat16)
    try:
        after = kind()(batch, seeded())
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(after.x, expected.x)


@pytest.mark.gpu
@BOTH
def test_same_properties_on_the_device(augmentation):
    batch = Batch.from_data_list([rings(12), path(9), graph(4, []), graph(1, [])]).to("cuda")
    after = augmentation(batch, Generator(device="cuda").manual_seed(0))
    assert after.x.is_cuda
    assert_induced(after.cpu(), batch.cpu())
