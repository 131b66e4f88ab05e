"""The batched code against plain loops over one graph, written from notes on what GraphCL's code does."""

import random
from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare
from torch import Generator
from torch_geometric.data import Batch, Data

from datamodules.augmentations import GraphCL
from datamodules.graphs.augmentations.graphcl_legacy import (
    LegacyEdgePerturbation,
    LegacyNodeDrop,
    LegacySubgraph,
    WithoutIsolated,
)
from datamodules.graphs.edges import with_graphcl_loops
from datamodules.graphs.packed import edge_pointer
from lightning_renyicl.encoders import GIN

CLEANED = ["dnodes", "subgraph", "random2", "random3", "random4"]


def seeded(seed=0):
    return Generator().manual_seed(seed)


def both(edges):
    return [*edges, *((b, a) for a, b in edges)]


def loaded(edges):
    """Edges in both directions and the self-loops of nodes 0 to m - 1, m the highest in an edge; by end."""
    edges = both(edges)
    highest = max(max(edge) for edge in edges) if edges else 0
    for node in range(highest):
        edges.append((node, node))
    return sorted(edges, key=lambda edge: edge[1])


def without_loops(edges):
    return sorted(both(edges), key=lambda edge: edge[1])


def as_data(size, edges):
    """A node's one feature is its number."""
    ends = torch.tensor(edges, dtype=torch.long).view(-1, 2).T.contiguous()
    return Data(x=torch.arange(size).float()[:, None], edge_index=ends)


def drop_nodes(size, edges, draw):
    left, dropped = list(range(size)), set()
    for _ in range(int(size / 10)):
        dropped.add(left.pop(draw(len(left))))
    return [(a, b) for a, b in edges if a not in dropped and b not in dropped]


def grow_subgraph(size, edges, draw):
    kept = [draw(size)]
    neighbours = sorted({b for a, b in edges if a == kept[0]})
    tries = 0
    while neighbours and len(kept) < int(0.2 * size) + 1 and tries < size:
        tries += 1
        node = neighbours[draw(len(neighbours))]
        if node not in kept:
            kept.append(node)
    return [(a, b) for a, b in edges if a in kept and b in kept]


def remove_edges(size, edges, draw):
    left = list(edges)
    for _ in range(int(len(edges) / 10)):
        left.pop(draw(len(left)))
    return left


def mask_nodes(size, edges, draw):
    return edges


def remove_isolated(size, edges):
    """The nodes that have an edge, self-loops included, and the edges that are none between their new numbers."""
    nodes = [node for node in range(size) if any(node in edge for edge in edges)]
    return nodes, [(nodes.index(a), nodes.index(b)) for a, b in edges if a != b]


class Draws:
    """Numbers below n as a path says and zeros after it; ``others`` are the paths that branch off these zeros."""

    def __init__(self, path):
        self.path = list(path)
        self.taken = []
        self.others = []
        self.probability = 1.0

    def __call__(self, n):
        place = len(self.taken)
        if place == len(self.path):
            self.others += [[*self.taken, other] for other in range(1, n)]
            self.path.append(0)
        self.taken.append(self.path[place])
        self.probability /= n
        return self.taken[-1]


def distribution(procedure):
    """The probability of every result of a procedure that draws numbers below n as ``draw(n)``: tries all of them."""
    result, waiting = Counter(), [[]]
    while waiting:
        draw = Draws(waiting.pop())
        result[procedure(draw)] += draw.probability
        waiting += draw.others
    return result


def test_distribution_tries_everything():
    two_dice = distribution(lambda draw: draw(2) + draw(3))
    assert {total: round(6 * probability) for total, probability in two_dice.items()} == {0: 1, 1: 2, 2: 2, 3: 1}
    stopped = distribution(lambda draw: "early" if draw(4) == 0 else f"late {draw(2)}")
    assert stopped == {"early": 0.25, "late 0": 0.375, "late 1": 0.375}


def edge_sets(batch):
    """The edges of every graph, with its own numbers of its nodes."""
    local = batch.edge_index - batch.ptr[batch.batch[batch.edge_index[0]]]
    edges = list(map(tuple, local.T.tolist()))
    ptr = edge_pointer(batch).tolist()
    return [frozenset(edges[start:end]) for start, end in pairwise(ptr)]


