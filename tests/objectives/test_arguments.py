"""Shapes and options that a bound refuses."""

import pytest
import torch

NAN = float("nan")
SCORES = torch.zeros(2), torch.zeros(2, 1)


@pytest.mark.parametrize(
    ("p", "n"), [((4,), (4,)), ((4,), (5, 3)), ((4, 2), (4, 3)), ((4, 2), (4, 3, 3)), ((), (3,)), ((2, 2, 2),) * 2]
)
def test_shapes_that_do_not_fit(row, p, n):
    with pytest.raises(ValueError, match="expected positives"):
        row.bounds()[0](torch.zeros(p), torch.zeros(n))


@pytest.mark.parametrize(("p", "n"), [((0,), (0, 3)), ((1,), (1, 0)), ((4, 0), (4, 0, 3))])
def test_an_empty_side(row, p, n):
    with pytest.raises(ValueError, match="at least two samples"):
        row.bounds()[0](torch.zeros(p), torch.zeros(n))


@pytest.mark.parametrize("alpha", [-0.1, 1.1, NAN])
def test_alpha_out_of_range(skewed, alpha):
    for bound in skewed.bounds():  # at any order
        with pytest.raises(ValueError, match=r"alpha must be in \[0, 1\], got"):
            bound(*SCORES, alpha=alpha)


@pytest.mark.parametrize("gamma", [0.0, -1.0, float("inf"), NAN])
def test_gamma_out_of_range(of_order, gamma):
    with pytest.raises(ValueError, match="gamma must be a finite number above 0, got"):
        of_order.bounds()[0](*SCORES, gamma=gamma)
