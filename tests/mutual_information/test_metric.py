"""The metric: batches, invalid pairs, ranges. Several processes are in ``test_distributed.py``."""

import math

import pytest
import torch

from lightning_renyicl.mutual_information import MutualInformation, log_ratio, row_log_ratio


def scores(seed, n=6, spread=1.0):
    generator = torch.Generator().manual_seed(seed)
    return spread * torch.randn(n, generator=generator), torch.randn(n, n - 1, generator=generator)


@pytest.mark.parametrize("alpha", [None, 0.0, 0.1])
def test_mean_over_pairs_of_all_batches(alpha):
    metric, ratios = MutualInformation(alpha), []
    for seed, n in ((0, 6), (1, 4)):
        p, negatives = scores(seed, n)
        metric.update(p, negatives)
        ratios.append(row_log_ratio(p, negatives) if alpha is None else log_ratio(p, negatives, alpha))
    found = metric.compute()
    torch.testing.assert_close(found["mutual_information"], torch.cat(ratios).nanmean())
    assert found["invalid"].item() == pytest.approx(torch.cat(ratios).isnan().float().mean().item())


def test_invalid_pairs_are_counted_and_left_out():
    metric = MutualInformation(0.5)
    metric.update(torch.tensor([0.0, 10.0, 0.1]), torch.zeros(3, 2))
    found = metric.compute()
    assert found["invalid"].item() == pytest.approx(1 / 3)
    z = ((1 + math.exp(10.0) + math.exp(0.1)) / 3 + 1) / 2
    ratios = [math.exp(p) / 2 / (z - math.exp(p) / 2) for p in (0.0, 0.1)]
    assert found["mutual_information"].item() == pytest.approx(sum(map(math.log, ratios)) / 2)


@pytest.mark.parametrize("alpha", [None, 0.1])
def test_scores_that_are_no_numbers(alpha):
    metric = MutualInformation(alpha)
    metric.update(torch.tensor([math.nan, 1.0, 2.0]), torch.zeros(3, 2))
    metric.update(*scores(0))
    assert math.isnan(metric.compute()["mutual_information"])


def test_endless_scores_stay_endless():
    metric = MutualInformation()
    metric.update(torch.tensor([math.inf, 1.0]), torch.zeros(2, 1))
    assert metric.compute()["mutual_information"] == math.inf


def test_sums_are_of_single_precision_where_half_is_the_default():
    """As within a training in bf16-true, where 1,000 batches added up would stand still."""
    torch.set_default_dtype(torch.bfloat16)
    try:
        metric = MutualInformation()
    finally:
        torch.set_default_dtype(torch.float32)
    p, n = torch.full((4,), 1.1), torch.zeros(4, 3)
    for _ in range(1000):
        metric.update(p, n)
    assert metric.compute()["mutual_information"].item() == pytest.approx(row_log_ratio(p, n).mean().item(), rel=1e-5)


def test_reset():
    metric = MutualInformation()
    metric.update(*scores(0))
    metric.reset()
    metric.update(*scores(1))
    torch.testing.assert_close(metric.compute()["mutual_information"], row_log_ratio(*scores(1)).mean())


def test_gradients_stay_out():
    p, n = scores(0)
    metric = MutualInformation()
    metric.update(p.requires_grad_(), n)
    assert not metric.total.requires_grad


def test_no_double_precision_for_devices_that_lack_it():
    assert torch.float64 not in {state.dtype for state in MutualInformation().metric_state.values()}


@pytest.mark.parametrize("alpha", [-0.1, 1.0, 2.0])
def test_range(alpha):
    with pytest.raises(ValueError, match="alpha"):
        MutualInformation(alpha)
