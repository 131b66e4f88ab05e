"""Average precision of VOC 2007 against loops in exact numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from lightning_renyicl.evaluation.average_precision import average_precision, mean_average_precision


def loop(scores, target):
    """The development kit's measure: difficult samples are neither found nor missed."""
    order = sorted((i for i in range(len(target)) if target[i] >= 0), key=lambda i: -scores[i])
    positives = sum(target[i] for i in order)
    points, found = [], 0
    for rank, i in enumerate(order, start=1):
        found += target[i]
        points.append((Fraction(found, positives), Fraction(found, rank)))
    return float(sum(max(p for r, p in points if r >= Fraction(k, 10)) for k in range(11)) / 11)


@pytest.mark.parametrize("difficult", [False, True])
@pytest.mark.parametrize("samples", [5, 30, 200])
def test_equals_a_loop(samples, difficult):
    for seed in range(8):
        generator = torch.Generator().manual_seed(seed)
        scores = torch.randn(samples, 4, generator=generator, dtype=torch.float64)
        target = (torch.rand(samples, 4, generator=generator) < torch.tensor([0.1, 0.3, 0.5, 0.8])).long()
        target[0] = 1
        if difficult:
            target[torch.rand(samples, 4, generator=generator) < 0.2] = -1
            target[1] = 1
        expected = [loop(*(x.tolist() for x in pair)) for pair in zip(scores.mT, target.mT, strict=True)]
        found = [average_precision(*pair).item() for pair in zip(scores.mT, target.mT, strict=True)]
        assert found == pytest.approx(expected, abs=1e-12)
        assert mean_average_precision(scores, target).item() == pytest.approx(sum(expected) / 4, abs=1e-12)


def test_by_hand():
    """Positives rank 1, 3 and 4: precision 1 to recall 1/3, and 3/4 beyond."""
    target = torch.tensor([1, 0, 1, 1, 0])
    assert average_precision(-torch.arange(5.0), target).item() == pytest.approx((4 * 1 + 7 * 0.75) / 11)


def test_a_recall_that_is_reached_exactly_counts():
    """Three of ten positives come first: 0.3 is reached, though 3 / 10 and 0.1 + 0.2 differ in floating point."""
    target = torch.tensor([1] * 3 + [0] * 90 + [1] * 7)
    best = 10 / 100
    assert average_precision(-torch.arange(100.0), target).item() == pytest.approx((4 * 1 + 7 * best) / 11)


def test_difficult_samples_change_nothing():
    generator = torch.Generator().manual_seed(0)
    scores, target = torch.randn(50, generator=generator), torch.arange(50) % 3 == 0
    target = torch.where(torch.arange(50) % 5 == 0, -1, target.long())
    expected = average_precision(scores[target >= 0], target[target >= 0])
    assert average_precision(scores, target) == expected
    assert average_precision(torch.where(target < 0, 100.0, scores), target) == expected
    assert average_precision(scores, target.clamp(min=0)) != expected


def test_a_class_without_a_positive_is_left_out():
    scores = torch.tensor([[0.3, 1.0], [0.1, 2.0]])
    assert mean_average_precision(scores, torch.tensor([[1, 0], [0, -1]])) == 1
    assert mean_average_precision(scores, torch.zeros(2, 2).long()).isnan()
