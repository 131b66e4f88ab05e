"""Protocols with some labels of the training split alone."""

from __future__ import annotations

import pytest
import torch

from lightning_renyicl.evaluation import (
    KNN,
    FewLabels,
    FrozenFeatures,
    GradientBoosting,
    LinearSGD,
    LogisticRegression,
    PseudoInverse,
)
from lightning_renyicl.evaluation.protocol import FeatureProtocol, LabeledFeatures

COUNTS = {0: 60, 1: 30, 3: 9, 4: 1}
"""Training samples of each class; class 2 has none."""


def draw(counts, seed):
    """Features that a line tells apart, with the number of the sample in the last column."""
    generator = torch.Generator().manual_seed(seed)
    target = torch.cat([torch.full((count,), label) for label, count in counts.items()])
    target = target[torch.randperm(len(target), generator=generator)]
    features = torch.randn(len(target), 5, generator=generator) + 5 * torch.eye(5)[target]
    return LabeledFeatures(torch.cat((features, torch.arange(len(target))[:, None]), dim=1), target)


class Recorder(FeatureProtocol):
    """Keeps what it is given."""

    name = "recorder"

    def __init__(self, needs_val: bool) -> None:
        self.needs_val = needs_val

    def __call__(self, train, val, test, num_classes, seed):
        self.train, self.val, self.seed = train, val, seed
        return torch.zeros(len(test), num_classes)


def split(labels, needs_val, seed=0):
    """The numbers of the samples that a protocol gets, checked to be samples of the training split."""
    recorder, train = Recorder(needs_val), draw(COUNTS, 0)
    few = FewLabels(recorder, labels)
    few(train, draw({2: 50}, 1), torch.zeros(3, 6), 5, seed)
    for part in (recorder.train, recorder.val):
        numbers = part.features[:, -1].long()
        assert torch.equal(part.features, train.features[numbers])
        assert torch.equal(part.target, train.target[numbers])
    assert recorder.seed == seed
    assert not few.needs_val
    return recorder.train, recorder.val


@pytest.mark.parametrize(
    ("labels", "drawn", "aside"),
    [
        (1, [1, 1, 0, 1, 1], [0, 0, 0, 0, 0]),
        (2, [2, 2, 0, 2, 1], [1, 1, 0, 1, 0]),
        (10, [10, 10, 0, 9, 1], [2, 2, 0, 1, 0]),
        (0.001, [1, 1, 0, 1, 1], [0, 0, 0, 0, 0]),
        (1.0, [60, 30, 0, 9, 1], [12, 6, 0, 1, 0]),
    ],
)
def test_which_labels_a_protocol_sees(labels, drawn, aside):
    whole, none = split(labels, needs_val=False)
    assert whole.target.bincount(minlength=5).tolist() == drawn
    assert none.features.shape == (0, 6)
    fitted, chosen_on = split(labels, needs_val=True)
    assert chosen_on.target.bincount(minlength=5).tolist() == aside
    numbers = torch.cat((fitted.features, chosen_on.features))[:, -1]
    assert torch.equal(numbers.sort().values, whole.features[:, -1])


def test_the_seed_draws():
    first, again, other = (split(2, needs_val=False, seed=seed)[0].features for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("labels", [1, 2, 0.5])
@pytest.mark.parametrize(
    "protocol",
    [LogisticRegression(), LinearSGD([0.1, 0.3], epochs=20), GradientBoosting(5), KNN(), PseudoInverse()],
    ids=lambda protocol: protocol.name,
)
def test_every_protocol(protocol, labels):
    train, test = draw(COUNTS, 0), draw(COUNTS, 2)
    features = test.features[:, :-1]
    train = LabeledFeatures(train.features[:, :-1], train.target)
    state = torch.get_rng_state()
    scores = FewLabels(protocol, labels)(train, draw({2: 50}, 1), features, 5, seed=0)
    assert scores.shape == (100, 5)
    assert scores.isfinite().all()
    assert (scores[:, 2] <= scores[:, [0, 1, 3, 4]].max(1).values).all()  # nothing speaks for it
    right = (scores.argmax(1) == test.target).float().mean()
    assert right > (0.3 if protocol.name == "gradient_boosting" else 0.8)  # of leaves of twenty samples or more
    assert torch.equal(state, torch.get_rng_state())


def test_names_say_how_many_labels():
    amounts = (1, 10, 0.001, 0.0015, 0.01, 0.07, 1.0)
    assert [FewLabels(KNN(), labels).name.removeprefix("knn_") for labels in amounts] == [
        *("1_a_class", "10_a_class"),
        *("0.1_percent", "0.15_percent", "1_percent", "7_percent", "100_percent"),
    ]


def test_no_number_of_labels():
    with pytest.raises(ValueError, match="labels must be a whole number of at least 1"):
        FewLabels(KNN(), 0)


def test_needs_no_validation_split(make, quiet_trainer):
    """But a training split, whose labels it takes by the run's seed."""
    module, data = make(seed=3)
    recorder = Recorder(needs_val=True)
    data.setup()
    data.samples.target[data.samples.splits["val"]] = -1
    trainer = quiet_trainer(callbacks=[FrozenFeatures([FewLabels(recorder, 3)])])
    (metrics,) = trainer.test(module, datamodule=data, verbose=False)
    assert set(metrics) == {"recorder_3_a_class/top1", "recorder_3_a_class/macro_top1"}
    assert recorder.train.target.bincount().tolist() == [2] * 4
    assert recorder.val.target.bincount().tolist() == [1] * 4
    assert recorder.seed == 3
