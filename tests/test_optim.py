"""Learning-rate schedule and LARS by hand."""

import math
import warnings

import pytest
import torch
from torch import nn

from lightning_renyicl.lars import LARS
from lightning_renyicl.optim import StepDecay, WarmupCosine


def rates(steps, total_steps, steps_per_epoch, warmup_epochs, lr=2.0):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=lr)
    schedule = WarmupCosine(optimizer, total_steps, steps_per_epoch, warmup_epochs)
    seen = []
    for _ in range(steps):
        seen.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return seen


def test_warmup_then_half_cosine():
    half = math.sqrt(0.5)
    ramp = [0.5, 1.0, 1.5]  # of 2.0, in steps of a fourth
    cosine = [2.0, 1 + half, 1.0, 1 - half]
    assert rates(8, 7, 3, 1.0) == pytest.approx([*ramp, *cosine, 0.0], abs=1e-12)


def test_without_warmup_it_starts_at_the_base_rate():
    assert rates(5, 4, 2, 0.0) == pytest.approx([2.0, 1 + math.sqrt(0.5), 1.0, 1 - math.sqrt(0.5), 0.0], abs=1e-12)


@pytest.mark.parametrize(("total_steps", "warmup_epochs"), [(1, 0), (2, 0.5), (100, 0), (1000, 10), (37, 1.25)])
def test_rises_only_while_it_warms_up_and_ends_near_zero(total_steps, warmup_epochs):
    steps_per_epoch = 2 if total_steps == 2 else 10
    seen = rates(total_steps + 3, total_steps, steps_per_epoch, warmup_epochs)
    peak = round(warmup_epochs * steps_per_epoch)
    assert seen[: peak + 1] == sorted(seen[: peak + 1])
    assert seen[peak] == 2.0
    assert seen[peak:] == sorted(seen[peak:], reverse=True)
    assert seen[0] > 0
    assert all(rate == 0 for rate in seen[total_steps:])
    if total_steps >= 100:
        assert 0 < seen[total_steps - 1] < 2e-3


@pytest.mark.parametrize(("epochs", "steps"), [(10, 40), (1.5, 6)], ids=["longer", "as long"])
def test_a_warmup_that_leaves_no_step_is_cut_to_half(epochs, steps):
    message = rf"a warm-up of {epochs} epochs \({steps} steps\) leaves none of the 6 training steps"
    with pytest.warns(UserWarning, match=message):
        seen = rates(6, 6, 4, epochs)
    assert seen == pytest.approx([0.5, 1.0, 1.5, 2.0, 1.5, 0.5])


def test_a_warmup_that_leaves_one_step_is_kept():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rates(4, 4, 3, 1) == pytest.approx([0.5, 1.0, 1.5, 2.0])


def test_every_group_keeps_its_own_rate():
    groups = [{"params": [nn.Parameter(torch.zeros(1))], "lr": lr} for lr in (1.0, 10.0)]
    schedule = WarmupCosine(torch.optim.SGD(groups), 10, 10, 0.4)
    assert schedule.get_last_lr() == pytest.approx([0.2, 2.0])


def test_resumed_schedule_continues():
    def build():
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
        return optimizer, WarmupCosine(optimizer, 20, 5, 1.0)

    (first, whole), (second, rest) = build(), build()
    for _ in range(8):
        first.step()
        whole.step()
    second.load_state_dict(first.state_dict())
    rest.load_state_dict(whole.state_dict())
    for optimizer, schedule in ((first, whole), (second, rest)):
        optimizer.step()
        schedule.step()
    assert rest.get_last_lr() == whole.get_last_lr() == [whole.factor(9)]