def shapes(batch):
    """The number of nodes and the edges of every graph."""
    return list(zip(batch.ptr.diff().tolist(), edge_sets(batch), strict=True))


def assert_distributed(outcomes, expected):
    """Chi-square test of how often outcomes come, the rarest ones taken together."""
    counts = Counter(outcomes)
    assert counts.keys() <= expected.keys()
    observed, means = [0], [0.0]
    for outcome, probability in sorted(expected.items(), key=lambda item: item[1]):
        if means[-1] >= 8:
            observed.append(0)
            means.append(0.0)
        observed[-1] += counts[outcome]
        means[-1] += probability * len(outcomes)
    assert len(means) > 2
    assert chisquare(observed, means).pvalue > 1e-3


KITE = (10, loaded([(0, 1), (0, 2), (0, 4), (1, 2), (4, 5), (5, 6), (7, 8)]))  # 3 lies alone in between, 9 at the end
STAR = (10, loaded([(9, node) for node in range(6)]))  # the hub has no self-loop
BARE = (10, without_loops([(0, 1), (1, 2), (0, 2), (2, 3), (5, 6)]))
SMALL = (9, loaded([(0, 1), (1, 2), (2, 3), (3, 0), (2, 7)]))
TINY = (4, loaded([(0, 1), (1, 2)]))
RING = (20, loaded([(node, (node + 1) % 20) for node in range(20)]))
GRAPHS = {"kite": KITE, "star": STAR, "bare": BARE, "small": SMALL, "tiny": TINY}


@pytest.mark.parametrize("name", ["kite", "star", "small", "tiny", "ring"])
def test_loops_at_load(name):
    size, edges = RING if name == "ring" else GRAPHS[name]
    plain = torch.tensor([edge for edge in edges if edge[0] != edge[1]]).T.contiguous()
    expected = torch.tensor(edges).T
    after = with_graphcl_loops(plain, torch.tensor([0, size]))
    assert Counter(map(tuple, after.T.tolist())) == Counter(map(tuple, expected.T.tolist()))
    assert after[1].tolist() == expected[1].tolist()
    two = with_graphcl_loops(torch.cat((plain, plain + size), dim=1), torch.tensor([0, size, 2 * size, 2 * size + 1]))
    assert torch.equal(two, torch.cat((after, after + size), dim=1))


@pytest.mark.parametrize("name", ["kite", "star", "bare", "ring"])
def test_node_drop(name):
    size, edges = RING if name == "ring" else GRAPHS[name]
    batch = Batch.from_data_list([as_data(size, edges)] * 3000)
    after = LegacyNodeDrop()(batch, seeded())
    assert torch.equal(after.x, batch.x)
    assert torch.equal(after.ptr, batch.ptr)
    expected = distribution(lambda draw: frozenset(drop_nodes(size, edges, draw)))
    assert_distributed(edge_sets(after), expected)


@pytest.mark.parametrize("name", GRAPHS)
def test_subgraph(name):
    size, edges = GRAPHS[name]
    batch = Batch.from_data_list([as_data(size, edges)] * 6000)
    after = LegacySubgraph()(batch, seeded())
    assert torch.equal(after.x, batch.x)
    assert torch.equal(after.ptr, batch.ptr)
    expected = distribution(lambda draw: frozenset(grow_subgraph(size, edges, draw)))
    assert_distributed(edge_sets(after), expected)


def test_subgraph_of_20_nodes():
    size, edges = 20, loaded([*((0, node) for node in range(1, 7)), (1, 2), (8, 9), (8, 10), (8, 11), (12, 18)])
    after = LegacySubgraph()(Batch.from_data_list([as_data(size, edges)] * 4000), seeded())
    batched = Counter(edge_sets(after))
    numbers = random.Random(0)
    looped = Counter(frozenset(grow_subgraph(size, edges, numbers.randrange)) for _ in range(4000))
    often = [kept for kept in batched | looped if batched[kept] + looped[kept] >= 20]
    table = [
        [counts[kept] for kept in often] + [4000 - sum(counts[kept] for kept in often)] for counts in (batched, looped)
    ]
    assert len(often) > 20
    assert chi2_contingency(table).pvalue > 1e-3
    most = max(len({node for edge in kept for node in edge}) for kept in batched)
    assert most == int(0.2 * size) + 1


