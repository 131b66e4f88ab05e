"""Read-outs at the optimal critics of the bounds, where they are right and where they fail."""

import math

import pytest
import torch

from datamodules.pairs import GaussianPairs
from lightning_renyicl.mutual_information import CorrelatedGaussians, log_ratio, row_log_ratio

PAIRS, BATCHES = 512, 50
OFF_DIAGONAL = ~torch.eye(PAIRS, dtype=torch.bool)


def skewed(log_r, alpha):
    """The log s of the ratio to the mixture."""
    return -torch.logaddexp(torch.full_like(log_r, math.log(alpha)), math.log1p(-alpha) - log_r)


def batches(nats, count=BATCHES):
    """The log r of the positive and of the negative pairs of batches."""
    pair = CorrelatedGaussians.of_mutual_information(20, nats)
    generator = torch.Generator().manual_seed(0)
    for _ in range(count):
        scores = pair.log_ratio(*(part.double() for part in GaussianPairs(20).sample(PAIRS, nats, generator)))
        yield scores.diagonal(), scores[OFF_DIAGONAL].view(PAIRS, PAIRS - 1)


@pytest.mark.parametrize(("nats", "tolerance"), [(1.0, 0.05), (2.0, 0.05), (3.0, 0.12)])
def test_a_normaliser_an_anchor_at_the_critic_of_cpc(nats, tolerance):
    """Measured: 0.006, 0.032 and 0.10 above the mean of log r."""
    rows = torch.linspace(-5, 5, PAIRS, dtype=torch.float64)
    errors = [(row_log_ratio(p + rows, n + rows[:, None]) - p).mean() for p, n in batches(nats)]
    assert abs(torch.stack(errors).mean()) < tolerance


@pytest.mark.parametrize(("nats", "alpha"), [(1.0, 1 / 4096), (2.0, 1 / 128), (3.0, 1 / 128), (3.0, 1 / 4096)])
def test_a_normaliser_a_batch_at_the_critic_of_the_others(nats, alpha):
    """Measured: at most 0.007 from the mean of log r."""
    errors = [
        log_ratio(skewed(p, alpha) + 7, skewed(n, alpha) + 7, alpha).nanmean() - p.mean() for p, n in batches(nats)
    ]
    assert abs(torch.stack(errors).mean()) < 0.03


class TestFailures:
    """What lies beyond: the same read-outs where the batch doesn't hold what they need."""

    def test_an_anchors_negatives_cannot_show_a_large_ratio(self):
        """Over negatives r has mean 1 by values that 511 of them hardly ever reach: the sum is too small."""
        errors = torch.stack([(row_log_ratio(p, n) - p).mean() for p, n in batches(8.0, 50)])
        assert errors.mean() > 1

    def test_a_batch_finds_ratios_above_the_largest(self):
        """For most positive pairs s is almost 1/alpha, and the noise of the normaliser puts many above."""
        ratios = [log_ratio(skewed(p, 0.01), skewed(n, 0.01), 0.01) for p, n in batches(16.0, 50)]
        assert 0.05 < torch.stack(ratios).isnan().double().mean() < 1

    def test_the_other_normaliser_is_wrong_for_cpc(self):
        rows = torch.linspace(-5, 5, PAIRS, dtype=torch.float64)
        p, n = next(batches(2.0))
        own, other = row_log_ratio(p + rows, n + rows[:, None]), log_ratio(p + rows, n + rows[:, None], 1 / 4096)
        assert (own - p).abs().mean() < 0.2
        assert (other - p).abs().nanmean() > 1


def test_by_the_equation():
    generator = torch.Generator().manual_seed(0)
    p = torch.randn(5, 2, generator=generator, dtype=torch.float64)
    n = torch.randn(5, 2, 3, generator=generator, dtype=torch.float64)
    found = row_log_ratio(p, n)
    z = 0.1 * p.exp().mean() + 0.9 * n.exp().mean()
    for i in range(5):
        for j in range(2):
            assert found[i, j].item() == pytest.approx((p[i, j].exp() / n[i, j].exp().mean()).log().item())
            ratio = 0.9 * p[i, j].exp() / (z - 0.1 * p[i, j].exp())
            assert log_ratio(p, n, 0.1)[i, j].item() == pytest.approx(ratio.log().item())


def test_without_skew_every_pair_has_a_ratio():
    p, n = torch.tensor([0.0, 1.0, 50.0]), torch.zeros(3, 2)
    torch.testing.assert_close(log_ratio(p, n, 0.0), p)


def test_a_score_above_the_largest_has_no_ratio():
    p, n = torch.tensor([0.0, 10.0, 0.1]), torch.zeros(3, 2)
    assert log_ratio(p, n, 0.5).isnan().tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_large_scores_in_any_precision(dtype):
    p, n = torch.full((4,), 80.0, dtype=dtype), torch.full((4, 3), -80.0, dtype=dtype)
    assert row_log_ratio(p, n).tolist() == pytest.approx([160.0] * 4)
    assert row_log_ratio(p, n).dtype == torch.float32
    assert log_ratio(p, n, 0.0).tolist() == pytest.approx([160.0] * 4)


@pytest.mark.parametrize("alpha", [-0.1, 1.0, 1.5, math.nan])
def test_range(alpha):
    with pytest.raises(ValueError, match="alpha"):
        log_ratio(torch.zeros(2), torch.zeros(2, 1), alpha)
