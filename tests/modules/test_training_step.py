"""What a training step computes and returns."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules.steps import feature_std
from lightning_renyicl.objectives import DINO, Objective, SwAV

DOMAINS = ["image", "table", "graph"]


class Spy(Objective):
    """Keeps what it is called with."""

    def build(self, width, num_classes):
        self.sizes = width, num_classes

    def forward(self, online, target, context):
        self.online, self.target, self.labels = online, target, context.labels
        loss = sum(((o - t.roll(1, 0)) ** 2).mean() for o in online for t in target)
        return loss, {"bound": -loss.detach()}


def step(pair):
    """One training step without a trainer; its output and the batch."""
    module, data = pair
    module.log_dict = lambda *_, **__: None
    batch = data.train_batch(torch.arange(8))
    return module.training_step(batch, 0), batch


@pytest.mark.parametrize("domain", DOMAINS)
def test_returns_the_detached_features_of_the_first_view(build, domain):
    module, data = build(domain)
    module.eval()  # BatchNorm would make the features depend on what else is in the batch, not on the view
    output, (views, target) = step((module, data))
    assert set(output) == {"loss", "features", "target"}
    assert output["loss"].requires_grad
    assert not output["features"].requires_grad
    assert torch.equal(output["features"], module(views[0]))
    assert not torch.equal(output["features"], module(views[1]))
    assert torch.equal(output["target"], target)


def test_without_momentum_gradients_reach_both_sides(build):
    module, data = build(objective=Spy())
    assert module.momentum_target is None
    step((module, data))
    online, target = module.objective.online, module.objective.target
    assert [o is t for o, t in zip(online, target, strict=True)] == [True, True]
    assert all(t.requires_grad for t in target)


def test_a_predictor_is_on_the_online_side_alone(build):
    module, data = build(objective=Spy(), predictor=partial(MLPHead, widths=[8, 4]))
    output, (views, _) = step((module.eval(), data))
    online, target = module.objective.online, module.objective.target
    for view, o, t in zip(views, online, target, strict=True):
        projection = module.projector(module(view))
        torch.testing.assert_close(t, projection)
        torch.testing.assert_close(o, module.predictor(projection))
    output["loss"].backward()
    assert all(p.grad is not None for p in module.parameters())


def test_with_momentum_the_target_side_is_frozen(build):
    module, data = build(objective=Spy(), momentum=0.9)
    with torch.no_grad():
        module.momentum_target.network[1].layers[-1].weight.neg_()
    output, (views, _) = step((module.eval(), data))
    for view, t in zip(views, module.objective.target, strict=True):
        assert not t.requires_grad
        torch.testing.assert_close(t, -module.projector(module(view)))
    output["loss"].backward()
    assert all(p.grad is None for p in module.momentum_target.parameters())
    assert all(p.grad is not None for p in [*module.backbone.parameters(), *module.projector.parameters()])


@pytest.mark.parametrize("momentum", [None, 0.9])
def test_local_views_go_through_the_online_network_alone(build, momentum):
    module, data = build(objective=Spy(), momentum=momentum, views=5)
    seen = {"online": [], "target": []}
    module.backbone.register_forward_pre_hook(lambda _, args: seen["online"].append(args[0]))
    if momentum is not None:
        target = module.momentum_target.network[0]
        target.register_forward_pre_hook(lambda _, args: seen["target"].append(args[0]))
    _, (views, _) = step((module, data))
    assert len(module.objective.online) == 5
    assert len(module.objective.target) == 2
    assert [any(seen is view for seen in seen["online"]) for view in views] == [True] * 5
    assert seen["target"] == ([] if momentum is None else views[:2])


def test_an_objective_has_sizes_and_labels(build):
    pair = build(objective=Spy(), num_classes=4)
    _, (_, labels) = step(pair)
    assert pair[0].objective.sizes == (4, 4)
    assert pair[0].objective.labels is labels


class Diary(Spy):
    """Notes when its hooks run, with what, and whether the gradients are there."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.entries = []

    def forward(self, online, target, context):
        loss, logs = super().forward(online, target, context)
        self.entries.append(("forward", context.epoch, None))
        return loss * self.weight.sum(), logs

    def before_step(self, epoch):
        self.entries.append(("before", epoch, self.weight.grad is not None))

    def after_step(self, momentum):
        self.entries.append(("after", momentum, None))


