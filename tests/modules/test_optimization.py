"""Optimizers, schedules, precisions and repeatability in a trainer."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from contextlib import nullcontext
from functools import partial

import pytest
import torch
from lightning.pytorch import Callback
from lightning.pytorch.callbacks import GradientAccumulationScheduler
from lightning.pytorch.plugins import MixedPrecision
from lightning.pytorch.strategies import FSDPStrategy, ModelParallelStrategy
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from lightning_renyicl.lars import LARS
from lightning_renyicl.optim import WarmupCosine


class Rates(Callback):
    """The learning rate of each optimizer step, and after the last."""

    def on_train_start(self, trainer, pl_module):
        self.seen = []

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        self.seen.append(optimizer.param_groups[0]["lr"])

    def on_train_end(self, trainer, pl_module):
        self.last = trainer.optimizers[0].param_groups[0]["lr"]


@pytest.mark.parametrize(
    ("arguments", "steps", "warmup"),
    [
        ({"max_epochs": 4}, 20, 5),
        ({"max_epochs": 4, "accumulate_grad_batches": 4}, 8, 2),  # 5 batches an epoch make 2 steps
        ({"max_epochs": -1, "max_steps": 12}, 12, 5),
        ({"max_epochs": 3, "limit_train_batches": 3}, 9, 3),
    ],
)
def test_one_warmup_and_one_cosine(build, fit, arguments, steps, warmup):
    rates = Rates()
    fit(build(scheduler=partial(WarmupCosine, warmup_epochs=1)), callbacks=[rates], **arguments)
    assert len(rates.seen) == steps
    assert rates.seen[: warmup + 1] == pytest.approx([0.1 * (i + 1) / (warmup + 1) for i in range(warmup + 1)])
    falling = rates.seen[warmup:]
    assert falling == sorted(falling, reverse=True)
    assert 0 < falling[-1] < falling[0] / 2
    assert rates.last == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"callbacks": [GradientAccumulationScheduler({1: 2})]}, "in place of GradientAccumulationScheduler"),
        ({"overfit_batches": 2}, "overfit_batches"),
        ({"accumulate_grad_batches": 0}, "accumulate_grad_batches must be at least 1"),
    ],
)
def test_what_schedules_do_not_work_with_is_refused(build, fit, arguments, message):
    with pytest.raises(ValueError, match=message):
        fit(build(), **arguments)


def test_strategies_that_cut_weights_are_refused(build, fit):
    module, _ = build(momentum=0.9)
    module.trainer = trainer = fit(build())
    for strategy in (FSDPStrategy(), ModelParallelStrategy()):
        trainer._accelerator_connector.strategy = strategy
        with pytest.raises(ValueError, match=f"{type(strategy).__name__} cuts weights"):
            module.setup("fit")


@pytest.mark.parametrize(
    ("finite", "ends"), [("11110 11110", None), ("01111", None), ("00000 11111", 1), ("11111 00000", 2)]
)
def test_a_run_ends_with_an_epoch_without_a_finite_loss(build, fit, finite, ends):
    """Weights stay finite, as of steps that a gradient scaler skips: what is added to a loss has no gradient."""
    module, data = build()
    added = iter([0.0 if each == "1" else math.inf for each in finite.replace(" ", "")])
    module.objective.register_forward_hook(lambda _, inputs, outputs: (outputs[0] + next(added), outputs[1]))
    message = f"no loss is finite after epoch {ends}, the last loss is inf"
    with nullcontext() if ends is None else pytest.raises(ValueError, match=message):
        fit((module, data), max_epochs=len(finite.split()))


def test_a_run_ends_with_weights_that_are_not_finite(build, fit):
    """The last step makes them so, of which no loss tells."""

    class Diverge(Callback):
        def on_train_batch_end(self, trainer, pl_module, *_):
            if trainer.is_last_batch:
                pl_module.projector.layers[-1].weight.data[0, 0] = math.inf

    with pytest.raises(ValueError, match=r"weights are not finite after epoch 1, the last loss is -?\d"):
        fit(build(), callbacks=[Diverge()])


def test_a_run_that_the_scaler_lets_make_no_step_ends(build, fit):
    module, data = build()
    module.objective.register_forward_hook(lambda _, inputs, outputs: (outputs[0] * float("nan"), outputs[1]))
    plugins = [MixedPrecision("16-mixed", "cpu", torch.amp.GradScaler("cpu", init_scale=2.0))]
    with pytest.raises(ValueError, match="no loss is finite after epoch 1, the last loss is nan"):
        fit((module, data), plugins=plugins)


def test_a_mask_of_infinite_numbers_is_none_of_a_runs_weights(build, fit):
    module, data = build()
    module.register_buffer("mask", torch.tensor(float("-inf")))
    fit((module, data))


def test_a_warmup_longer_than_the_training_is_cut(build, fit):
    rates = Rates()
    with pytest.warns(UserWarning, match="leaves none of the 10 training steps"):
        fit(build(scheduler=partial(WarmupCosine, warmup_epochs=5)), max_epochs=2, callbacks=[rates])
    assert rates.seen.index(max(rates.seen)) == 5
    assert rates.last == pytest.approx(0.0, abs=1e-12)


def test_without_scheduler_the_rate_stays(build, fit):
    rates = Rates()
    trainer = fit(build(scheduler=None), callbacks=[rates])
    assert rates.seen == [0.1] * 5
    assert trainer.lr_scheduler_configs == []


def test_lars_has_its_groups_and_every_weight_moves(build, fit, weights):
    module, data = build(optimizer=partial(LARS, lr=0.5, weight_decay=0.1), momentum=0.9)
    before = weights(module)
    trainer = fit((module, data), max_epochs=2)
    adapted, plain = trainer.optimizers[0].param_groups
    assert all(p.ndim > 1 for p in adapted["params"])
    assert all(p.ndim <= 1 for p in plain["params"])
    assert (adapted["weight_decay"], plain["weight_decay"]) == (0.1, 0.0)
    trained = [name for name, p in module.named_parameters() if p.requires_grad]
    assert len(adapted["params"]) + len(plain["params"]) == len(trained)
    moved = [name for name in trained if not torch.equal(before[name], module.state_dict()[name])]
    assert moved == trained


@pytest.mark.parametrize(
    "optimizer",
    [
        partial(torch.optim.AdamW, lr=1e-3, weight_decay=0.1),
        lambda params: torch.optim.SGD([{"params": [p], "lr": 0.1 / (i + 1)} for i, p in enumerate(params)], lr=0.1),
    ],
    ids=["AdamW", "a group a parameter"],
)
def test_optimizers_of_torch(build, fit, weights, optimizer):
    module, data = build(optimizer=optimizer)
    before = weights(module)
    fit((module, data), max_epochs=2)
    assert all(not torch.equal(before[name], p) for name, p in module.named_parameters() if p.requires_grad)


@pytest.mark.parametrize("domain", ["image", "table", "graph"])
@pytest.mark.parametrize("precision", ["32-true", "bf16-true", "bf16-mixed", "16-mixed"])
def test_precisions(build, fit, weights, domain, precision):
    module, data = build(domain, momentum=None if precision == "bf16-true" else 0.9, samples=16)
    before = weights(module)
    chosen = {"precision": precision}
    if precision == "16-mixed":  # Lightning makes it bf16-mixed on a CPU, unless it is given as a plugin
        chosen = {"plugins": [MixedPrecision(precision, "cpu", torch.amp.GradScaler("cpu", init_scale=2.0))]}
    trainer = fit((module, data), limit_val_batches=1, **chosen)
    after = module.state_dict()
    assert all(torch.isfinite(tensor).all() for tensor in after.values())
    assert any(not torch.equal(before[name], after[name].float()) for name in before if "backbone" in name)
    assert trainer.callback_metrics["train/loss"].isfinite()
    assert next(module.parameters()).dtype == (torch.bfloat16 if precision == "bf16-true" else torch.float32)


class Casts(TorchDispatchMode):
    """How often each tensor is cast."""

    def __init__(self):
        super().__init__()
        self.of = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten._to_copy.default:
            self.of[args[0].data_ptr()] += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.filterwarnings("ignore:You are trying to .self.log")
@pytest.mark.parametrize("momentum", [None, 0.9])
def test_weights_are_cast_once_for_all_views(build, momentum):
    module, data = build("table", momentum=momentum, samples=16)
    data.setup("fit")
    batch = data.train_batch(next(iter(data.train_dataloader())))
    with MixedPrecision("bf16-mixed", "cpu").forward_context():
        with torch.no_grad():  # these casts have no gradients and must not be taken for the step's
            module(batch[0][0])
        with Casts() as casts:
            loss = module.training_step(batch, 0)["loss"]
        assert not torch.is_autocast_cache_enabled()  # as before the step
    loss.backward()
    weights = [
        layer.weight for layer in module.modules() if isinstance(layer, nn.Linear) and layer.weight.requires_grad
    ]
    assert len(weights) > 2
    assert [casts.of[weight.data_ptr()] for weight in weights] == [1] * len(weights)
    gradients = [weight.grad for weight in weights]
    assert all(gradient.any() for gradient in gradients)

    module.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        expected = module.training_step(batch, 0)["loss"]
    expected.backward()
    assert torch.equal(loss, expected)
    assert all(map(torch.equal, gradients, [weight.grad for weight in weights]))


def test_a_half_precision_average_would_stand_still(build, fit):
    with pytest.raises(ValueError, match=r"momentum encoder's average stands still in torch\.bfloat16"):
        fit(build("table", momentum=0.9, samples=16), precision="bf16-true")


@pytest.mark.parametrize("domain", ["image", "table", "graph"])
def test_same_seed_same_weights(build, fit, weights, domain):
    runs = []
    for seed in (3, 3, 4):
        pair = build(domain, seed=seed, momentum=0.9, samples=16)
        fit(pair)
        runs.append(weights(pair[0]))
    assert all(torch.equal(runs[0][name], runs[1][name]) for name in runs[0])
    assert any(not torch.equal(runs[0][name], runs[2][name]) for name in runs[0])


def test_accumulated_batches_make_one_step_of_the_mean_gradient(build, fit):
    class Gradients(Callback):
        def __init__(self):
            self.steps = []

        def on_before_optimizer_step(self, trainer, pl_module, optimizer):
            self.steps.append([p.grad.clone() for p in pl_module.parameters()])

    class Still(torch.optim.SGD):
        """Leaves the weights, so that gradients of both runs are taken at the same place."""

        def step(self, closure=None):
            return None if closure is None else closure()

    seen = {}
    for accumulate in (1, 4):
        seen[accumulate] = Gradients()
        pair = build(optimizer=partial(Still, lr=0.1), scheduler=None, samples=5 * 8)
        fit(pair, accumulate_grad_batches=accumulate, callbacks=[seen[accumulate]])
    single, summed = seen[1].steps, seen[4].steps
    assert (len(single), len(summed)) == (5, 2)
    for i in range(len(single[0])):
        torch.testing.assert_close(summed[0][i], sum(g[i] for g in single[:4]) / 4)
        torch.testing.assert_close(summed[1][i], single[4][i] / 4)  # Lightning's scale of a ragged accumulation


def test_a_run_warns_of_nothing(build, fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(build(momentum=0.9), max_epochs=2, limit_val_batches=1.0)
    known = ("does not have many workers", "LeafSpec", "GPU")  # Lightning's own
    assert [str(w.message) for w in caught if not any(part in str(w.message) for part in known)] == []


@pytest.mark.parametrize("parts", [{}, {"scheduler": None, "momentum": 0.9}])
def test_schedules_need_a_length(build, fit, parts):
    with pytest.raises(ValueError, match=r"set trainer\.max_epochs or trainer\.max_steps"):
        fit(build(**parts), max_epochs=-1)