def test_subgraph_never_reaches_neighbours_of_neighbours():
    size, edges = 30, loaded([(node, node + 1) for node in range(29)])
    after = WithoutIsolated()(LegacySubgraph()(Batch.from_data_list([as_data(size, edges)] * 300), seeded()), seeded())
    assert set(after.ptr.diff().tolist()) == {2, 3}  # of the 7 that were wanted


@pytest.mark.parametrize("name", ["kite", "star", "bare"])
def test_edge_perturbation(name):
    size, edges = GRAPHS[name]
    assert len(edges) // 10 == {"kite": 2, "star": 2, "bare": 1}[name]
    batch = Batch.from_data_list([as_data(size, edges)] * 3000)
    after = LegacyEdgePerturbation()(batch, seeded())
    assert torch.equal(after.x, batch.x)
    assert torch.equal(after.ptr, batch.ptr)
    expected = distribution(lambda draw: frozenset(remove_edges(size, edges, draw)))
    assert_distributed(edge_sets(after), expected)


def test_edge_perturbation_keeps_fewer_than_10_edges():
    batch = Batch.from_data_list([as_data(*TINY), as_data(3, []), as_data(4, [(0, 1)] * 9)])
    after = LegacyEdgePerturbation()(batch, seeded())
    assert torch.equal(after.edge_index, batch.edge_index)


def test_shares_at_any_size():
    sizes = range(1, 121)
    paths = [loaded([(node, node + 1) for node in range(size - 1)]) for size in sizes]
    batch = Batch.from_data_list([as_data(size, edges) for size, edges in zip(sizes, paths, strict=True)])
    perturbed = edge_sets(LegacyEdgePerturbation()(batch, seeded()))
    assert [len(edges) for edges in perturbed] == [len(edges) - int(len(edges) / 10) for edges in paths]
    complete = [both(list(combinations(range(size), 2))) + [(node, node) for node in range(size)] for size in sizes]
    batch = Batch.from_data_list([as_data(size, edges) for size, edges in zip(sizes, complete, strict=True)])
    dropped = WithoutIsolated()(LegacyNodeDrop()(batch, seeded()), seeded())
    assert dropped.ptr.diff().tolist() == [size - int(size / 10) for size in sizes]
    kept = WithoutIsolated()(LegacySubgraph()(batch, seeded()), seeded()).ptr.diff().tolist()
    assert all(number <= int(0.2 * size) + 1 for number, size in zip(kept, sizes, strict=True))
    # N tries find a fifth of N neighbours but for the smallest graphs
    assert kept[20:] == [int(0.2 * size) + 1 for size in sizes][20:]


@st.composite
def batches(draw):
    graphs = []
    for size in draw(st.lists(st.integers(1, 9), min_size=1, max_size=6)):
        node = st.integers(0, size - 1)
        graphs.append((size, draw(st.lists(st.tuples(node, node), max_size=10))))
    return graphs


@given(batches())
@settings(max_examples=50, deadline=None)
def test_without_isolated(graphs):
    batch = Batch.from_data_list([as_data(size, edges) for size, edges in graphs])
    before = batch.clone()
    after = WithoutIsolated()(batch, seeded())
    assert type(after) is type(batch)
    assert after.num_graphs == len(graphs)
    assert len(after.ptr) == len(graphs) + 1
    assert after.batch.tolist() == [
        owner for owner, (size, edges) in enumerate(graphs) for _ in remove_isolated(size, edges)[0]
    ]
    for new, (size, edges) in zip(after.to_data_list(), graphs, strict=True):
        nodes, kept = remove_isolated(size, edges)
        assert new.x.tolist() == [[node] for node in nodes]
        assert new.edge_index.dtype == torch.long
        assert list(map(tuple, new.edge_index.T.tolist())) == kept
    for key in ("x", "edge_index", "batch", "ptr"):
        assert torch.equal(batch[key], before[key])


