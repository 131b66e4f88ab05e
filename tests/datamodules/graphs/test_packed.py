import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINConv, global_add_pool

from datamodules.graphs.packed import PackedGraphs, merge_graphs, select_graphs


@st.composite
def graph_lists(draw, most_graphs=6):
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=most_graphs))
    graphs, node = [], 0
    for size in sizes:
        ends = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
        edges = draw(st.lists(ends, max_size=12))
        x = torch.arange(node, node + size, dtype=torch.float32)[:, None].repeat(1, 2)
        graphs.append(Data(x=x, edge_index=torch.tensor(edges, dtype=torch.long).view(-1, 2).T.contiguous()))
        node += size
    return graphs


def graph(size, *edges):
    return Data(x=torch.rand(size, 2), edge_index=torch.tensor(edges, dtype=torch.long).view(-1, 2).T)


@pytest.fixture
def graphs():
    return [graph(3, (0, 1), (1, 0)), graph(1), graph(4), graph(1, (0, 0)), graph(2, (0, 1), (1, 0)), graph(1)]


def assert_same(batch, expected):
    torch.testing.assert_close(batch.x, expected.x, rtol=0, atol=0)
    assert torch.equal(batch.edge_index, expected.edge_index)
    assert torch.equal(batch.batch, expected.batch)
    assert torch.equal(batch.ptr, expected.ptr)
    assert batch.num_graphs == len(batch) == expected.num_graphs
    assert batch.num_nodes == expected.num_nodes
    for one, other in zip(batch.to_data_list(), expected.to_data_list(), strict=True):
        assert torch.equal(one.x, other.x)
        assert torch.equal(one.edge_index, other.edge_index)
        assert sorted(one.keys()) == sorted(other.keys())


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_index_is_what_pyg_collates(data):
    graphs = data.draw(graph_lists())
    index = data.draw(st.lists(st.integers(-len(graphs), len(graphs) - 1), min_size=1, max_size=10))
    packed = PackedGraphs.from_data_list(graphs)
    assert len(packed) == len(graphs)
    assert_same(packed[torch.tensor(index)], Batch.from_data_list([graphs[i] for i in index]))


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_select_and_merge(data):
    graphs = data.draw(graph_lists())
    whole = Batch.from_data_list(graphs)
    order = torch.tensor(data.draw(st.permutations(range(len(graphs)))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(graphs)), max_size=2)))
    parts = [select_graphs(whole, group) for group in order.tensor_split(cuts)]
    assert sum(part.num_graphs for part in parts) == len(graphs)
    merged = merge_graphs(*parts, positions=order)
    assert_same(merged, whole)
    assert type(merged) is type(whole)


def test_mask(graphs):
    mask = torch.tensor([True, False, True, False, False, True])
    assert_same(PackedGraphs.from_data_list(graphs)[mask], Batch.from_data_list([graphs[i] for i in (0, 2, 5)]))


def test_repeated_graphs_do_not_touch(graphs):
    batch = PackedGraphs.from_data_list(graphs)[torch.tensor([4, 4, 4])]
    assert batch.edge_index.tolist() == [[0, 1, 2, 3, 4, 5], [1, 0, 3, 2, 5, 4]]


def test_nothing_chosen(graphs):
    batch = PackedGraphs.from_data_list(graphs)[torch.zeros(0, dtype=torch.long)]
    assert batch.num_graphs == 0
    assert batch.x.shape == (0, 2)
    assert batch.edge_index.shape == (2, 0)


def test_index_out_of_range(graphs):
    with pytest.raises(IndexError):
        PackedGraphs.from_data_list(graphs)[torch.tensor([6])]


def test_batch_is_a_copy(graphs):
    packed = PackedGraphs.from_data_list(graphs)
    batch = packed[torch.arange(6)]
    before = packed.x.clone(), packed.edge_index.clone()
    batch.x.zero_()
    batch.edge_index.zero_()
    assert torch.equal(packed.x, before[0])
    assert torch.equal(packed.edge_index, before[1])


