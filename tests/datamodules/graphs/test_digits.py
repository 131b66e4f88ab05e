import pytest
import torch
from torch_geometric.nn import GINConv, global_add_pool

from datamodules.augmentations import Compose, Identity, NodeDrop, RandomChoice, Subgraph
from datamodules.digits import read_digits
from datamodules.graphs.digits import DigitsGraph


@pytest.fixture(scope="module")
def digits():
    data = DigitsGraph([NodeDrop(), Subgraph()])
    data.setup()
    return data


def by_hand(pixels):
    """Nodes and edges of one digit, pixel by pixel."""
    inked = [(row, column) for row in range(8) for column in range(8) if pixels[8 * row + column] > 0]
    features = [[pixels[8 * row + column] / 16, row / 3.5 - 1, column / 3.5 - 1] for row, column in inked]
    edges = {
        (i, j)
        for i, (row, column) in enumerate(inked)
        for j, (other_row, other_column) in enumerate(inked)
        if i != j and abs(row - other_row) <= 1 and abs(column - other_column) <= 1
    }
    return features, edges


def test_graphs_are_the_pixels(digits):
    pixels = read_digits()[0]
    index = torch.arange(0, 1797, 31)
    for i, graph in zip(index, digits.samples.inputs[index].to_data_list(), strict=True):
        features, edges = by_hand(pixels[i].tolist())
        torch.testing.assert_close(graph.x, torch.tensor(features))
        assert graph.edge_index.shape[1] == len(edges)  # none twice
        assert set(map(tuple, graph.edge_index.T.tolist())) == edges
        assert not graph.has_self_loops()
        assert graph.is_undirected()


def test_all_of_them(digits):
    rows = digits.samples.inputs
    assert len(rows) == len(digits.samples.target) == 1797
    assert digits.in_features == rows.x.shape[1] == 3
    assert digits.num_classes == len(digits.samples.target.unique())
    assert torch.equal(rows.node_ptr.diff(), (read_digits()[0] > 0).sum(1))
    sizes = rows.node_ptr.diff()
    assert (sizes.min(), sizes.max()) == (16, 42)
    assert rows.x.abs().max() <= 1
    degrees = torch.bincount(rows.edge_index[0], minlength=len(rows.x))
    assert degrees.max() <= 8
    assert {split: len(index) for split, index in digits.samples.splits.items()} == {
        "train": 1047, "val": 300, "test": 450
    }  # fmt: skip


def test_batches(digits):
    index = digits.samples.splits["train"][:128]
    views, target = digits.train_batch(index)
    plain, _ = digits.eval_batch(index)
    sizes = plain.ptr.diff()
    assert torch.equal(views[0].ptr.diff(), sizes - (0.1 * sizes).long())
    assert (views[1].ptr.diff() <= (0.2 * sizes).long() + 1).all()
    assert torch.equal(target, digits.samples.target[index])
    convolution = GINConv(torch.nn.Linear(3, 4))
    for batch in (*views, plain):
        pooled = global_add_pool(convolution(batch.x, batch.edge_index), batch.batch, size=batch.num_graphs)
        assert pooled.shape == (128, 4)
        assert pooled.isfinite().all()


def test_batches_repeat(digits):
    index = torch.arange(20)
    one, same = digits.train_batch(index)[0], digits.train_batch(index)[0]
    assert all(
        torch.equal(a.x, b.x) and torch.equal(a.edge_index, b.edge_index) for a, b in zip(one, same, strict=True)
    )


def test_feature_loader_is_ordered_and_complete(digits):
    batches = [digits.eval_batch(index) for index in digits.feature_dataloader("val")]
    assert sum(batch.num_graphs for batch, _ in batches) == 300
    assert torch.equal(
        torch.cat([target for _, target in batches]), digits.samples.target[digits.samples.splits["val"]]
    )


def test_nested_views():
    data = DigitsGraph([Identity(), Compose([RandomChoice([NodeDrop(), Subgraph()])])], batch_size=16)
    (plain, augmented), _ = data.train_batch(torch.arange(16))
    assert augmented.num_graphs == plain.num_graphs == 16
    assert (augmented.ptr.diff() < plain.ptr.diff()).all()
