"""Wasserstein predictive coding: its slopes, its penalty and its gradients."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from torch import nn

from datamodules import FakeGraphs, FakeTable
from datamodules.augmentations import Identity
from lightning_renyicl.encoders import GIN, MLP
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules import GraphModule, TabularModule
from lightning_renyicl.objectives import CPC, WPC, Context, Parts

TAU = 0.5


def views(count=2, samples=5, width=3):
    generator = torch.Generator().manual_seed(count)
    drawn = torch.randn(count, samples, width, generator=generator, dtype=torch.float64)
    return [view.requires_grad_() for view in drawn.unbind()]


def loss_of(network, inputs, penalty=2.0):
    online = [network(view) for view in inputs]
    return WPC(penalty, temperature=TAU)(online, online[:2], Context(inputs=tuple(map(Parts, inputs))))


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 4)).double()


@pytest.mark.parametrize("count", [2, 3])
def test_penalty_against_central_differences(count):
    inputs, net, step = views(count), network(), 1e-6

    def scores(at):
        """Every sample's mean score of its positive pairs, by a loop."""
        z = [net(view) for view in at]
        pairs = [(v, t) for t in range(2) for v in range(count) if v != t]
        return [sum(float(z[v][i] @ z[t][i]) for v, t in pairs) / len(pairs) / TAU for i in range(5)]

    with torch.no_grad():
        squares = [0.0] * 5
        for v in range(count):
            for j in range(3):
                moved = []
                for sign in (1, -1):
                    at = [view.detach().clone() for view in inputs]
                    at[v][:, j] += sign * step
                    moved.append(scores(at))
                squares = [s + ((a - b) / (2 * step)) ** 2 for s, a, b in zip(squares, *moved, strict=True)]
    slopes = [math.sqrt(square) for square in squares]
    online = [net(view) for view in inputs]
    loss, logs = loss_of(net, inputs)
    plain = WPC(1e-12, temperature=TAU)(online, online[:2], Context(inputs=tuple(map(Parts, inputs))))[0]
    penalty = 2.0 * sum((slope - 1) ** 2 for slope in slopes) / 5
    assert loss.item() == pytest.approx(plain.item() + penalty, rel=1e-6)
    assert logs["slope"].item() == pytest.approx(sum(slopes) / 5, rel=1e-6)


def test_without_the_penalty_it_is_cpc_of_dot_products():
    inputs, net = views(), network()
    online = [net(view) for view in inputs]

    class DotProducts(CPC):
        def embed(self, x):
            return x

    plain, _ = DotProducts(None, temperature=TAU)(online, online)
    loss, _ = loss_of(net, inputs, penalty=1e-12)
    assert loss.item() == pytest.approx(plain.item(), abs=1e-9)


def test_gradients_of_the_network():
    inputs, net = views(samples=3), network()
    names = [name for name, _ in net.named_parameters()]

    def loss(*weights):
        return loss_of(
            lambda view: torch.func.functional_call(net, dict(zip(names, weights, strict=True)), view), inputs
        )[0]

    assert torch.autograd.gradcheck(loss, tuple(net.parameters()))


def test_training_draws_slopes_towards_one():
    inputs, net = views(samples=16), network()
    optimizer, slopes = torch.optim.Adam(net.parameters(), lr=0.01), []
    for _ in range(150):
        loss, logs = loss_of(net, inputs, penalty=1000.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        slopes.append(abs(logs["slope"].item() - 1))
    assert slopes[-1] < 0.1 < slopes[0]


def test_a_slope_of_zero_has_finite_gradients():
    inputs, net = views(), network()
    with torch.no_grad():
        net[2].weight.zero_()
        net[2].bias.zero_()
    loss, logs = loss_of(net, inputs)
    loss.backward()
    assert logs["slope"] == pytest.approx(0.0, abs=1e-5)
    assert all(p.grad.isfinite().all() for p in net.parameters())


PARTS = {
    "projector": partial(MLPHead, widths=[8, 4], norm=False),
    "optimizer": partial(torch.optim.SGD, lr=0.1),
}


def test_slopes_of_graphs_are_by_all_of_their_nodes():
    torch.manual_seed(0)
    data = FakeGraphs([Identity(), Identity()], 4, num_samples=16, in_features=3)
    module = GraphModule(partial(GIN, width=4, layers=2), in_features=3, objective=WPC(), **PARTS).eval()
    views, _ = data.train_batch(torch.arange(4))
    read = [module.with_inputs(view) for view in views]
    z = [module.projector(module(graphs)) for graphs, _ in read]
    gradients = torch.autograd.grad(((z[0] * z[1]).sum(-1) / 0.5).sum(), [inputs.values for _, inputs in read])
    slopes = []
    for graph in range(4):
        nodes = [gradient[view.batch == graph] for view, gradient in zip(views, gradients, strict=True)]
        slopes.append(math.sqrt(sum(rows.square().sum().item() for rows in nodes)))
    _, logs, _ = module.compute(views, torch.zeros(4))
    assert logs["slope"].item() == pytest.approx(sum(slopes) / 4, rel=1e-4)


def test_categories_have_no_gradient():
    data = FakeTable([Identity(), Identity()], 8, num_samples=32, in_features=3)
    module = TabularModule(
        partial(MLP, widths=[8]), in_features=5, cardinalities=[4, 2], embedding_width=3, objective=WPC(), **PARTS
    )
    numbers = data.train_batch(torch.arange(8))[0]
    codes = torch.stack([torch.arange(8) % 4, torch.arange(8) % 2], dim=1).float()
    loss, logs, _ = module.compute([torch.cat([view, codes], dim=1) for view in numbers], torch.zeros(8))
    loss.backward()
    assert logs["slope"] > 0
    assert all(p.grad.isfinite().all() for p in module.parameters())


@pytest.mark.parametrize("penalty", [0.0, -1.0, math.inf, math.nan])
def test_penalty_out_of_range(penalty):
    with pytest.raises(ValueError, match="penalty must be a finite number above 0, got"):
        WPC(penalty)


def test_without_inputs():
    online = views()
    with pytest.raises(ValueError, match="WPC needs what the network reads"):
        WPC()(online, online)
