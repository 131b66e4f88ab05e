import random
from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare
from torch import Generator
from torch_geometric.data import Batch, Data

from datamodules.augmentations import Compose, EdgePerturbation, NodeDrop
from datamodules.graphs.augmentations.edge_perturbation import _ends, _number
from datamodules.graphs.packed import edge_pointer


def seeded(seed=0):
    return Generator().manual_seed(seed)


def directed(size, edges):
    """A node's features are its number and a hundred times the number of nodes."""
    x = torch.stack((torch.arange(size).float(), torch.full((size,), 100.0 * size)), dim=1)
    return Data(x=x, edge_index=torch.tensor(edges, dtype=torch.long).view(-1, 2).T.contiguous())


def both(edges):
    return [*edges, *((b, a) for a, b in edges)]


def graph(size, edges):
    return directed(size, both(edges))


def path(size):
    return graph(size, [(i, i + 1) for i in range(size - 1)])


def ring(size):
    return graph(size, [(i, (i + 1) % size) for i in range(size)])


def complete(size):
    return graph(size, list(combinations(range(size), 2)))


def pairs(graph):
    """For every pair of joined nodes how often it is joined upward and downward; self-loops lie on the diagonal."""
    found = {}
    for source, sink in graph.edge_index.T.tolist():
        ways = found.setdefault((min(source, sink), max(source, sink)), [0, 0])
        ways[source > sink] += 1
    return {pair: tuple(ways) for pair, ways in found.items()}


def perturbed(ratio, batch, generator):
    """The batch after an EdgePerturbation, and with it how many edges that says it added."""
    augmentation = EdgePerturbation(ratio)
    after = augmentation(batch, generator)
    after.added_edges = augmentation.added_edges
    return after


def assert_perturbed(after, before, ratio):
    """All that must hold whatever was drawn."""
    assert type(after) is type(before)
    assert after.num_graphs == before.num_graphs
    assert torch.equal(after.x, before.x)
    assert torch.equal(after.ptr, before.ptr)
    assert torch.equal(after.batch, before.batch)
    assert after.edge_index.dtype == torch.long
    assert after.edge_index[1].diff().ge(0).all()
    assert torch.equal(after.batch[after.edge_index[0]], after.batch[after.edge_index[1]])
    added_edges = 0
    for new, old in zip(after.to_data_list(), before.to_data_list(), strict=True):
        size = old.num_nodes
        assert torch.equal(new.x, old.x)
        now, then = pairs(new), pairs(old)
        assert all(0 <= low <= high < size for low, high in now)
        assert {pair: now[pair] for pair in now if pair[0] == pair[1]} == {
            pair: then[pair] for pair in then if pair[0] == pair[1]
        }
        joined = {pair for pair in then if pair[0] != pair[1]}
        added, removed = now.keys() - then.keys(), then.keys() - now.keys()
        free = size * (size - 1) // 2 - len(joined)
        assert len(added) == len(removed) == min(int(ratio * len(joined)), free)
        assert all(now[pair] == then[pair] for pair in now.keys() & then.keys())
        assert Counter(now[pair] for pair in added) == Counter(then[pair] for pair in removed)
        added_edges += sum(sum(now[pair]) for pair in added)
    assert after.added_edges == added_edges


@st.composite
def batches(draw, symmetric):
    graphs = []
    for size in draw(st.lists(st.integers(1, 8), min_size=1, max_size=5)):
        node = st.integers(0, size - 1)
        edges = draw(st.lists(st.tuples(node, node), max_size=24))
        if symmetric:
            edges = sorted({tuple(sorted(edge)) for edge in edges if edge[0] != edge[1]})
        graphs.append((graph if symmetric else directed)(size, edges))
    return Batch.from_data_list(graphs)


RATIOS = st.sampled_from([0, 0.1, 0.25, 0.5, 0.9, 1])


