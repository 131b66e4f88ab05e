"""Mixing of samples: what is drawn, what is mixed, and what is not."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from lightning.pytorch import seed_everything
from scipy.stats import beta, kstest

from lightning_renyicl.encoders import MLP
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules import TabularModule
from lightning_renyicl.modules.mixing import draw_mixing, mix
from lightning_renyicl.objectives import CPC, IMix, IMixBYOL, Mixing, Objective

CPU = torch.device("cpu")
MIXING = Mixing(torch.tensor([2, 1, 3, 0]), torch.tensor([0.5, 0.7, 0.75, 1.0]))


class Seen(Objective):
    """Keeps what it is given."""

    mixing = 0.5

    def __init__(self):
        super().__init__()
        self.calls = []

    def forward(self, online, target, context):
        self.calls.append((online, target, context))
        return sum(view.square().mean() for view in online), {}


@pytest.mark.parametrize("concentration", [0.3, 1.0, 2.0])
def test_weights_are_the_larger_part_of_a_beta(concentration):
    weight = draw_mixing(20_000, concentration, 0, CPU).weight
    assert weight.dtype == torch.float32
    assert 0.5 <= weight.min() < weight.max() <= 1.0
    law = beta(concentration, concentration)
    assert kstest(weight.double().numpy(), lambda w: law.cdf(w) - law.cdf(1.0 - w)).pvalue > 1e-3


def test_partners_are_a_permutation_and_the_seed_alone_decides():
    state = torch.get_rng_state()
    first, same, other = (draw_mixing(64, 1.0, seed, CPU) for seed in (2**63 - 1, 2**63 - 1, 0))
    assert torch.equal(first.partner.sort().values, torch.arange(64))
    assert torch.equal(first.partner, same.partner)
    assert torch.equal(first.weight, same.weight)
    assert not torch.equal(first.partner, other.partner)
    assert not torch.equal(first.weight, other.weight)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 2, 2)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_mixed_samples_against_a_loop(shape, dtype):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(dtype)
    mixed = mix(x, MIXING)
    assert mixed.dtype == dtype
    for i, (w, j) in enumerate(zip(MIXING.weight.tolist(), MIXING.partner.tolist(), strict=True)):
        expected = w * x[i].double() + (1 - w) * x[j].double()
        torch.testing.assert_close(mixed[i].double(), expected, rtol=0, atol=0.02 if dtype == torch.bfloat16 else 1e-6)
    assert torch.equal(mixed[[1, 3]], x[[1, 3]])  # its own partner, all of the weight
    assert mix(x, None) is x


@pytest.mark.parametrize("domain", ["table", "image"])
@pytest.mark.parametrize("momentum", [0.9, None])
def test_the_first_view_alone_is_mixed_and_not_for_the_target(build, domain, momentum):
    module, data = build(domain, objective=Seen(), momentum=momentum, views=3)
    data.setup()
    views, labels = data.train_batch(torch.arange(6))
    module.double().eval()
    views = [view.double() for view in views]
    _, _, features = module.compute(views, labels)
    ((online, target, context),) = module.objective.calls
    assert (context.mixing.weight < 1).any()
    torch.testing.assert_close(features, module(views[1]))
    for v, view in enumerate(views):
        expected = mix(view, context.mixing) if v == 0 else view
        torch.testing.assert_close(online[v], module.projector(module(expected)))
    # the target's network is the online one's copy still
    expected = online[0] if momentum is None else module.projector(module(views[0]))
    torch.testing.assert_close(target, [expected, online[1]])


def test_an_objective_that_mixes_nothing_has_no_mixing(build):
    seen = Seen()
    seen.mixing = None
    module, data = build("table", objective=seen)
    data.setup()
    module.eval()
    views, labels = data.train_batch(torch.arange(6))
    _, _, features = module.compute(views, labels)
    assert seen.calls[0][2].mixing is None
    torch.testing.assert_close(features, module(views[0]))


def test_every_batch_has_a_mixing_of_its_own(build, fit):
    def mixings(seed):
        pair = build("table", objective=Seen(), seed=seed)
        seed_everything(seed, verbose=False)
        fit(pair, max_epochs=2)
        return [context.mixing for _, _, context in pair[0].objective.calls]

    first, same, other = mixings(0), mixings(0), mixings(1)
    assert len(first) == 10
    assert len({tuple(mixing.weight.tolist()) for mixing in (*first, *other)}) == 20
    assert all(torch.equal(a.weight, b.weight) for a, b in zip(first, same, strict=True))
    assert all(torch.equal(a.partner, b.partner) for a, b in zip(first, same, strict=True))


@pytest.mark.parametrize("width", [3, None])
def test_categories_are_mixed_as_one_hot_codes_would_be(width):
    torch.manual_seed(0)
    module = TabularModule(
        partial(MLP, widths=[8]),
        in_features=3,
        cardinalities=[4, 2],
        embedding_width=width,
        objective=IMix(),
        projector=partial(MLPHead, widths=[8, 4]),
        optimizer=partial(torch.optim.SGD, lr=0.1),
    ).eval()
    numbers, codes = torch.randn(4, 1), torch.tensor([[0, 1], [3, 0], [1, 1], [2, 0]])
    one_hot = torch.cat([torch.eye(4)[codes[:, 0]], torch.eye(2)[codes[:, 1]]], dim=1)
    mixed = mix(torch.cat([numbers, one_hot], dim=1), MIXING)
    table = module.backbone.embedding.table
    if table is not None:  # the rows of a table are the weights of a linear layer of one-hot codes
        mixed = torch.cat([mixed[:, :1], mixed[:, 1:5] @ table.weight[:4], mixed[:, 5:] @ table.weight[4:]], dim=1)
    view = torch.cat([numbers, codes.float()], dim=1)
    torch.testing.assert_close(module.encode(view, MIXING)[0], module.backbone.encoder(mixed))
    torch.testing.assert_close(module.encode(view)[0], module(view))


@pytest.mark.parametrize("objective", [IMix(), IMixBYOL()])
def test_graphs_are_refused(build, objective):
    with pytest.raises(ValueError, match=f"^{type(objective).__name__} mixes samples by weighted sums, which .*graphs"):
        build("graph", objective=objective)
    build("graph", objective=CPC())
