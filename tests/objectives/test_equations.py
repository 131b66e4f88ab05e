"""Every bound against a loop over the paper's equation."""

import pytest
import torch


@pytest.mark.parametrize("shape", [(6,), (4, 3)], ids=str)
def test_value_is_the_equation(bound, draw, shape):
    p, n = draw(shape, 5)
    value = bound(p, n)
    assert value.shape == ()
    assert value.dtype == torch.float64
    assert value.item() == pytest.approx(bound.loop(p, n), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("shape", [(1,), (1, 2)], ids=str)
def test_one_anchor(row, draw, shape):
    bound, (p, n) = row.bounds()[0], draw(shape, 1)
    assert bound(p, n).item() == pytest.approx(bound.loop(p, n), rel=1e-12, abs=1e-12)


def test_single_precision_is_the_equation(bound, draw):
    p, n = draw((32, 2), 31, dtype=torch.float32)
    value = bound(p, n)
    assert value.dtype == torch.float32
    assert value.item() == pytest.approx(bound.loop(p, n), rel=2e-6, abs=4e-6)


def test_identical_positive_columns_count_once(bound, draw):
    p, n = draw((5,), 4)
    repeated = bound(p[:, None].expand(-1, 3), n[:, None].expand(-1, 3, -1))
    torch.testing.assert_close(repeated, bound(p, n), rtol=1e-13, atol=1e-13)
