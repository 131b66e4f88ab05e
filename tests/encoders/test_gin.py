"""GIN against PyG's layer and a loop over nodes, and on graphs without edges."""

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINConv

from lightning_renyicl.encoders import GIN, MLP


def graph(x, edges):
    """An undirected graph from one direction of each edge."""
    both = [pair for i, j in edges for pair in ((i, j), (j, i))]
    edge_index = torch.tensor(both, dtype=torch.long).reshape(-1, 2).T
    return Data(x=torch.tensor(x, dtype=torch.float64), edge_index=edge_index)


PATH = graph([[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]], [(0, 1), (1, 2)])
TRIANGLE = graph([[1.0, 1.0], [0.5, 0.0], [0.0, 3.0]], [(0, 1), (1, 2), (0, 2)])
DOT = graph([[1.0, -2.0]], [])
ARROWS = Data(x=PATH.x, edge_index=torch.tensor([[0, 1, 2, 2], [1, 2, 1, 0]]))


def identity(layers=2):
    """Every linear layer passes its input on, and every BatchNorm in evaluation too."""
    encoder = GIN(2, width=2, layers=layers).double().eval()
    for module in encoder.modules():
        if isinstance(module, nn.Linear):
            nn.init.eye_(module.weight)
        if isinstance(module, nn.BatchNorm1d):
            module.eps = 0.0
    return encoder


def test_tiny_graph_by_hand():
    # A path a - b - c with features (1,0), (0,1), (2,-1). One layer, x_i + its neighbours then ReLU:
    # a (1,1), b (3,0), c (2,0), sum (6,1). A second one: a (4,1), b (6,1), c (5,0), sum (15,2).
    readout = identity()(Batch.from_data_list([PATH]))
    torch.testing.assert_close(readout, torch.tensor([[6.0, 1.0, 15.0, 2.0]], dtype=torch.float64))


def loop(encoder, data):
    """The read-out of one graph, node by node, with messages by PyG."""
    x, readouts = data.x, []
    for perceptron, norm in zip(encoder.perceptrons, encoder.norms, strict=True):
        first, _, second, _ = perceptron
        heard = GINConv(nn.Identity())(x, data.edge_index)
        hidden = [(first.weight @ h + first.bias).clamp(min=0) for h in heard]
        out = [(second.weight @ h + second.bias).clamp(min=0) for h in hidden]
        scale = norm.weight / (norm.running_var + norm.eps).sqrt()
        x = torch.stack([(o - norm.running_mean) * scale + norm.bias for o in out])
        readouts.append(x.sum(0))
    return torch.cat(readouts)


def test_batch_of_graphs_by_loop():
    torch.manual_seed(0)
    encoder = GIN(2, width=5, layers=3).double()
    graphs = [PATH, DOT, ARROWS, TRIANGLE]
    encoder(Batch.from_data_list(graphs))  # moves the running statistics from their start
    for norm in encoder.norms:
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    encoder.eval()
    expected = torch.stack([loop(encoder, data) for data in graphs])
    torch.testing.assert_close(encoder(Batch.from_data_list(graphs)), expected, rtol=1e-12, atol=1e-12)
    assert expected.shape == (4, encoder.num_features)


@pytest.mark.parametrize("training", [True, False])
def test_graphs_without_edges_are_finite(training):
    encoder = GIN(2, width=4).double().train(training)
    batch = Batch.from_data_list([DOT, DOT, graph([[0.0, 0.0], [1.0, 1.0]], [])])
    out = encoder(batch)
    assert out.shape == (3, 12)
    assert out.isfinite().all()
    gradients = torch.autograd.grad(out.sum(), encoder.parameters(), allow_unused=False)
    assert all(g.isfinite().all() for g in gradients)


def test_a_trailing_graph_without_nodes_keeps_its_row():
    empty = Data(x=torch.zeros(0, 2, dtype=torch.float64), edge_index=torch.zeros(2, 0, dtype=torch.long))
    out = identity()(Batch.from_data_list([PATH, empty]))
    torch.testing.assert_close(out[1], torch.zeros(4, dtype=torch.float64))


def test_layers():
    encoder = GIN(7, width=3, layers=4)
    assert encoder.num_features == 12
    assert [tuple(p[0].weight.shape) for p in encoder.perceptrons] == [(3, 7), (3, 3), (3, 3), (3, 3)]


def test_starts_from_xavier_weights_and_zero_biases():
    torch.manual_seed(0)
    for linear in [module for module in GIN(7, width=64).modules() if isinstance(module, nn.Linear)]:
        limit = (6 / (linear.in_features + linear.out_features)) ** 0.5
        assert 0.95 * limit < linear.weight.abs().max() <= limit
        assert not linear.bias.any()


def test_the_parts_of_graphs_are_their_nodes():
    torch.manual_seed(0)
    encoder = GIN(2, width=5, layers=3).double().eval()
    batch = Batch.from_data_list([PATH, DOT, TRIANGLE])
    graphs, nodes = encoder.with_parts(batch)
    assert torch.equal(graphs, encoder(batch))
    assert nodes.values.shape == (7, encoder.num_features)
    sums = torch.zeros_like(graphs).index_add(0, nodes.owner, nodes.values)
    torch.testing.assert_close(sums, graphs)
    alone, parts = encoder.with_parts(Batch.from_data_list([PATH]))
    torch.testing.assert_close(parts.values, nodes.values[:3])
    torch.testing.assert_close(alone[0], graphs[0])


def test_rows_have_no_parts():
    with pytest.raises(NotImplementedError, match="MLP has no embeddings of parts"):
        MLP(3, [4]).with_parts(torch.zeros(2, 3))
