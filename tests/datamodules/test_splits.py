"""Why samples cannot be split, in the words of who split them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from datamodules.splits import stratified_split


@pytest.mark.parametrize(
    ("labels", "fraction", "reason"),
    [
        ([0, 0, 0, 1], 0.5, "there is one sample of a class"),
        ([0, 0, 1, 1, 2, 2], 0.1, "1 and 5 of 6 samples are too few for 3 classes"),
        ([0, 0, 1, 1, 2, 2], 5, "5 and 1 of 6 samples are too few for 3 classes"),
        ([-1] * 3, 5, "5 and 0 of 3 samples leave one side empty"),
        ([-1], 0.5, "1 and 0 of 1 samples leave one side empty"),
        ([], 0.5, "0 and 0 of 0 samples leave one side empty"),
    ],
)
def test_reasons(labels, fraction, reason):
    with pytest.raises(ValueError, match=f"^{reason}$"):
        stratified_split(torch.tensor(labels, dtype=torch.long), fraction, np.arange(len(labels)))


def test_a_split():
    stay, aside = stratified_split(torch.tensor([0, 1] * 10), 0.2, np.arange(20))
    assert sorted([*stay, *aside]) == list(range(20))
    assert sorted(aside % 2) == [0, 0, 1, 1]