def test_without_isolated_by_hand():
    # 0 has a self-loop alone, 1 nothing, 2 and 3 an edge, 4 nothing
    batch = Batch.from_data_list([as_data(5, [(0, 0), (3, 2), (2, 3), (2, 2)]), as_data(2, []), as_data(2, [(1, 1)])])
    after = WithoutIsolated()(batch, seeded())
    assert after.x[:, 0].tolist() == [0, 2, 3, 1]
    assert after.edge_index.tolist() == [[2, 1], [1, 2]]
    assert after.ptr.tolist() == [0, 3, 3, 4]
    assert after.batch.tolist() == [0, 0, 0, 2]


LOOPS = {"dnodes": drop_nodes, "subgraph": grow_subgraph, "pedges": remove_edges, "mask_nodes": mask_nodes}


def shape_after(name, graph, draw):
    """Number of nodes and edges after one of GraphCL's augmentations of the command line's name."""
    size, edges = graph
    if name.startswith("random"):
        name = list(LOOPS)[: int(name[-1])][draw(int(name[-1]))]
        nodes, edges = remove_isolated(size, LOOPS[name](size, edges, draw))
        return len(nodes), frozenset(edges)
    edges = LOOPS[name](size, edges, draw)
    if name in CLEANED:
        nodes, edges = remove_isolated(size, edges)
        size = len(nodes)
    return size, frozenset(edges)


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        ("dnodes", "kite"),
        ("subgraph", "bare"),
        ("pedges", "star"),
        ("random2", "star"),
        ("random3", "kite"),
        ("random4", "star"),
    ],
)
def test_choices(choice, name):
    size, edges = GRAPHS[name]
    batch = Batch.from_data_list([as_data(size, edges)] * 2500)
    after = GraphCL(choice, legacy=True)(batch, seeded())
    assert_distributed(shapes(after), distribution(lambda draw: shape_after(choice, GRAPHS[name], draw)))


def test_masked_nodes():
    size, edges = KITE
    batch = Batch.from_data_list([as_data(size, edges)] * 6000)
    batch.x = batch.x + 1000
    after = GraphCL("mask_nodes", legacy=True)(batch, seeded())
    for key in ("edge_index", "batch", "ptr"):
        assert torch.equal(after[key], batch[key])
    masked = (after.x != batch.x).view(-1, size)
    assert (masked.sum(dim=1) == 1).all()
    assert chisquare(masked.sum(dim=0).numpy()).pvalue > 1e-3
    noise = after.x[after.x != batch.x]
    # 4 standard errors
    assert abs(float(noise.mean()) - 0.5) < 4 * 0.5 / 6000**0.5
    assert abs(float(noise.std()) - 0.5) < 4 * 0.5 / 12000**0.5


@pytest.mark.parametrize("choice", [*CLEANED, "pedges", "mask_nodes"])
def test_all_choices_but_two_clean_up(choice):
    # fewer than 10 nodes and edges, so that only subgraphs change anything else
    batch = Batch.from_data_list([as_data(5, loaded([(0, 1), (1, 3)])), as_data(2, [])] * 100)
    after = GraphCL(choice, legacy=True)(batch, seeded())
    if choice not in CLEANED:
        for key in ("x", "edge_index", "batch", "ptr"):
            assert torch.equal(after[key], batch[key])
        return
    assert after.edge_index[0].ne(after.edge_index[1]).all()
    assert after.ptr.diff()[1::2].eq(0).all()
    sizes = set(after.ptr.diff()[::2].tolist())
    assert sizes == {"dnodes": {4}, "subgraph": {0, 1, 2}}.get(choice, {0, 1, 2, 4})


@pytest.mark.parametrize("choice", ["subgraph", "random2", "random3", "random4"])
def test_other_shares_do_not_matter(choice):
    batch = Batch.from_data_list([as_data(*KITE), as_data(*RING)] * 10)
    ratios = {"ratio": 0.9, "subgraph_ratio": 0.9}
    one, other = (GraphCL(choice, **given, legacy=True)(batch, seeded()) for given in ({}, ratios))
    assert torch.equal(one.x, other.x)
    assert torch.equal(one.edge_index, other.edge_index)


