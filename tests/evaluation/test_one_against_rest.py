"""A classifier for each class of samples of several classes."""

from __future__ import annotations

import pytest
import torch
from sklearn.linear_model import LogisticRegression as Reference

from datamodules import FakeTable
from lightning_renyicl.evaluation import (
    FewShot,
    FrozenFeatures,
    LabeledFeatures,
    OneAgainstRest,
    PseudoInverse,
    one_against_rest,
)
from lightning_renyicl.evaluation.average_precision import mean_average_precision
from lightning_renyicl.evaluation.logistic_regression_path import PENALTIES


class Several(FakeTable):
    """Rows of up to three classes, some of which count as neither."""

    def load(self):
        samples = super().load()
        self.num_classes = 0
        generator = torch.Generator().manual_seed(3)
        noisy = samples.inputs[:, :3] + 0.8 * torch.randn(len(samples.inputs), 3, generator=generator)
        samples.target = (noisy > torch.tensor([0.0, 0.5, 1.0])).long()
        samples.target[torch.rand(noisy.shape, generator=generator) < 0.15] = -1
        return samples


def parts(module, data):
    module.eval()
    with torch.no_grad():
        return [
            LabeledFeatures(module(data.samples.inputs[rows]), data.samples.target[rows])
            for rows in data.samples.splits.values()
        ]


def reference(penalty, samples, features):
    """Log odds by scikit-learn, a classifier a class."""
    columns = []
    for target in samples.target.unbind(1):
        known = target >= 0
        fitted = Reference(C=1 / penalty, solver="newton-cholesky", tol=1e-9)
        fitted.fit(samples.features[known].double(), target[known])
        columns.append(torch.from_numpy(fitted.decision_function(features.double())))
    return torch.stack(columns, dim=1)


def test_scores_are_scikit_learns(make):
    """In float64, so that 45 fits of each class converge to the last digit."""
    module, data = make(Several, seed=5, num_samples=160)
    train, val, test = (LabeledFeatures(part.features.double(), part.target) for part in parts(module, data))
    tried = [mean_average_precision(reference(c, train, val.features), val.target).item() for c in PENALTIES.tolist()]
    penalty = PENALTIES[tried.index(max(tried))].item()
    assert penalty not in (PENALTIES[0], PENALTIES[-1])
    found = OneAgainstRest().scores(train, val, test.features)
    assert torch.allclose(found, reference(penalty, train + val, test.features), atol=1e-3)


def test_what_is_logged_is_of_the_test_split(make, quiet_trainer, monkeypatch):
    monkeypatch.setattr(one_against_rest, "PENALTIES", torch.tensor([10.0, 0.1]))
    module, data = make(Several, seed=5, num_samples=160)
    callback = OneAgainstRest()
    (metrics,) = quiet_trainer(callbacks=[callback]).test(module, datamodule=data, verbose=False)
    train, val, test = parts(module, data)
    score = mean_average_precision(callback.scores(train, val, test.features), test.target).item()
    assert metrics == {"one_against_rest/map11": pytest.approx(score, abs=1e-6)}
    assert 0.5 < score < 1


def test_what_counts_as_neither_is_not_fitted_to(make):
    module, data = make(Several, seed=5, num_samples=160)
    train, _, test = parts(module, data)
    assert (train.target < 0).any()
    expected = OneAgainstRest().along([1.0], train, test.features)
    moved = train.features.clone()
    moved[(train.target < 0).all(1)] = 1e3
    assert torch.equal(OneAgainstRest().along([1.0], LabeledFeatures(moved, train.target), test.features), expected)
    as_absent = LabeledFeatures(train.features, train.target.clamp(min=0))
    assert not torch.allclose(OneAgainstRest().along([1.0], as_absent, test.features), expected, atol=1e-3)


def test_odds_that_no_probability_holds_are_ordered():
    x = torch.linspace(-1, 1, 40)[:, None]
    samples = LabeledFeatures(x, (x > 0).long())
    found = OneAgainstRest().along([1e-2], samples, 200 * x)[0, :, 0]
    assert found.max() > 200  # where single precision has no probability of the other side
    assert (found.diff() > 0).all()


def test_a_class_without_a_sample_of_one_side_has_no_odds():
    samples = LabeledFeatures(torch.randn(4, 2), torch.tensor([[1, 0, -1], [1, 1, -1], [1, 0, -1], [-1, 1, -1]]))
    found = OneAgainstRest().along([1.0], samples, torch.randn(3, 2))[0]
    assert (found[:, [0, 2]] == 0).all()
    assert (found[:, 1] != 0).all()


class TestOtherData:
    def test_with_one_label_is_refused(self, make, quiet_trainer):
        module, data = make(num_samples=64)
        with pytest.raises(ValueError, match="OneAgainstRest needs several labels a sample, in every split"):
            quiet_trainer(callbacks=[OneAgainstRest()]).test(module, datamodule=data, verbose=False)

    @pytest.mark.parametrize(
        ("callback", "message"),
        [
            (FewShot(), "FewShot needs one label a sample, and the data has several: leave it out"),
            (FrozenFeatures([PseudoInverse()]), "FrozenFeatures needs labels of two classes, and the data has 0"),
        ],
    )
    def test_with_several_labels_is_refused_by_others(self, make, quiet_trainer, callback, message):
        module, data = make(Several, num_samples=64)
        with pytest.raises(ValueError, match=message):
            quiet_trainer(callbacks=[callback]).test(module, datamodule=data, verbose=False)

    def test_of_features_that_are_not_finite(self, make, quiet_trainer):
        module, data = make(Several, num_samples=64)
        with torch.no_grad():
            next(module.backbone.parameters()).fill_(torch.nan)
        with pytest.raises(ValueError, match="OneAgainstRest needs finite features: the encoder has diverged"):
            quiet_trainer(callbacks=[OneAgainstRest()]).test(module, datamodule=data, verbose=False)


@pytest.mark.parametrize("arguments", [{"tolerance": 0.0}, {"iterations": 0}])
def test_arguments_out_of_range(arguments):
    with pytest.raises(ValueError, match="tolerance must be above 0 and iterations at least 1, got"):
        OneAgainstRest(**arguments)
