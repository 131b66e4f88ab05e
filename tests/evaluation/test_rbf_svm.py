"""The support vector machine sees every graph once and leaves the run that it watches alone."""

from functools import partial

import pytest
import torch
from lightning.pytorch import seed_everything

from datamodules import FakeGraphs
from datamodules.augmentations import Identity, NodeDrop
from lightning_renyicl.encoders import GIN
from lightning_renyicl.evaluation import RBFSVM
from lightning_renyicl.evaluation.nested_svm import nested_svm
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules import GraphModule
from lightning_renyicl.objectives import RMLCPC


class SomeLabels(FakeGraphs):
    """Every third label is unknown."""

    def load(self):
        samples = super().load()
        samples.target[::3] = -1
        return samples


@pytest.fixture
def graphs():
    def _graphs(data_class=FakeGraphs, seed=0, **arguments):
        seed_everything(seed, verbose=False)
        data = data_class([Identity(), NodeDrop(0.2)], **({"batch_size": 20, "num_samples": 100} | arguments))
        module = GraphModule(
            partial(GIN, width=8),
            in_features=data.in_features,
            projector=partial(MLPHead, widths=[16], norm=False),
            objective=RMLCPC(),
            optimizer=partial(torch.optim.Adam, lr=0.01),
        )
        return module, data

    return _graphs


def features_of(module, data, split):
    rows = data.samples.splits[split]
    with torch.no_grad():
        return torch.cat([module.eval()(data.samples.inputs[index]) for index in rows.split(20)]), data.samples.target[
            rows
        ]


def expected(module, data, split, seed, **folds):
    features, target = features_of(module, data, split)
    return nested_svm(features[target >= 0], target[target >= 0], seed, **folds)


@pytest.mark.parametrize("data_class", [FakeGraphs, SomeLabels])
def test_scores_are_those_of_the_features(graphs, quiet_trainer, data_class):
    module, data = graphs(data_class, seed=5)
    trainer = quiet_trainer(callbacks=[RBFSVM(folds=4, inner_folds=3)])
    trainer.fit(module, data)
    folds = expected(module, data, "val", 5, folds=4, inner_folds=3)
    logged = trainer.callback_metrics
    for name in ("accuracy", "validation"):
        values = [getattr(fold, name) for fold in folds]
        assert logged[f"svm/{name}"] == pytest.approx(sum(values) / 4)
        assert [float(logged[f"svm/fold{k}/{name}"]) for k in range(4)] == pytest.approx(values)
    assert "svm/fold4/accuracy" not in logged


def test_test_and_validate(graphs, quiet_trainer):
    module, data = graphs()
    trainer = quiet_trainer(callbacks=[RBFSVM(folds=3)])
    for run, split in ((trainer.validate, "val"), (trainer.test, "test")):
        run(module, data, verbose=False)
        accuracy = sum(fold.accuracy for fold in expected(module, data, split, 0, folds=3)) / 3
        assert trainer.callback_metrics["svm/accuracy"] == pytest.approx(accuracy)


def test_the_run_is_that_without_it(graphs, quiet_trainer):
    weights = []
    for callbacks in ([], [RBFSVM(folds=2)]):
        module, data = graphs()
        quiet_trainer(callbacks=callbacks, num_sanity_val_steps=1).fit(module, data)
        weights.append((module.state_dict(), torch.rand(3)))
    torch.testing.assert_close(weights[0], weights[1], rtol=0, atol=0)


def test_limited_batches(graphs, quiet_trainer):
    module, data = graphs()
    trainer = quiet_trainer(callbacks=[RBFSVM(folds=2, inner_folds=2)], limit_val_batches=2)
    trainer.validate(module, data, verbose=False)
    features, target = features_of(module, data, "val")
    folds = nested_svm(features[:40], target[:40], 0, 2, 2)
    assert trainer.callback_metrics["svm/accuracy"] == pytest.approx(sum(fold.accuracy for fold in folds) / 2)


def test_fewer_than_two_folds():
    with pytest.raises(ValueError, match="at least 2, got 1 and 5"):
        RBFSVM(folds=1)


def test_data_without_labels_is_refused_before_training(graphs, quiet_trainer):
    module, data = graphs()
    data.setup()
    data.num_classes = 0
    trainer = quiet_trainer(callbacks=[RBFSVM()])
    with pytest.raises(ValueError, match="RBFSVM needs labels of two classes, and the data has 0"):
        trainer.fit(module, data)
    assert trainer.global_step == 0


def test_too_few_samples_say_so(graphs, quiet_trainer):
    module, data = graphs(num_samples=20, batch_size=10)
    with pytest.raises(
        ValueError, match="10 folds with 5 in each need two classes with at least 10 labelled samples each"
    ):
        quiet_trainer(callbacks=[RBFSVM()]).validate(module, data, verbose=False)


def test_an_interrupted_pass_leaves_nothing_behind(graphs, quiet_trainer):
    module, data = graphs()
    protocol = RBFSVM(folds=2)
    protocol._features, protocol._targets = [torch.zeros(20, 24)], [torch.zeros(20, dtype=torch.long)]
    trainer = quiet_trainer(callbacks=[protocol])
    trainer.validate(module, data, verbose=False)
    accuracy = sum(fold.accuracy for fold in expected(module, data, "val", 0, folds=2)) / 2
    assert trainer.callback_metrics["svm/accuracy"] == pytest.approx(accuracy)
