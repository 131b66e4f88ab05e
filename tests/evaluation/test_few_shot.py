"""Few-shot classification as a callback."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from datamodules import FakeTable
from lightning_renyicl.evaluation import FewShot, FrozenFeatures, OnlineProbe, PseudoInverse
from lightning_renyicl.evaluation.episodes import draw_episodes, episode_accuracies


class MostlyTest(FakeTable):
    """Most samples test, and every third label is unknown."""

    def load(self):
        samples = super().load()
        samples.target[::3] = -1
        everything = torch.arange(len(samples.target))
        samples.splits = {"train": everything[:64], "val": everything[64:72], "test": everything[72:]}
        return samples


def test_scores_of_the_test_split(make, quiet_trainer):
    module, data = make(MostlyTest, seed=5, num_samples=240)
    callbacks = [OnlineProbe(), FewShot([1, 3], ways=3, queries=6, episodes=40), FrozenFeatures([PseudoInverse()])]
    (metrics,) = quiet_trainer(callbacks=callbacks).test(module, datamodule=data, verbose=False)
    rows = data.samples.splits["test"]
    rows = rows[data.samples.target[rows] >= 0]
    with torch.no_grad():
        features, target = module.eval()(data.samples.inputs[rows]), data.samples.target[rows]
    for shots in (1, 3):
        places = draw_episodes(target, 40, 3, shots + 6, seed=5)
        expected = episode_accuracies(features, places, shots, 1.0)
        assert metrics[f"few_shot/3_way_{shots}_shot/top1"] == pytest.approx(expected.mean().item())
        interval = metrics[f"few_shot/3_way_{shots}_shot/interval"]
        assert interval == pytest.approx(1.96 * expected.std().item() / 40**0.5)
        # the mean's spread over resampled episodes
        generator = np.random.default_rng(0)
        means = [generator.choice(expected.numpy(), 40).mean() for _ in range(4000)]
        low, high = np.quantile(means, [0.025, 0.975])
        assert interval == pytest.approx((high - low) / 2, rel=0.1)


def test_data_that_has_no_episodes(make, quiet_trainer):
    module, data = make(MostlyTest, num_samples=240)
    with pytest.raises(ValueError, match="the split has 4 such classes of 4; take fewer ways, shots or queries"):
        quiet_trainer(callbacks=[FewShot(queries=4)]).test(module, datamodule=data, verbose=False)
    module, data = make(MostlyTest, num_samples=240)
    data.samples.target[:] = -1
    with pytest.raises(ValueError, match="FewShot needs labels, and the test split has none: leave it out"):
        quiet_trainer(callbacks=[FewShot()]).test(module, datamodule=data, verbose=False)
    module, data = make(MostlyTest, num_samples=240)
    with torch.no_grad():
        next(module.backbone.parameters()).fill_(torch.nan)
    with pytest.raises(ValueError, match="FewShot needs finite features: the encoder has diverged"):
        quiet_trainer(callbacks=[FewShot()]).test(module, datamodule=data, verbose=False)


@pytest.mark.parametrize(
    "arguments", [{"shots": []}, {"shots": [0]}, {"queries": 0}, {"ways": 1}, {"episodes": 1}, {"penalty": 0.0}]
)
def test_impossible_arguments(arguments):
    with pytest.raises(ValueError, match="shots and queries must be at least 1, ways and episodes at least 2"):
        FewShot(**arguments)