def test_a_schedule_continued_for_longer_goes_on_at_once():
    """The optimizer's own state still has the end of the shorter one, a rate of 0."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    shorter = WarmupCosine(optimizer, 8, 4, 1.0)
    for _ in range(8):
        optimizer.step()
        shorter.step()
    assert shorter.get_last_lr() == [0.0]
    other = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    longer = WarmupCosine(other, 16, 4, 1.0)
    other.load_state_dict(optimizer.state_dict())
    longer.load_state_dict(shorter.state_dict())
    assert other.param_groups[0]["lr"] == pytest.approx(longer.factor(8)) != 0


def test_negative_warmup():
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        rates(1, 10, 5, -1)


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("vector_lr", [None, 0.02])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 3, 3)], ids=["matrix", "kernel"])
def test_lars_adapts_matrices_and_kernels_only(shape, weight_decay, vector_lr):
    torch.manual_seed(0)
    layer = [nn.Parameter(torch.randn(shape)), nn.Parameter(torch.randn(3)), nn.Parameter(torch.randn(()))]
    lr, momentum, trust = 0.5, 0.9, 0.02
    optimizer = LARS(iter(layer), lr, momentum, weight_decay, trust, vector_lr)
    expected = [p.detach().clone() for p in layer]
    speed = [torch.zeros_like(p) for p in expected]
    for _ in range(3):
        gradients = [torch.randn_like(p) for p in expected]
        for p, gradient in zip(layer, gradients, strict=True):
            p.grad = gradient.clone()
        optimizer.step()
        for i, gradient in enumerate(gradients):
            step = gradient
            if i == 0:
                size = expected[0].norm()
                ratio = trust * size / (gradient.norm() + weight_decay * size)
                step = ratio * (gradient + weight_decay * expected[0])
            speed[i] = momentum * speed[i] + step
            expected[i] = expected[i] - (lr if i == 0 or vector_lr is None else vector_lr) * speed[i]
        torch.testing.assert_close([p.detach() for p in layer], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shapes", [[(2, 2)], [(3,)]], ids=["no vector", "no matrix"])
def test_lars_leaves_out_an_empty_group(shapes):
    optimizer = LARS([nn.Parameter(torch.ones(shape)) for shape in shapes], 0.1)
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize("rate", [-0.1, math.nan, math.inf])
def test_a_rate_of_vectors_out_of_range(rate):
    with pytest.raises(ValueError, match=f"vector_lr must be a finite number of at least 0, got {rate}"):
        LARS([nn.Parameter(torch.ones(3))], 0.1, vector_lr=rate)


@pytest.mark.parametrize("shapes", [[(2, 2)], [(3,)], [(2, 2), (3,)]], ids=["no vector", "no matrix", "both"])
def test_lars_schedules_the_rate_of_vectors_too(shapes):
    optimizer = LARS([nn.Parameter(torch.ones(shape)) for shape in shapes], 0.1, vector_lr=0.01)
    schedule = WarmupCosine(optimizer, 10, 10, 0.4)
    expected = [0.1 if len(shape) > 1 else 0.01 for shape in shapes]
    assert schedule.get_last_lr() == pytest.approx([rate / 5 for rate in expected])


class TestStepDecay:
    def rates(self, total_steps, **arguments):
        groups = [{"params": [nn.Parameter(torch.zeros(1))], "lr": lr} for lr in (1.0, 0.5)]
        optimizer = torch.optim.SGD(groups)
        schedule = StepDecay(optimizer, total_steps, 2, **arguments)
        seen = []
        for _ in range(total_steps):
            seen.append([group["lr"] for group in optimizer.param_groups])
            optimizer.step()
            schedule.step()
        return seen

    def test_the_rate_of_every_group_falls_at_shares_of_the_training(self):
        falls = [1.0] * 6 + [0.2] * 2 + [0.04] * 2
        expected = [[fall, fall / 2] for fall in falls]
        assert self.rates(10, milestones=[0.6, 0.8], decay=0.2) == [pytest.approx(rates) for rates in expected]

    def test_a_longer_training_goes_on_by_its_own_shares(self):
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
        short = StepDecay(optimizer, 10, 2, [0.5], 0.1)
        for _ in range(6):
            optimizer.step()
            short.step()
        assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1)
        other = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
        long = StepDecay(other, 20, 2, [0.5], 0.1)
        long.load_state_dict(short.state_dict())
        assert other.param_groups[0]["lr"] == pytest.approx(1.0)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"milestones": [1.5]}, "milestones are shares"),
            ({"milestones": [0.0]}, "milestones are shares"),
            ({"decay": 0.0}, "decay must be above 0"),
        ],
    )
    def test_values_out_of_range(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            self.rates(4, **arguments)
