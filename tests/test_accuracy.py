"""Accuracies against scikit-learn's."""

from __future__ import annotations

import pytest
import torch
from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix

from lightning_renyicl.accuracy import accuracies


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_against_scikit_learn(classes):
    generator = torch.Generator().manual_seed(classes)
    target = torch.randint(max(2, classes - 1), (200,), generator=generator)  # of the last class there are none
    predicted = torch.where(torch.rand(200, generator=generator) < 0.6, target, torch.arange(200) % classes)
    found = accuracies(torch.from_numpy(confusion_matrix(target, predicted, labels=range(classes))))
    assert found["top1"].item() == pytest.approx(accuracy_score(target, predicted))
    assert found["macro_top1"].item() == pytest.approx(balanced_accuracy_score(target, predicted))


def test_of_no_samples():
    assert all(value.isnan() for value in accuracies(torch.zeros(3, 3, dtype=torch.long)).values())