@given(batches(symmetric=True), RATIOS, st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_symmetric_graphs(batch, ratio, seed):
    after = perturbed(ratio, batch, seeded(seed))
    assert_perturbed(after, batch, ratio)
    for new in after.to_data_list():
        edges = set(map(tuple, new.edge_index.T.tolist()))
        assert len(edges) == new.edge_index.shape[1]
        assert edges == {(sink, source) for source, sink in edges}


@given(batches(symmetric=False), RATIOS, st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_any_graphs(batch, ratio, seed):
    assert_perturbed(perturbed(ratio, batch, seeded(seed)), batch, ratio)


def test_one_edge_and_one_place_for_it():
    # 3 nodes, 2 edges, 1 free pair: half of the edges is one, which goes to the free pair
    outcomes = {
        frozenset(pairs(perturbed(0.5, Batch.from_data_list([path(3)]), seeded(seed)).to_data_list()[0]))
        for seed in range(20)
    }
    assert outcomes == {frozenset({(0, 1), (0, 2)}), frozenset({(1, 2), (0, 2)})}


def test_everything_goes_where_nothing_was():
    # of 4 nodes and 3 edges all edges leave and all 3 free pairs are joined: the path 0-1-2-3 becomes 1-3-0-2
    after = perturbed(1, Batch.from_data_list([path(4), path(4)]), seeded())
    edges = both([(1, 3), (3, 0), (0, 2), (5, 7), (7, 4), (4, 6)])
    assert sorted(map(tuple, after.edge_index.T.tolist())) == sorted(edges)
    assert after.edge_index[1].tolist() == [0, 0, 1, 2, 3, 3, 4, 4, 5, 6, 7, 7]
    assert after.added_edges == 12


def test_one_way_edges_stay_one_way():
    upward = directed(3, [(0, 1)])
    downward = directed(3, [(2, 1)])
    seen = set()
    for seed in range(20):
        after = perturbed(1, Batch.from_data_list([upward, downward]), seeded(seed))
        assert after.added_edges == 2
        first, second = after.to_data_list()
        seen.add((tuple(first.edge_index.flatten().tolist()), tuple(second.edge_index.flatten().tolist())))
    assert seen == {(one, other) for one in ((0, 2), (1, 2)) for other in ((1, 0), (2, 0))}


@pytest.mark.parametrize("ratio", [0, 0.05])
def test_no_edge_to_replace_is_identity(ratio):
    graphs = [ring(12), graph(3, []), directed(4, [(3, 0), (0, 0), (1, 2), (2, 1)]), graph(1, [])]
    batch = Batch.from_data_list(graphs)
    after = perturbed(ratio, batch, seeded())
    assert_perturbed(after, batch, ratio)
    assert after.added_edges == 0
    order = batch.edge_index[1].argsort(stable=True)
    assert torch.equal(after.edge_index, batch.edge_index[:, order])


def test_ratio_1_replaces_every_edge_where_it_can():
    batch = Batch.from_data_list([ring(12), path(9), complete(4), graph(2, [(0, 1)]), graph(5, [(0, 1)])])
    after = perturbed(1, batch, seeded())
    assert_perturbed(after, batch, 1)
    new, old = ([set(pairs(one)) for one in whole.to_data_list()] for whole in (after, batch))
    assert not new[0] & old[0]
    assert not new[1] & old[1]
    assert new[2:4] == old[2:4]
    assert not new[4] & old[4]


@pytest.mark.parametrize("ratio", [0.1, 0.5, 1])
def test_complete_graphs_stay(ratio):
    batch = Batch.from_data_list([complete(size) for size in (1, 2, 3, 4, 7)])
    after = perturbed(ratio, batch, seeded())
    assert_perturbed(after, batch, ratio)
    assert after.added_edges == 0
    assert [pairs(one) for one in after.to_data_list()] == [pairs(one) for one in batch.to_data_list()]


@pytest.mark.parametrize("missing", [1, 2, 5])
def test_nearly_complete_graphs_lose_no_more_than_they_gain(missing):
    edges = list(combinations(range(7), 2))
    batch = Batch.from_data_list([graph(7, edges[missing:])])
    after = perturbed(0.9, batch, seeded())
    assert_perturbed(after, batch, 0.9)
    assert after.added_edges == 2 * missing
    assert set(edges[:missing]) <= pairs(after.to_data_list()[0]).keys()


def test_self_loops_stay_and_do_not_count():
    loops = [(node, node) for node in range(6)]
    with_loops = directed(6, [*loops, (0, 1), (1, 0), (2, 3), (3, 2), *loops])
    batch = Batch.from_data_list([with_loops, directed(2, [(0, 0), (1, 1), (1, 1)]), directed(1, [(0, 0)])] * 50)
    for ratio in (0.49, 0.5, 1):
        after = perturbed(ratio, batch, seeded())
        assert_perturbed(after, batch, ratio)
        assert after.added_edges == 50 * {0.49: 0, 0.5: 2, 1: 4}[ratio]


def test_no_edges_and_single_nodes():
    for graphs in ([graph(1, [])], [graph(2, [])], [graph(1, []), graph(4, []), graph(1, [])]):
        batch = Batch.from_data_list(graphs)
        after = perturbed(1, batch, seeded())
        assert_perturbed(after, batch, 1)
        assert after.edge_index.shape == (2, 0)
        assert after.added_edges == 0


def test_edgeless_graphs_among_others_keep_their_place():
    sizes = [1, 5, 12, 1, 9, 3]
    graphs = [graph(1, []), graph(5, []), ring(12), graph(1, []), path(9), graph(3, [])]
    batch = Batch.from_data_list(graphs)
    after = perturbed(0.5, batch, seeded())
    assert_perturbed(after, batch, 0.5)
    parts = after.to_data_list()
    assert [int(part.x[0, 1]) for part in parts] == [100 * size for size in sizes]
    assert [part.edge_index.shape[1] for part in parts] == [0, 0, 24, 0, 16, 0]
    assert edge_pointer(after).tolist() == [0, 0, 0, 24, 24, 40, 40]


def test_counts_are_exact_at_any_size():
    batch = Batch.from_data_list([path(size) for size in range(5, 205)])
    after = perturbed(0.1, batch, seeded())
    assert_perturbed(after, batch, 0.1)
    assert after.added_edges == sum(2 * (edges // 10) for edges in range(4, 204))


def counted_outcomes(batch, possible):
    """How often each possible set of directed edges came, of one small graph many times."""
    size = int(batch.ptr[1])
    owner = batch.batch[batch.edge_index[0]]
    local = batch.edge_index - batch.ptr[owner]
    codes = (local[0] * size + local[1]).view(batch.num_graphs, -1).sort(dim=1).values.tolist()
    counts = Counter(map(tuple, codes))
    codes_of = [tuple(sorted(source * size + sink for source, sink in outcome)) for outcome in possible]
    assert len(set(codes_of)) == len(codes_of)
    assert counts.keys() <= set(codes_of)
    return [counts[code] for code in codes_of]


@pytest.mark.parametrize(
    ("size", "edges", "replaced"),
    [
        (4, [(0, 1), (1, 2), (2, 3)], 1),
        (4, [(0, 1), (1, 2), (2, 3)], 2),
        (5, [(0, 4), (1, 4), (2, 4), (3, 4)], 1),
        (5, [(0, 1), (2, 3)], 2),
        (5, [pair for pair in combinations(range(5), 2) if pair not in ((0, 1), (2, 4))], 2),
    ],
)
def test_every_outcome_is_equally_likely(size, edges, replaced):
    free = set(combinations(range(size), 2)) - set(edges)
    possible = [
        both([*(edge for edge in edges if edge not in removed), *added])
        for removed in combinations(edges, replaced)
        for added in combinations(sorted(free), replaced)
    ]
    batch = Batch.from_data_list([graph(size, edges)] * 3000)
    after = EdgePerturbation(replaced / len(edges))(batch, seeded())
    assert chisquare(counted_outcomes(after, possible)).pvalue > 1e-3


def test_every_new_edge_may_take_the_direction_of_every_old_one():
    old = {(0, 1): [(0, 1)], (1, 2): [(1, 2), (2, 1)], (2, 3): [(3, 2)]}
    upward, two_way, downward = (lambda a, b: [(a, b)]), (lambda a, b: both([(a, b)])), (lambda a, b: [(b, a)])
    ways = {(0, 1): upward, (1, 2): two_way, (2, 3): downward}
    possible = [
        [*old[stays], *ways[one](*added[0]), *ways[other](*added[1])]
        for stays in old
        for one, other in combinations(sorted(set(old) - {stays}), 2)
        for added in permutations([(0, 2), (0, 3), (1, 3)], 2)
    ]
    assert len(possible) == 18
    batch = Batch.from_data_list([directed(4, [(0, 1), (1, 2), (2, 1), (3, 2)])] * 3000)
    after = perturbed(0.7, batch, seeded())
    owner = after.batch[after.edge_index[0]]
    local = (after.edge_index - after.ptr[owner]).T
    lists = local.split(owner.bincount().tolist())
    counts = Counter(frozenset(map(tuple, edges.tolist())) for edges in lists)
    assert counts.keys() <= {frozenset(outcome) for outcome in possible}
    assert chisquare([counts[frozenset(outcome)] for outcome in possible]).pvalue > 1e-3


def test_graphs_draw_independently():
    batch = Batch.from_data_list([path(3)] * 8000)
    keeps_first = pairs_kept(perturbed(0.5, batch, seeded()))
    table = np.zeros((2, 2), dtype=int)
    np.add.at(table, (keeps_first[::2], keeps_first[1::2]), 1)
    assert chi2_contingency(table).pvalue > 1e-3
    after = perturbed(0.5, Batch.from_data_list([ring(20)] * 30), seeded())
    assert len({frozenset(pairs(one)) for one in after.to_data_list()}) == 30


def pairs_kept(batch):
    """Whether nodes 0 and 1 are joined, 1 for each graph in which they are."""
    owner = batch.batch[batch.edge_index[0]]
    local = batch.edge_index - batch.ptr[owner]
    return owner[(local[0] == 0) & (local[1] == 1)].bincount(minlength=batch.num_graphs).numpy()


def test_large_graphs():
    # pairs of 30,000 nodes have numbers far above what float32 can tell apart
    batch = Batch.from_data_list([graph(3, [(0, 2)]), ring(30_000), path(4)])
    after = perturbed(1, batch, seeded())
    source, sink = after.edge_index[:, 2:-6] - 3
    assert 0 <= min(source.min(), sink.min()) <= max(source.max(), sink.max()) < 30_000
    assert source.ne(sink).all()
    keys = source * 30_000 + sink
    assert len(keys) == len(keys.unique()) == 60_000
    assert torch.equal(keys.sort().values, (sink * 30_000 + source).sort().values)
    apart = (source - sink).abs()
    assert not ((apart == 1) | (apart == 29_999)).any()
    assert chisquare((source // 3000).bincount(minlength=10).numpy()).pvalue > 1e-3


def test_pairs_are_numbered_from_0_without_gaps():
    every = torch.tensor(sorted(combinations(range(60), 2), key=lambda pair: pair[::-1])).T
    numbers = torch.arange(every.shape[1])
    assert torch.equal(_number(*every), numbers)
    assert torch.equal(_number(*every.flip(0)), numbers)
    assert torch.equal(_ends(numbers), every)


def test_pairs_of_large_graphs_have_a_number_each():
    high = torch.cat((torch.arange(1, 5000), torch.randint(5000, 1_400_000, (20_000,), generator=seeded())))
    for low in (torch.zeros_like(high), high - 1, high // 2, high // 3):
        assert torch.equal(_ends(_number(low, high)), torch.stack((low, high)))


def test_reproducible_from_the_generator():
    batch = Batch.from_data_list([ring(12), path(9), graph(4, [])])
    one, same, other = (perturbed(0.5, batch, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.edge_index, same.edge_index)
    assert not torch.equal(one.edge_index, other.edge_index)


def test_leaves_input_and_global_random_state_alone():
    batch = Batch.from_data_list([ring(12), path(9), graph(4, []), directed(2, [(0, 0), (1, 0)])])
    before = batch.clone()
    states = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    perturbed(0.5, batch, seeded())
    assert sorted(batch.keys()) == sorted(before.keys())
    for key in ("x", "edge_index", "batch", "ptr"):
        assert torch.equal(batch[key], before[key])
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (np.random.get_state()[1] == states[1]).all()
    assert random.getstate() == states[2]


def test_default_precision_does_not_matter():
    batch = Batch.from_data_list([path(999)])
    expected = perturbed(0.1, batch, seeded())
    torch.set_default_dtype(torch.bfloat16)
    try:
        after = perturbed(0.1, batch, seeded())
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(after.edge_index, expected.edge_index)


def test_order_of_edges_within_graphs_does_not_matter():
    tidy = ring(10)
    shuffled = tidy.clone()
    shuffled.edge_index = tidy.edge_index[:, torch.randperm(20, generator=seeded(3))]
    one, other = (perturbed(0.3, Batch.from_data_list([g, path(8)]), seeded()) for g in (tidy, shuffled))
    assert_perturbed(other, Batch.from_data_list([shuffled, path(8)]), 0.3)
    assert [pairs(g) for g in one.to_data_list()] == [pairs(g) for g in other.to_data_list()]


def test_applies_twice_and_before_others():
    batch = Batch.from_data_list([ring(20), path(30), graph(2, [])])
    once = perturbed(0.5, batch, seeded(1))
    last = EdgePerturbation(0.5)
    twice = Compose([EdgePerturbation(0.5), last])(batch, seeded(1))
    twice.added_edges = last.added_edges
    assert_perturbed(twice, once, 0.5)
    assert once.num_edges == twice.num_edges == batch.num_edges
    dropped = Compose([EdgePerturbation(0.5), NodeDrop(0.5)])(batch, seeded())
    assert dropped.ptr.diff().tolist() == [10, 15, 1]


@pytest.mark.parametrize("ratio", [-0.1, 1.1, float("nan")])
def test_refuses_ratio(ratio):
    with pytest.raises(ValueError, match=r"ratio must be in \[0, 1\]"):
        EdgePerturbation(ratio)


def test_default_ratio_is_graphcls():
    batch = Batch.from_data_list([ring(40)])
    assert_perturbed(perturbed(0.1, batch, seeded()), batch, 0.1)


@pytest.mark.gpu
def test_same_properties_on_the_device():
    batch = Batch.from_data_list([ring(12), path(9), graph(4, []), graph(1, []), directed(5, [(0, 0), (3, 1), (1, 4)])])
    after = perturbed(0.5, batch.to("cuda"), Generator(device="cuda").manual_seed(0))
    assert after.edge_index.is_cuda
    assert_perturbed(after.cpu(), batch.cpu(), 0.5)
