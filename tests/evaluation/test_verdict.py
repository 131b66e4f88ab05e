"""The lines on scores beside those of doing nothing."""

from __future__ import annotations

import math

import pytest
import torch

from lightning_renyicl.evaluation.verdict import verdict

TARGET = torch.zeros(100, dtype=torch.long)
ADVICE = "try more epochs, a harder or a milder augmentation, another learning rate or optimizer"


def right(*spans):
    """Classes of which those in the spans are right."""
    given = torch.ones(100, dtype=torch.long)
    for start, stop in spans:
        given[start:stop] = 0
    return given


def test_no_advice_where_training_is_ahead():
    given = {"trained": right((0, 90)), "untrained": right((0, 80)), "raw": right((0, 70))}
    assert verdict("knn of few", given, TARGET, "trees") == [
        "accuracy (%) by knn of few: trained 90.0, untrained 80.0, raw input 70.0"
    ]


def error(alone, others):
    """The standard error of a difference, in points, of 100 samples of which some are right with one encoder alone."""
    mean = (alone - others) / 100
    return 100 * math.sqrt((alone + others - 100 * mean**2) / 99) / 10


@pytest.mark.parametrize(("ahead", "advised"), [(4, True), (6, False)])
def test_ahead_is_by_more_than_the_standard_error_of_the_difference(ahead, advised):
    """Of 100 samples 10 + ahead are right with the trained encoder alone, 10 with the untrained one alone."""
    given = {"trained": right((0, 60 + ahead)), "untrained": right((0, 50), (90, 100)), "raw": right()}
    assert (ahead > error(10 + ahead, 10)) is not advised
    found = verdict("x", given, TARGET, "trees")
    assert len(found) == 1 + advised
    if advised:
        assert found[1] == (
            f"training is not ahead of untrained by more than a standard error of the difference "
            f"({error(10 + ahead, 10):.1f} points): {ADVICE}"
        )


@pytest.mark.parametrize(("instead", "end"), [("trees", ", and on raw input trees"), (None, "")])
def test_advice_on_raw_input(instead, end):
    given = {"trained": right((0, 50)), "untrained": right((0, 50)), "raw": right((0, 60))}
    assert verdict("x", given, TARGET, instead)[1] == (
        f"training is not ahead of untrained and raw input by more than a standard error of the difference "
        f"(0.0 and 3.0 points): {ADVICE}{end}"
    )


@pytest.mark.parametrize("names", [["trained"], ["untrained", "raw"]])
def test_nothing_to_compare(names):
    assert verdict("x", {name: right() for name in names}, TARGET, None) == []
