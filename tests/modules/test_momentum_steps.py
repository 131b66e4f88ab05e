"""The momentum target moves once for each optimizer step that happened."""

from __future__ import annotations

import pytest
import torch
from lightning.pytorch import Callback
from lightning.pytorch.plugins import MixedPrecision

from lightning_renyicl.momentum import MomentumTarget, cosine_momentum


@pytest.fixture
def coefficients(monkeypatch):
    """The coefficients of all updates, in order."""
    seen = []
    update = MomentumTarget.update

    def spy(self, backbone, projector, coefficient):
        seen.append(coefficient)
        update(self, backbone, projector, coefficient)

    monkeypatch.setattr(MomentumTarget, "update", spy)
    return seen


@pytest.mark.parametrize(
    ("batches", "accumulate", "epochs", "steps"),
    [
        (8, 1, 2, 16),
        (8, 4, 2, 4),
        (5, 4, 3, 6),  # the last accumulation of an epoch has one batch
        (2, 4, 3, 3),  # an epoch is shorter than an accumulation
    ],
)
def test_one_update_an_optimizer_step(build, fit, coefficients, batches, accumulate, epochs, steps):
    pair = build(momentum=0.99, samples=8 * batches)
    trainer = fit(pair, max_epochs=epochs, accumulate_grad_batches=accumulate)
    assert trainer.global_step == steps
    assert coefficients == [cosine_momentum(0.99, i, steps) for i in range(steps)]


def test_coefficient_rises_from_its_base_to_one(build, fit, coefficients):
    trainer = fit(build(momentum=0.99, samples=7 * 8), max_epochs=3)
    assert len(coefficients) == 21
    assert coefficients[0] == 0.99
    assert coefficients[10] == pytest.approx(0.995)
    assert coefficients[20] == 1.0
    assert trainer.callback_metrics["train/momentum"] == 1.0


def test_coefficient_that_ends_elsewhere(build, fit, coefficients):
    fit(build(momentum=0.99, momentum_end=0.99, samples=3 * 8), max_epochs=2)
    assert coefficients == [0.99] * 6


def test_max_steps_in_place_of_max_epochs(build, fit, coefficients):
    trainer = fit(build(momentum=0.99), max_epochs=-1, max_steps=7)
    assert trainer.global_step == 7
    assert coefficients == [cosine_momentum(0.99, i, 7) for i in range(7)]


def test_follows_the_weights_after_the_step(build, fit):
    module, data = build(momentum=0.0)  # the first step's coefficient is 0: a copy of the online network

    class Compare(Callback):
        def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
            if batch_idx == 0:
                online = [*pl_module.backbone.parameters(), *pl_module.projector.parameters()]
                self.same = all(map(torch.equal, online, pl_module.momentum_target.parameters()))

    compare = Compare()
    before = [p.clone() for p in module.backbone.parameters()]
    fit((module, data), callbacks=[compare])
    assert compare.same
    assert not all(map(torch.equal, before, module.backbone.parameters()))


def test_a_skipped_step_leaves_it(build, fit, coefficients):
    class Spoil(Callback):
        """Makes the first gradient infinite, as a loss scale that is too large does."""

        def on_after_backward(self, trainer, pl_module):
            if trainer.global_step == 0:
                pl_module.projector.layers[0].weight.grad.fill_(float("inf"))

    class Watch(Callback):
        moved = ()

        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
            self.before = [p.clone() for p in pl_module.parameters()]

        def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
            self.moved += (not all(map(torch.equal, self.before, pl_module.parameters())),)

    watch = Watch()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    trainer = fit(
        build(momentum=0.9),
        plugins=[MixedPrecision("16-mixed", "cpu", scaler)],
        callbacks=[Spoil(), watch],
    )
    assert scaler.get_scale() == 1.0  # it did skip
    assert watch.moved == (False, True, True, True, True)
    assert trainer.global_step == 5
    assert coefficients == [cosine_momentum(0.9, i, 5) for i in range(1, 5)]


def test_without_momentum_there_is_no_target(build, fit, coefficients):
    module, data = build()
    trainer = fit((module, data))
    assert module.momentum_target is None
    assert not any("target" in name for name, _ in module.named_parameters())
    assert "train/momentum" not in trainer.callback_metrics
    assert coefficients == []


def test_batch_statistics_of_the_target_are_its_own(build, fit):
    module, data = build(momentum=0.9, views=4)
    fit((module, data))
    online, target = module.backbone.layers[1], module.momentum_target.network[0].layers[1]
    assert online.num_batches_tracked == 5 * 4
    assert target.num_batches_tracked == 5 * 2
    assert not torch.equal(online.running_mean, target.running_mean)


def test_frozen_weights_are_not_optimised(build, fit):
    module, data = build(momentum=0.9)
    trainer = fit((module, data))
    optimised = {id(p) for group in trainer.optimizers[0].param_groups for p in group["params"]}
    assert optimised == {id(p) for p in [*module.backbone.parameters(), *module.projector.parameters()]}
    assert not any(p.requires_grad for p in module.momentum_target.parameters())