def test_network_reads_it_like_pyg(graphs):
    index = [5, 1, 0, 2, 5]  # ends with graphs that have no edge
    ours, theirs = (
        PackedGraphs.from_data_list(graphs)[torch.tensor(index)],
        Batch.from_data_list([graphs[i] for i in index]),
    )
    convolution = GINConv(torch.nn.Linear(2, 3))
    pooled = [
        global_add_pool(convolution(batch.x, batch.edge_index), batch.batch, size=batch.num_graphs)
        for batch in (ours, theirs)
    ]
    assert pooled[0].shape == (5, 3)
    assert torch.equal(*pooled)


def test_moves_and_copies_like_any_batch(graphs):
    packed = PackedGraphs.from_data_list(graphs).to("cpu")
    batch = packed[torch.arange(6)].to("cpu").clone()
    assert_same(batch, Batch.from_data_list(graphs))
    assert_same(Batch.from_data_list(batch.to_data_list()), Batch.from_data_list(graphs))


def test_from_data_list_takes_no_edge_index_for_no_edges():
    packed = PackedGraphs.from_data_list([Data(x=torch.ones(2, 1)), Data(x=torch.ones(1, 1))])
    assert packed.node_ptr.tolist() == [0, 2, 3]
    assert packed.edge_ptr.tolist() == [0, 0, 0]


X, EDGES = torch.ones(3, 2), torch.tensor([[0, 2], [1, 2]])
NODES, ENDS = torch.tensor([0, 2, 3]), torch.tensor([0, 1, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X[:, 0], EDGES, NODES, ENDS), r"x must be \[nodes, F\]"),
        ((X, EDGES[:1], NODES, ENDS), "edge_index must be int64"),
        ((X, EDGES.int(), NODES, ENDS), "edge_index must be int64"),
        ((X, EDGES, NODES.float(), ENDS), "node_ptr must be int64"),
        ((X, EDGES, NODES, ENDS[:1]), "edge_ptr must be int64"),
        ((X, EDGES, torch.tensor([0, 2, 2]), ENDS), "node_ptr must rise from 0 to 3"),
        ((X, EDGES, torch.tensor([1, 2, 3]), ENDS), "node_ptr must rise from 0 to 3"),
        ((X, EDGES, NODES, torch.tensor([0, 3, 2])), "edge_ptr must rise from 0 to 2"),
        ((X, EDGES, NODES, torch.tensor([0, 1, 2, 2])), "node_ptr is for 2 graphs, edge_ptr for 3"),
        ((X, EDGES, torch.tensor([0, 3, 3]), torch.tensor([0, 2, 2])), "graph 1 has none"),
        ((X, torch.tensor([[0, 2], [1, 1]]), NODES, ENDS), r"edge 1 joins nodes \[2, 1\]"),
        ((X, torch.tensor([[0, 2], [1, 3]]), NODES, ENDS), r"edge 1 joins nodes \[2, 3\]"),
        ((X, torch.tensor([[-1, 2], [1, 2]]), NODES, ENDS), r"edge 0 joins nodes \[-1, 1\]"),
    ],
)
def test_refuses(arguments, message):
    PackedGraphs(X, EDGES, NODES, ENDS)
    with pytest.raises(ValueError, match=message):
        PackedGraphs(*arguments)


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "no graphs"),
        ([Data(x=torch.ones(1, 2)), Data(edge_index=EDGES, num_nodes=3)], "graph 1 needs node features"),
        ([Data(x=torch.ones(1, 2)), Data(x=torch.ones(1, 3))], r"one common number of node features, got \[2, 3\]"),
        ([Data(x=torch.ones(1, 2)), Data(x=torch.ones(0, 2))], "graph 1 has none"),
    ],
)
def test_from_data_list_refuses(graphs, message):
    with pytest.raises(ValueError, match=message):
        PackedGraphs.from_data_list(graphs)


def test_start_up_and_rows_import_no_library_of_one_domain():
    # torchmetrics, which Lightning imports, brings some of them by itself.
    code = """
import sys
import lightning.pytorch
heavy = {"torch_geometric", "timm", "torchvision", "sklearn", "pandas"} - set(sys.modules)
import torch
import datamodules, datamodules.digits, datamodules.graphs.packed
from datamodules.augmentations import Identity, RandomChoice
RandomChoice([Identity(), Identity()])(torch.rand(9, 2), torch.Generator().manual_seed(0))
print(sorted(heavy & set(sys.modules)), "torch_geometric" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[] False"
