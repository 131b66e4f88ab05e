import numpy as np
import pytest
import torch
from scipy.stats import chi2_contingency, chisquare
from torch import Generator
from torch_geometric.data import Batch, Data

from datamodules.augmentations import AttributeMask, Augmentation, EdgePerturbation, GraphCL, NodeDrop, Subgraph

CHOICES = ["dnodes", "subgraph", "pedges", "mask_nodes", "random2", "random3", "random4"]
KINDS = CHOICES[:4]


def seeded(seed=0):
    return Generator().manual_seed(seed)


def ring(size, number=0):
    """Features are the graph's number, far from the noise of masked ones."""
    nodes = torch.arange(size)
    ends = torch.stack((nodes, (nodes + 1) % size))
    x = torch.full((size, 3), 1000.0 + number)
    return Data(x=x, edge_index=torch.cat((ends, ends.flip(0)), dim=1))


def edgeless(size, number=0):
    return Data(x=torch.full((size, 3), 1000.0 + number), edge_index=torch.zeros(2, 0, dtype=torch.long))


def edge_set(graph):
    return set(map(tuple, graph.edge_index.T.tolist()))


def kind_of(after, before):
    """Which augmentation a graph of 40 nodes saw, as a place in KINDS; every other trace of one must be missing."""
    masked = (after.x != before.x[: after.num_nodes]).any(dim=1)
    changed = int(masked.sum())
    if after.num_nodes == 36:
        assert changed == 0
        return 0
    if after.num_nodes == 9:
        assert changed == 0
        assert after.num_edges == 16  # a path
        return 1
    assert after.num_nodes == 40
    gone = len(edge_set(before) - edge_set(after))
    if gone:
        assert (changed, gone, after.num_edges) == (0, 8, 80)
        return 2
    assert changed == 4
    assert edge_set(after) == edge_set(before)
    return 3


def kinds_of(after, before):
    pairs = zip(after.to_data_list(), before.to_data_list(), strict=True)
    return np.array([kind_of(new, old) for new, old in pairs])


@pytest.mark.parametrize(("choice", "several"), [("random2", 2), ("random3", 3), ("random4", 4)])
def test_every_graph_draws_one_uniformly(choice, several):
    batch = Batch.from_data_list([ring(40, number) for number in range(800)])
    kinds = kinds_of(GraphCL(choice)(batch, seeded()), batch)
    counts = np.bincount(kinds)
    assert len(counts) == several
    assert chisquare(counts).pvalue > 1e-3
    table = np.zeros((several, several), dtype=int)
    np.add.at(table, (kinds[:-1:2], kinds[1::2]), 1)
    assert chi2_contingency(table).pvalue > 1e-3  # neighbours know nothing of each other


@pytest.mark.parametrize("choice", KINDS)
def test_one_choice_is_the_same_for_all_graphs(choice):
    batch = Batch.from_data_list([ring(40, number) for number in range(50)])
    assert set(kinds_of(GraphCL(choice)(batch, seeded()), batch)) == {KINDS.index(choice)}


@pytest.mark.parametrize(
    ("choice", "augmentation"),
    [
        ("dnodes", NodeDrop(0.3)),
        ("subgraph", Subgraph(0.6)),
        ("pedges", EdgePerturbation(0.3)),
        ("mask_nodes", AttributeMask(0.3)),
    ],
)
def test_shares_are_passed_on(choice, augmentation):
    batch = Batch.from_data_list([ring(40), edgeless(7), ring(11)])
    ours, expected = (one(batch, seeded(3)) for one in (GraphCL(choice, ratio=0.3, subgraph_ratio=0.6), augmentation))
    for key in ("x", "edge_index", "batch", "ptr"):
        assert torch.equal(ours[key], expected[key])


def test_shares_are_passed_on_to_random_ones():
    batch = Batch.from_data_list([ring(40)] * 60)
    assert set(GraphCL("random2", ratio=0.5, subgraph_ratio=0.75)(batch, seeded()).ptr.diff().tolist()) == {20, 31}
    masked = GraphCL("random4", ratio=0.5, subgraph_ratio=1)(batch, seeded())
    changed = [int((graph.x[:, 0] < 100).sum()) for graph in masked.to_data_list()]
    assert set(changed) == {0, 20}