@pytest.mark.parametrize("momentum", [None, 0.9])
def test_hooks_around_each_step(build, fit, momentum):
    pair = build(objective=Diary(), momentum=momentum, momentum_end=momentum or 1.0, samples=4 * 8)
    fit(pair, max_epochs=2, accumulate_grad_batches=2)
    expected = []
    for step in range(4):
        done = step / 2
        expected += [("forward", done, None)] * 2 + [("before", done, True), ("after", momentum, None)]
    assert pair[0].objective.entries == expected


class OfUnknownLength(IterableDataset):
    """Three batches of rows, of which nobody has said how many they are."""

    def __iter__(self):
        return iter([([torch.randn(8, 6), torch.randn(8, 6)], torch.zeros(8, dtype=torch.long))] * 3)


def test_epochs_of_unknown_length_are_counted_whole(build, fit):
    module, _ = build(objective=Diary(), scheduler=None)
    fit((module, DataLoader(OfUnknownLength(), batch_size=None)), max_epochs=2)
    assert [epoch for kind, epoch, _ in module.objective.entries if kind == "forward"] == [0.0] * 3 + [1.0] * 3


def test_an_objective_says_how_many_views_it_needs(build, fit):
    class OfThree(Spy):
        views = 3

    with pytest.raises(ValueError, match=r"OfThree compares at least 3 views, and data\.views has 2"):
        fit(build(objective=OfThree()))
    fit(build(objective=OfThree(), views=3))


def test_an_objective_may_need_a_momentum_encoder(build):
    class OfTwoNetworks(Spy):
        needs_momentum = True

    with pytest.raises(ValueError, match="OfTwoNetworks needs a momentum encoder"):
        build(objective=OfTwoNetworks())
    build(objective=OfTwoNetworks(), momentum=0.9)


def test_state_of_an_objective_that_is_not_finite_ends_the_training(build, fit):
    objective = Spy()
    objective.register_buffer("centre", torch.full((2,), math.nan))
    with pytest.raises(ValueError, match="weights are not finite after epoch 1"):
        fit(build(objective=objective))


def test_rows_of_queues_are_left_out_of_what_processes_send(build):
    module, _ = build(objective=SwAV(prototypes=4, queue=6))
    names = ["objective.queues.0.rows", "objective.queues.1.rows"]
    assert module._ddp_params_and_buffers_to_ignore == names
    assert all(module.get_buffer(name).shape == (6, 4) for name in names)
    assert build(objective=SwAV(prototypes=4))[0]._ddp_params_and_buffers_to_ignore == []


def test_prototypes_stay_for_the_first_epoch(build, fit):
    pair = build(objective=SwAV(prototypes=4, freeze_epochs=1.0), samples=4 * 8)
    before = pair[0].objective.prototypes.weight.detach().clone()
    fit(pair, max_epochs=1)
    assert torch.equal(pair[0].objective.prototypes.weight, before)
    pair = build(objective=SwAV(prototypes=4, freeze_epochs=1.0), samples=4 * 8)
    fit(pair, max_epochs=2)
    weight = pair[0].objective.prototypes.weight
    assert (weight - before).abs().max() > 1e-3
    torch.testing.assert_close(weight.norm(dim=1), torch.ones(4))


