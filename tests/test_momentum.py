"""The momentum target: its coefficient, its update, what stays its own."""

import pytest
import torch
from torch import nn

from lightning_renyicl.momentum import MomentumTarget, cosine_momentum


@pytest.fixture
def online():
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    return backbone, nn.Linear(4, 2, bias=False)


@pytest.mark.parametrize(
    ("step", "total_steps", "expected"),
    [
        (0, 101, 0.99),
        (25, 101, 1 - 0.01 * (0.5**0.5 + 1) / 2),
        (50, 101, 0.995),
        (75, 101, 1 - 0.01 * (1 - 0.5**0.5) / 2),
    ],
)
def test_cosine_from_base_to_one(step, total_steps, expected):
    assert cosine_momentum(0.99, step, total_steps) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("step", "total_steps"), [(100, 101), (1, 2), (7, 3), (0, 1), (5, 1), (0, 0)])
def test_exactly_one_at_the_last_step_and_after(step, total_steps):
    assert cosine_momentum(0.99, step, total_steps) == 1.0


@pytest.mark.parametrize(("step", "expected"), [(0, 0.99), (50, 0.9945), (100, 0.999), (101, 0.999)])
def test_cosine_to_another_end(step, expected):
    assert cosine_momentum(0.99, step, 101, end=0.999) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("step", range(7))
def test_a_constant_coefficient(online, step):
    assert MomentumTarget(*online, 0.999, end=0.999).coefficient_at(step, 7) == 0.999


@pytest.mark.parametrize(
    ("start", "end", "name"), [(-0.1, 1.0, "momentum"), (0.9, 1.01, "momentum_end"), (0.9, -0.5, "momentum_end")]
)
def test_coefficients_out_of_range(online, start, end, name):
    with pytest.raises(ValueError, match=rf"^{name}, .* must be in \[0, 1\], got"):
        MomentumTarget(*online, start, end)


def test_coefficient_never_falls():
    values = [cosine_momentum(0.99, step, 37) for step in range(37)]
    assert values == sorted(values)


@pytest.mark.parametrize("coefficient", [0.0, 0.3, 0.99, 1.0])
def test_update_is_the_average(online, coefficient):
    target = MomentumTarget(*online, 0.99)
    before = [p.clone() for p in target.parameters()]
    with torch.no_grad():
        for parameter in nn.ModuleList(online).parameters():
            parameter.add_(torch.randn_like(parameter))
    after = [p.clone() for p in nn.ModuleList(online).parameters()]
    target.update(*online, coefficient)
    expected = [coefficient * old + (1 - coefficient) * new for old, new in zip(before, after, strict=True)]
    torch.testing.assert_close(list(target.parameters()), expected)
    torch.testing.assert_close(list(nn.ModuleList(online).parameters()), after, rtol=0, atol=0)


def test_starts_as_a_frozen_copy(online):
    target = MomentumTarget(*online, 0.99)
    x = torch.randn(5, 3)
    backbone, projector = online
    torch.testing.assert_close(target.eval()(x), projector(backbone.eval()(x)))
    assert not target(x.requires_grad_()).requires_grad
    assert not any(p.requires_grad for p in target.parameters())
    assert all(p.requires_grad for p in nn.ModuleList(online).parameters())
    shared = {p.data_ptr() for p in nn.ModuleList(online).parameters()} & {p.data_ptr() for p in target.parameters()}
    assert not shared


def test_batch_statistics_are_its_own(online):
    target = MomentumTarget(*online, 0.99)
    mine, theirs = target.network[0][1], online[0][1]
    target(torch.randn(8, 3) + 5)
    assert mine.num_batches_tracked == 1
    assert theirs.num_batches_tracked == 0
    seen = mine.running_mean.clone()
    target.update(*online, 0.0)
    torch.testing.assert_close(mine.running_mean, seen, rtol=0, atol=0)


@pytest.mark.parametrize("coefficient", [-0.1, 1.1, float("nan")])
def test_coefficient_out_of_range(online, coefficient):
    with pytest.raises(ValueError, match=r"must be in \[0, 1\], got"):
        MomentumTarget(*online, coefficient)
