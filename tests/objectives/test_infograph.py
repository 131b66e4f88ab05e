"""InfoGraph's loss by a loop over nodes, in the masked form of its authors, and at its limits."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import softplus

from lightning_renyicl.objectives import Context, InfoGraph, Parts
from lightning_renyicl.objectives.jsd import jsd

D = 4
OWNER = torch.tensor([0, 0, 0, 2, 2, 3])  # of four graphs; the second has no node


def problem(seed=0, nodes=6, graphs=4):
    torch.manual_seed(seed)
    objective = InfoGraph()
    objective.build(D, 0)
    embeddings = torch.randn(graphs, D, dtype=torch.float64, requires_grad=True)
    values = torch.randn(nodes, D, dtype=torch.float64, requires_grad=True)
    return objective.double(), embeddings, values


def loss_of(objective, graphs, *parts):
    return objective([graphs] * len(parts), [graphs], Context(parts=parts))


def head(objective, x):
    """The authors' block and shortcut."""
    block = x
    for layer in objective.nodes.layers[::2]:
        block = (block @ layer.weight.T + layer.bias).clamp(min=0)
    return block + x @ objective.nodes.shortcut.weight.T + objective.nodes.shortcut.bias


def test_a_loop_over_nodes():
    objective, graphs, values = problem()
    loss, logs = loss_of(objective, graphs, Parts(values, OWNER))
    nodes, expected, positives, negatives = head(objective, values), 0.0, [], []
    for node, owner in enumerate(OWNER.tolist()):
        for graph in range(len(graphs)):
            score = (nodes[node] * graphs[graph]).sum()
            if graph == owner:
                expected -= (math.log(2) - softplus(-score)) / len(OWNER)
                positives.append(score)
            else:
                expected += (softplus(score) - math.log(2)) / (len(OWNER) * (len(graphs) - 1))
                negatives.append(score)
    torch.testing.assert_close(loss, expected, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(logs["positive_score"], torch.stack(positives).mean())
    torch.testing.assert_close(logs["negative_score"], torch.stack(negatives).mean())


def test_the_masked_form_of_its_authors():
    """There scores of the other kind are set to 0, which leaves softplus(0) - log 2 = 0."""
    objective, graphs, values = problem(1)
    loss, _ = loss_of(objective, graphs, Parts(values, OWNER))
    res = head(objective, values) @ graphs.T
    mask = nn.functional.one_hot(OWNER, len(graphs)).double()
    positive = (math.log(2) - softplus(-res * mask)).sum() / len(OWNER)
    q = -res * (1 - mask)
    negative = (softplus(q) - q - math.log(2)).sum() / (len(OWNER) * (len(graphs) - 1))
    torch.testing.assert_close(loss, negative - positive, rtol=1e-13, atol=1e-13)


def test_graphs_of_one_node_give_the_bound_between_two_views():
    objective, graphs, values = problem(2, nodes=4)
    loss, _ = loss_of(objective, graphs, Parts(values, torch.arange(4)))
    scores = head(objective, values) @ graphs.T
    others = ~torch.eye(4, dtype=torch.bool)
    bound = jsd(scores.diagonal(), scores[others].view(4, 3))
    torch.testing.assert_close(loss, -bound, rtol=1e-13, atol=1e-13)


def test_several_views_are_averaged():
    objective, graphs, values = problem(3)
    one, two = Parts(values, OWNER), Parts(values.flip(0), OWNER)
    both, _ = loss_of(objective, graphs, one, two)
    each = [loss_of(objective, graphs, parts)[0] for parts in (one, two)]
    torch.testing.assert_close(both, sum(each) / 2)


def test_gradients():
    objective, graphs, values = problem(4)
    assert torch.autograd.gradcheck(
        lambda graphs, values: loss_of(objective, graphs, Parts(values, OWNER))[0], (graphs, values)
    )


@pytest.mark.parametrize("scale", [0.0, 1e6])
def test_extreme_embeddings_are_finite(scale):
    objective, graphs, values = problem(5)
    loss, _ = loss_of(objective.float(), (scale * graphs).float(), Parts((scale * values).float(), OWNER))
    loss.backward()
    assert loss.isfinite()
    assert all(tensor.grad.isfinite().all() for tensor in (graphs, values, *objective.parameters()))


def test_autocast_computes_scores_in_float32():
    objective, graphs, values = problem(6)
    objective, graphs, values = objective.float(), graphs.detach().float(), values.detach().float()
    plain, _ = loss_of(objective, graphs, Parts(values, OWNER))
    with torch.autocast("cpu", torch.bfloat16):
        loss, _ = loss_of(objective, graphs.bfloat16(), Parts(values, OWNER))
    assert loss.dtype == torch.float32
    assert 0 < abs(loss - plain) < 0.1


def test_without_nodes():
    objective, graphs, _ = problem()
    with pytest.raises(ValueError, match="needs embeddings of the nodes of every view"):
        objective([graphs], [graphs])


def test_nodes_of_another_width():
    objective, graphs, values = problem()
    with pytest.raises(ValueError, match=r"features are 3 wide, embeddings 4: model\.projector ResidualHead"):
        loss_of(objective, graphs, Parts(values[:, :3], OWNER))


def test_one_graph_has_no_negative():
    objective, graphs, values = problem()
    with pytest.raises(ValueError, match="at least 2 graphs, got 1"):
        loss_of(objective, graphs[:1], Parts(values, torch.zeros(6, dtype=torch.long)))