@pytest.mark.parametrize("choice", CHOICES)
def test_graphs_stay_in_order_and_apart(choice):
    sizes = [12, 1, 30, 10, 2, 20, 11, 3]
    graphs = [(edgeless if size in (1, 10) else ring)(size, number) for number, size in enumerate(sizes)]
    batch = Batch.from_data_list(graphs)
    for seed in range(5):
        after = GraphCL(choice, ratio=0.4, subgraph_ratio=0.4)(batch, seeded(seed))
        assert after.num_graphs == len(sizes)
        assert after.ptr.diff().ge(1).all()
        assert torch.equal(after.batch[after.edge_index[0]], after.batch[after.edge_index[1]])
        for number, part in enumerate(after.to_data_list()):
            original = part.x[:, 0] > 100
            assert (part.x[original] == 1000 + number).all()
            assert original.any()
            assert part.num_edges == 0 or int(part.edge_index.max()) < part.num_nodes


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("choice", ["none", "", "random1", "random5", "NodeDrop", None])
def test_refuses_choice(choice, legacy):
    known = "choice must be one of dnodes, subgraph, pedges, mask_nodes, random2, random3, random4, got "
    with pytest.raises(ValueError, match=f"{known}{choice}$"):
        GraphCL(choice, legacy=legacy)


@pytest.mark.parametrize(
    "shares", [{"ratio": -0.1}, {"ratio": 1.5}, {"subgraph_ratio": -1}, {"subgraph_ratio": float("nan")}]
)
@pytest.mark.parametrize("choice", CHOICES)
def test_refuses_shares(choice, shares):
    with pytest.raises(ValueError, match=r"(ratio|subgraph_ratio) must be in \[0, 1\], got"):
        GraphCL(choice, **shares)


@pytest.mark.parametrize("shares", [{"ratio": 1.5}, {"subgraph_ratio": -1}])
def test_legacy_refuses_shares_too(shares):
    with pytest.raises(ValueError, match=r"must be in \[0, 1\], got"):
        GraphCL("dnodes", **shares, legacy=True)


def test_refusal_names_the_argument():
    with pytest.raises(ValueError, match=r"subgraph_ratio must be in \[0, 1\], got 2"):
        GraphCL("subgraph", subgraph_ratio=2)


@pytest.mark.parametrize("choice", CHOICES)
def test_as_legacy(choice):
    batch = Batch.from_data_list([ring(40), edgeless(7), ring(11), ring(9)] * 5)
    mended = GraphCL(choice, ratio=0.5, subgraph_ratio=0.5)
    before = mended(batch, seeded(1))
    legacy = mended.as_legacy()
    assert isinstance(legacy, Augmentation)
    assert type(legacy) is GraphCL
    assert legacy.choice == choice
    ours, expected, again = (
        one(batch, seeded(2)) for one in (legacy, GraphCL(choice, legacy=True), legacy.as_legacy())
    )
    for key in ("x", "edge_index", "batch", "ptr"):
        assert torch.equal(ours[key], expected[key])
        assert torch.equal(ours[key], again[key])
        assert torch.equal(mended(batch, seeded(1))[key], before[key])  # the mended one is as it was
    after = mended(batch, seeded(2))
    assert not torch.equal(after.x, ours.x) or not torch.equal(after.edge_index, ours.edge_index)


def test_what_is_not_legacy_keeps_isolated_nodes_and_self_loops():
    loops = Data(x=torch.full((30, 3), 1000.0), edge_index=torch.arange(30).expand(2, -1))
    batch = Batch.from_data_list([loops, edgeless(5)])
    after = GraphCL("dnodes")(batch, seeded())
    assert after.ptr.tolist() == [0, 27, 32]
    assert after.edge_index.tolist() == [list(range(27))] * 2


@pytest.mark.parametrize("choice", CHOICES)
def test_reproducible_from_the_generator(choice):
    batch = Batch.from_data_list([ring(40)] * 10)
    one, same, other = (GraphCL(choice)(batch, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.x, same.x)
    assert torch.equal(one.edge_index, same.edge_index)
    assert (
        one.x.shape != other.x.shape
        or not torch.equal(one.x, other.x)
        or not torch.equal(one.edge_index, other.edge_index)
    )


@pytest.mark.parametrize("choice", CHOICES)
def test_leaves_input_and_global_random_state_alone(choice):
    batch = Batch.from_data_list([ring(40), edgeless(3)] * 4)
    before, state = batch.clone(), torch.get_rng_state()
    GraphCL(choice)(batch, seeded())
    for key in ("x", "edge_index", "batch", "ptr"):
        assert torch.equal(batch[key], before[key])
    assert torch.equal(torch.get_rng_state(), state)
