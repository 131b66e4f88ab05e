"""Large scores and half precision."""

import pytest
import torch

from lightning_renyicl.objectives.functional import NonFiniteBoundError, nwj

HALVES = [torch.float16, torch.bfloat16]


def gradients(bound, p, n):
    p, n = p.clone().requires_grad_(), n.clone().requires_grad_()
    value = bound(p, n)
    return value.detach(), *torch.autograd.grad(value, (p, n))


def test_large_scores_stay_finite(log_bound):
    largest = 1500.0  # of its exponential even double precision knows nothing
    generator = torch.Generator().manual_seed(0)
    p, n = (largest * (2 * torch.rand(shape, generator=generator) - 1) for shape in [(32, 2), (32, 2, 31)])
    p[0, 0], n[0, 0, 0] = largest, -largest
    single, double = gradients(log_bound, p, n), gradients(log_bound, p.double(), n.double())
    assert all(part.isfinite().all() for part in single)
    torch.testing.assert_close(single, double, check_dtype=False, rtol=2e-3, atol=1e-6 * largest)


@pytest.mark.parametrize("alpha", [0.0, 1 / 4096, 0.5, 1.0])
def test_nwj_is_finite_up_to_80(alpha):
    value, *sides = gradients(lambda p, n: nwj(p, n, alpha), torch.full((512,), 80.0), torch.full((512, 511), 80.0))
    assert value.isfinite()
    assert value.item() == pytest.approx(-(2.0382810665126688e34), rel=1e-4)  # 80 - e^79
    assert all(side.isfinite().all() for side in sides)


def test_nwj_names_scores_that_are_nan():
    with pytest.raises(NonFiniteBoundError, match="NaN: the embeddings are not finite"):
        nwj(torch.tensor([0.0, float("nan")]), torch.zeros(2, 3))


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("score", [200.0, float("inf")])
def test_nwj_names_the_overflow(score, side):
    scores = [torch.zeros(4), torch.zeros(4, 3)]
    scores[side].view(-1)[1] = score
    with pytest.raises(NonFiniteBoundError, match=f"largest score of {score:.4g}.*temperature.*DV"):
        nwj(*scores, alpha=0.5)


def test_half_precision_scores_are_raised(bound, draw):
    for dtype in HALVES:
        p, n = draw((32,), 31, scale=3.0, dtype=dtype)
        value, *sides = gradients(bound, p, n)
        assert value.dtype == torch.float32
        torch.testing.assert_close(value, bound(p.float(), n.float()), rtol=0, atol=0)
        assert all(side.dtype == dtype and side.isfinite().all() for side in sides)


def test_autocast_changes_nothing(bound, draw):
    p, n = draw((32,), 31, scale=3.0 if bound.row.exponentiates else 30.0, dtype=torch.float32)
    expected = gradients(bound, p, n)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        actual = gradients(bound, p, n)
    assert actual[0].dtype == torch.float32
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)
