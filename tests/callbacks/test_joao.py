"""JOAO's step against a solver, its losses against a loop, and a training that it leaves as it was."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from lightning.pytorch import seed_everything
from scipy.optimize import brentq, minimize

from datamodules import FakeGraphs
from datamodules.augmentations import Identity, LearnedChoice, NodeDrop
from lightning_renyicl.callbacks import JOAO, LastCheckpoint
from lightning_renyicl.callbacks import joao as source
from lightning_renyicl.encoders import GIN
from lightning_renyicl.heads import HeadPerAugmentation, MLPHead
from lightning_renyicl.modules import GraphModule
from lightning_renyicl.objectives import CPC, MINE, RMLCPC

LOSSES = torch.tensor([0.3, 0.1, 0.35, -0.2, 0.0], dtype=torch.float64)


def parts(objective=None, projector=None, views=None):
    """A seeded module of graphs and its data, of seven batches an epoch."""
    seed_everything(0, verbose=False)
    views = [Identity(), LearnedChoice()] if views is None else views
    data = FakeGraphs(views, batch_size=8, num_samples=56, in_features=3)
    module = GraphModule(
        partial(GIN, width=4, layers=2),
        in_features=3,
        projector=projector or partial(MLPHead, widths=[8, 4], norm=True),
        objective=objective or CPC(0.0, temperature=0.2, symmetric=False),
        optimizer=partial(torch.optim.Adam, lr=0.01),
    )
    return module, data


@pytest.fixture
def train(quiet_trainer):
    def _train(callbacks, pair=None, ckpt_path=None, **arguments):
        module, data = parts() if pair is None else pair
        trainer = quiet_trainer(callbacks=callbacks, limit_val_batches=0, **arguments)
        trainer.fit(module, data, ckpt_path=ckpt_path)
        return module, data, trainer

    return _train


def choice_of(data):
    (choice,) = [part for view in data.views for part in view.modules() if isinstance(part, LearnedChoice)]
    return choice


@pytest.mark.parametrize("seed", range(20))
def test_projection_by_a_search_for_its_threshold(seed):
    x = 2 * np.random.default_rng(seed).normal(size=5)
    threshold = brentq(lambda mu: np.maximum(x - mu, 0).sum() - 1, x.min() - 1, x.max(), xtol=1e-14)
    found = source.project_on_simplex(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(found, np.maximum(x - threshold, 0), atol=1e-12)


@pytest.mark.parametrize("gamma", [0.1, 0.5, 1.0])
def test_steps_lead_to_the_maximum_of_the_penalised_loss(gamma):
    def minus(p):
        return -(p @ LOSSES.numpy()) + gamma / 2 * ((p - 0.2) ** 2).sum()

    on_simplex = {"type": "eq", "fun": lambda p: p.sum() - 1}
    best = minimize(minus, np.full(5, 0.2), bounds=[(0, 1)] * 5, constraints=on_simplex, tol=1e-12).x
    p = torch.full((5,), 0.2, dtype=torch.float64)
    for _ in range(300):
        p = source.ascend(p, LOSSES, gamma)
    np.testing.assert_allclose(p.numpy(), best, atol=1e-5)


def test_without_a_penalty_the_hardest_is_certain_in_the_end():
    p = torch.full((5,), 0.2, dtype=torch.float64)
    for _ in range(100):
        p = source.ascend(p, LOSSES, 0.0)
    assert p.tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]


def test_with_a_large_penalty_all_are_about_equal():
    p = torch.full((5,), 0.2, dtype=torch.float64)
    for _ in range(300):
        p = source.ascend(p, LOSSES / 1000, 1.0)  # a penalty 1,000 times the losses
    np.testing.assert_allclose(p.numpy(), 0.2, atol=1e-3)


def test_a_loss_that_is_not_finite_changes_nothing():
    p = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.0])
    assert torch.equal(source.ascend(p, torch.full((5,), torch.nan), 0.1), p)


def test_losses_are_those_of_one_augmentation_on_the_first_fifth(train):
    """Without augmentation both views are the original, whose loss needs no random numbers."""
    callback = JOAO()
    module, data, trainer = train([callback], max_epochs=1)
    losses = callback._losses(trainer, module)
    sampler = data.train_sampler(data.samples.splits["train"])
    sampler.set_epoch(trainer.current_epoch)
    expected = 0.0
    first = list(sampler)[:2]  # of seven: a fifth, and one
    for index in first:
        graphs, target = data.take(index)
        expected += module.compute([graphs, graphs], target)[0].item() * len(index) / sum(map(len, first))
    assert losses[-1].item() == pytest.approx(expected, rel=1e-6)
    assert len(set(losses.tolist())) == 5
    assert torch.equal(losses, callback._losses(trainer, module))


def test_the_training_is_as_without_it_if_probabilities_stay(train, monkeypatch):
    monkeypatch.setattr(source, "ascend", lambda p, losses, gamma: p)
    found = []
    for callbacks in ([], [JOAO()]):
        module, data, trainer = train(callbacks, max_epochs=3)
        found.append((module.state_dict(), torch.get_rng_state(), data.state_dict(), trainer.global_step))
    (weights, state, place, steps), (others, *rest) = found
    assert all(torch.equal(weights[name], others[name]) for name in weights)
    assert torch.equal(rest[0], state)
    assert rest[1:] == [place, steps]


def test_every_epoch_has_a_row_of_probabilities(train, tmp_path):
    rows = []

    class Watch(JOAO):
        def on_train_epoch_end(self, trainer, pl_module):
            super().on_train_epoch_end(trainer, pl_module)
            rows.append({name: float(value) for name, value in trainer.callback_metrics.items()})

    _, data, _ = train([Watch(0.1)], max_epochs=3)
    values = [[row[f"joao/{name}"] for name in LearnedChoice.names] for row in rows]
    assert all(sum(p) == pytest.approx(1) for p in values)
    assert values[0] != values[1]
    assert values[-1] == pytest.approx(choice_of(data).probabilities.tolist())


class Killed(Exception):
    pass


class KilledInUpdate(JOAO):
    """Dies while it looks for the losses of the third epoch."""

    state_key = "JOAO"

    def _loss(self, trainer, pl_module):
        if trainer.current_epoch == 2 and self._choice.probabilities[1] == 1:
            raise Killed
        return super()._loss(trainer, pl_module)


@pytest.mark.parametrize("make", [CPC, RMLCPC], ids=["cpc", "rmlcpc"])
def test_killed_in_an_update_and_continued_is_bit_equal(train, tmp_path, make):
    def pair():
        head = partial(HeadPerAugmentation, choices=5, widths=[8, 4])
        return parts(make(0.0, symmetric=False, temperature=0.2), head)

    whole, data, _ = train([JOAO()], pair(), max_epochs=5)
    last = tmp_path / "last.ckpt"
    with pytest.raises(Killed):
        train([KilledInUpdate(), LastCheckpoint(last)], pair(), max_epochs=5, enable_checkpointing=True)
    resumed, other, _ = train([JOAO()], pair(), last, max_epochs=5)
    expected, found = whole.state_dict(), resumed.state_dict()
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert torch.equal(choice_of(data).probabilities, choice_of(other).probabilities)


def test_data_without_a_learned_choice(train):
    pair = parts(views=[Identity(), NodeDrop(0.2)])
    with pytest.raises(ValueError, match=r"exactly one view with a LearnedChoice in data\.views, got 0"):
        train([JOAO()], pair)


def test_an_objective_with_state(train):
    with pytest.raises(ValueError, match="cannot be used with MINE, which keeps state"):
        train([JOAO()], parts(MINE()))


@pytest.mark.parametrize("gamma", [-0.1, float("inf"), float("nan")])
def test_weights_out_of_range(gamma):
    with pytest.raises(ValueError, match="gamma must be a finite number of at least 0"):
        JOAO(gamma)