def test_the_teacher_follows_as_the_momentum_encoder_does(build, fit):
    objective = DINO(prototypes=4, freeze_epochs=0.0)
    pair = build(objective=objective, momentum=0.5, momentum_end=0.5, samples=4 * 8)
    expected = objective.prototypes.weight.detach().clone()

    def follow(optimizer, args, kwargs):
        expected.lerp_(objective.prototypes.weight.detach(), 0.5)

    class Watch(Callback):
        def on_train_start(self, trainer, pl_module):
            trainer.optimizers[0].register_step_post_hook(follow)

    fit(pair, callbacks=[Watch()])
    torch.testing.assert_close(objective.teacher, expected, rtol=0, atol=0)
    assert not torch.equal(objective.teacher, objective.prototypes.weight)


@pytest.mark.parametrize("widths", [[8], [4, 5]])
def test_a_predictor_keeps_the_width(build, widths):
    with pytest.raises(ValueError, match=f"must keep the projector's width 4, got {widths[-1]}"):
        build(predictor=partial(MLPHead, widths=widths))


@pytest.mark.parametrize("coefficient", [-0.1, 1.01])
def test_momentum_out_of_range(build, coefficient):
    with pytest.raises(ValueError, match=r"must be in \[0, 1\], got"):
        build(momentum=coefficient)


@pytest.mark.parametrize("kind", ["validation", "test", "predict"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_other_steps_return_the_representation(build, domain, kind):
    module, data = build(domain)
    x, target = data.eval_batch(torch.arange(8))
    output = getattr(module.eval(), f"{kind}_step")((x, target), 0)
    assert set(output) == {"features", "target"}
    assert torch.equal(output["features"], module(x))
    assert output["features"].shape == (8, module.num_features)
    assert torch.equal(output["target"], target)


class TestFeatureStd:
    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    def test_zero_for_collapsed_features(self, scale, dtype):
        features = (torch.rand(1, 16) * scale).to(dtype) * torch.arange(1, 9)[:, None].to(dtype)
        assert feature_std(features).item() == pytest.approx(0.0, abs=2e-2 if dtype == torch.bfloat16 else 1e-6)

    @pytest.mark.parametrize("width", [16, 512])
    def test_about_one_for_spread_features(self, width):
        features = torch.randn(4096, width, generator=torch.Generator().manual_seed(0))
        assert feature_std(features * 7).item() == pytest.approx(1.0, abs=0.02)

    @pytest.mark.parametrize("samples", [2, 5, 64])
    def test_hardly_depends_on_the_number_of_samples(self, samples):
        """By the mean of the root of a normal sample's unbiased variance alone, 0.8 for two and 0.94 for five."""
        generator = torch.Generator().manual_seed(0)
        found = [feature_std(torch.randn(samples, 512, generator=generator)).item() for _ in range(200)]
        half = samples / 2
        expected = math.exp(math.lgamma(half) - math.lgamma(half - 0.5)) / (half - 0.5) ** 0.5
        assert np.mean(found) == pytest.approx(expected, abs=0.004)

    def test_against_numpy(self):
        x = np.random.default_rng(0).normal(size=(7, 5))
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        expected = unit.std(0, ddof=1).mean() * 5**0.5
        assert feature_std(torch.from_numpy(x)).item() == pytest.approx(expected, rel=1e-6)

    def test_finite_for_one_sample(self):
        assert feature_std(torch.ones(1, 4)).item() == 0.0


def test_it_is_logged_of_the_representation(build):
    module, data = build()
    logged = {}
    module.log_dict = lambda values, **_: logged.update(values)
    output = module.training_step(data.train_batch(torch.arange(8)), 0)
    assert set(logged) == {
        *("train/loss", "train/bound", "train/mutual_information"),
        *("train/positive_score", "train/negative_score", "train/feature_std"),
    }
    assert not any(isinstance(value, torch.Tensor) and value.requires_grad for value in logged.values())
    assert torch.equal(logged["train/feature_std"], feature_std(output["features"]))
    nn.init.zeros_(module.backbone.layers[-2].weight)  # features are now the bias: the same for every sample
    module.training_step(data.train_batch(torch.arange(8)), 0)
    assert logged["train/feature_std"].item() == pytest.approx(0.0, abs=1e-6)
