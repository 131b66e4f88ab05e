"""Shapes and options that a bound refuses."""

import pytest
import torch

from lightning_renyicl.objectives import functional as f

NAN = float("nan")


FUNCTIONS = [
    f.cpc,
    f.dv,
    f.nwj,
    f.mutual_information,
    lambda p, n: f.mlcpc(p, n, 0.5),
    lambda p, n: f.rmlcpc(p, n, 0.5, 2.0),
    lambda p, n: f.renyi(p, n, 1.1),
]
NAMES = ["cpc", "dv", "nwj", "mutual_information", "mlcpc", "rmlcpc", "renyi"]


@pytest.mark.parametrize("function", FUNCTIONS, ids=NAMES)
@pytest.mark.parametrize(
    ("p", "n"), [((4,), (4,)), ((4,), (5, 3)), ((4, 2), (4, 3)), ((4, 2), (4, 3, 3)), ((), (3,)), ((2, 2, 2),) * 2]
)
def test_shapes_that_do_not_fit(function, p, n):
    with pytest.raises(ValueError, match="expected positives"):
        function(torch.zeros(p), torch.zeros(n))


@pytest.mark.parametrize("function", FUNCTIONS, ids=NAMES)
@pytest.mark.parametrize(("p", "n"), [((0,), (0, 3)), ((1,), (1, 0)), ((4, 0), (4, 0, 3))])
def test_an_empty_side(function, p, n):
    with pytest.raises(ValueError, match="at least two samples"):
        function(torch.zeros(p), torch.zeros(n))


@pytest.mark.parametrize("alpha", [-0.1, 1.1, NAN])
@pytest.mark.parametrize("function", [f.cpc, f.mlcpc, f.dv, f.nwj, lambda p, n, alpha: f.rmlcpc(p, n, alpha, 2.0)])
def test_alpha_out_of_range(function, alpha):
    with pytest.raises(ValueError, match=r"alpha must be in \[0, 1\], got"):
        function(torch.zeros(2), torch.zeros(2, 1), alpha)


@pytest.mark.parametrize("alpha", [-0.1, 1.1])
def test_alpha_out_of_range_at_gamma_one(alpha):
    with pytest.raises(ValueError, match="alpha must be"):
        f.rmlcpc(torch.zeros(2), torch.zeros(2, 1), alpha, 1.0)


@pytest.mark.parametrize("gamma", [0.0, -1.0, float("inf"), NAN])
@pytest.mark.parametrize("function", [f.renyi, lambda p, n, gamma: f.rmlcpc(p, n, 0.5, gamma)])
def test_gamma_out_of_range(function, gamma):
    with pytest.raises(ValueError, match="gamma must be a finite number above 0, got"):
        function(torch.zeros(2), torch.zeros(2, 1), gamma)