@pytest.mark.parametrize("choice", CLEANED)
def test_graphs_that_lose_everything_keep_their_row(choice):
    pair, nothing = as_data(2, loaded([(0, 1)])), as_data(3, [])
    graphs = [nothing, pair, as_data(*RING), nothing, nothing, pair, pair, as_data(*KITE), pair, nothing]
    batch = Batch.from_data_list(graphs)
    after = GraphCL(choice, legacy=True)(batch, seeded(4))
    lost = after.ptr.diff() == 0
    assert len(after.ptr) == len(graphs) + 1
    assert after.num_graphs == len(graphs)
    assert lost[[0, 3, 4, 9]].all()
    assert not lost[2]
    torch.manual_seed(0)
    encoder = GIN(in_features=1, width=4, layers=2)
    rows = encoder(after)
    assert rows.shape == (len(graphs), 8)
    assert rows[lost].eq(0).all()
    rows.square().sum().backward()
    assert all(weight.grad.isfinite().all() for weight in encoder.parameters())
    encoder.eval()
    parts = after.to_data_list()
    alone = torch.cat([encoder(Batch.from_data_list([part])) for part in parts if part.num_nodes])
    torch.testing.assert_close(encoder(after)[~lost], alone)


def test_half_of_all_pairs_vanish_as_subgraphs():
    after = GraphCL("subgraph", legacy=True)(Batch.from_data_list([as_data(2, loaded([(0, 1)]))] * 2000), seeded())
    sizes = after.ptr.diff().bincount()
    assert len(sizes) == 2  # the seed has a self-loop and stays, or has none and goes
    assert chisquare(sizes.numpy()).pvalue > 1e-3
    assert (after.x == 0).all()


def test_batch_without_any_node_left():
    after = GraphCL("dnodes", legacy=True)(Batch.from_data_list([as_data(3, []), as_data(1, [])]), seeded())
    assert after.ptr.tolist() == [0, 0, 0]
    assert after.edge_index.shape == (2, 0)
    assert GIN(in_features=1, width=4, layers=2).eval()(after).tolist() == [[0.0] * 8] * 2


EVERY = pytest.mark.parametrize("choice", [*CLEANED, "pedges", "mask_nodes"])


@EVERY
def test_graphs_stay_in_order_and_apart(choice):
    sizes = [12, 1, 30, 10, 2, 20, 11]
    graphs = [as_data(size, loaded([(node, node + 1) for node in range(size - 1)])) for size in sizes]
    for number, graph in enumerate(graphs):
        graph.x = torch.full((len(graph.x), 12), float(100 + number))
    batch = Batch.from_data_list(graphs)
    after = GraphCL(choice, legacy=True)(batch, seeded())
    assert after.num_graphs == len(sizes)
    assert after.batch.diff().ge(0).all()
    assert torch.equal(after.batch[after.edge_index[0]], after.batch[after.edge_index[1]])
    assert after.edge_index[1].diff().ge(0).all()
    original = after.x[:, 0] > 50
    assert torch.equal((after.x[:, 0] - 100)[original].long(), after.batch[original])
    parts = after.to_data_list()
    assert [part.num_nodes for part in parts] == after.ptr.diff().tolist()
    assert sum(part.num_edges for part in parts) == after.num_edges


@EVERY
def test_reproducible_from_the_generator(choice):
    batch = Batch.from_data_list([as_data(*KITE), as_data(*RING)] * 10)
    one, same, other = (GraphCL(choice, legacy=True)(batch, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.x, same.x)
    assert torch.equal(one.edge_index, same.edge_index)
    assert not torch.equal(one.x, other.x) or not torch.equal(one.edge_index, other.edge_index)


@EVERY
def test_leaves_input_and_global_random_state_alone(choice):
    batch = Batch.from_data_list([as_data(*KITE), as_data(*RING), as_data(4, [])])
    before = batch.clone()
    states = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    GraphCL(choice, legacy=True)(batch, seeded())
    for key in ("x", "edge_index", "batch", "ptr"):
        assert torch.equal(batch[key], before[key])
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (np.random.get_state()[1] == states[1]).all()
    assert random.getstate() == states[2]


@pytest.mark.gpu
@EVERY
def test_same_properties_on_the_device(choice):
    batch = Batch.from_data_list([as_data(*KITE)] * 3000)
    after = GraphCL(choice, legacy=True)(batch.to("cuda"), Generator(device="cuda").manual_seed(0))
    assert after.x.is_cuda
    if choice != "mask_nodes":
        assert_distributed(shapes(after.cpu()), distribution(lambda draw: shape_after(choice, KITE, draw)))
