"""The mutual information that a training's critic tells of its views."""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback

from datamodules import StepwisePairs
from datamodules.augmentations import Identity, RandomMask
from datamodules.pairs import GaussianPairs
from lightning_renyicl.callbacks import InformationEstimate, ResultJson
from lightning_renyicl.modules import CriticModule
from lightning_renyicl.mutual_information import JointCritic
from lightning_renyicl.objectives import CPC, HCL, JSD, MLCPC, NNCLR, RINCE, RPC, MoCo, Objective, Renyi


class Views:
    """What the objective is given at every step."""

    def __init__(self, module):
        self.seen = []
        module.objective.register_forward_hook(self._look)

    def _look(self, objective, views, _):
        online, target = views
        self.seen.append((online[0].detach().double().numpy(), target[1].detach().double().numpy()))


def log_ratios(x, y, temperature, alpha):
    """Of every positive pair, by the anchor's own and by the batch's normaliser, in loops."""
    n = len(x)
    scores = [
        [x[i] @ y[j] / np.linalg.norm(x[i]) / np.linalg.norm(y[j]) / temperature for j in range(n)] for i in range(n)
    ]
    others = [[scores[i][j] for j in range(n) if j != i] for i in range(n)]
    by_anchor = [scores[i][i] - math.log(np.mean(np.exp(others[i]))) for i in range(n)]
    z = alpha * np.mean([math.exp(scores[i][i]) for i in range(n)]) + (1 - alpha) * np.mean(np.exp(others))
    by_batch = [math.exp(scores[i][i]) * (1 - alpha) / (z - alpha * math.exp(scores[i][i])) for i in range(n)]
    return by_anchor, [math.log(ratio) if ratio > 0 else math.nan for ratio in by_batch]


@pytest.mark.parametrize(("objective", "alpha"), [(MLCPC(0.2), 0.2), (CPC(None), 1 / 16), (Renyi(2.0), 0.0)])
def test_epochs_against_loops(make, quiet_trainer, objective, alpha):
    module, data = make()
    module.objective = objective
    views = Views(module)
    trainer = quiet_trainer(callbacks=[InformationEstimate()], max_epochs=2)
    trainer.fit(module, data)
    assert len(views.seen) == 2 * 4
    ratios = [log_ratios(x, y, objective.temperature, alpha) for x, y in views.seen[4:]]  # of the last epoch
    by_anchor, by_batch = np.array(ratios).transpose(1, 0, 2).reshape(2, -1)
    metrics = trainer.callback_metrics
    assert metrics["mutual_information/by_anchor"].item() == pytest.approx(by_anchor.mean(), rel=1e-4)
    assert metrics["mutual_information/by_batch"].item() == pytest.approx(np.nanmean(by_batch), rel=1e-4)
    assert metrics["mutual_information/invalid"].item() == pytest.approx(np.isnan(by_batch).mean())


@pytest.mark.parametrize("objective", [JSD(), RPC(0.1, 0.01, temperature=2.0)], ids=lambda one: type(one).__name__)
def test_critics_that_know_the_ratio(make, quiet_trainer, objective):
    module, data = make()
    module.objective = objective
    views = Views(module)
    trainer = quiet_trainer(callbacks=[InformationEstimate()], max_epochs=1)
    trainer.fit(module, data)
    found = []
    for x, y in views.seen:
        scores = (x * y).sum(1) / objective.temperature
        if isinstance(objective, JSD):
            found.extend(scores / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1))
        else:
            ratios = (0.1 + scores) / (1 - 0.01 * scores)
            found.extend(math.log(ratio) if ratio > 0 else math.nan for ratio in ratios)
    metrics = {name: value.item() for name, value in trainer.callback_metrics.items() if "mutual_information/" in name}
    assert {name.split("/")[1] for name in metrics} == {"by_critic", "by_batch", "invalid"}
    assert metrics["mutual_information/by_critic"] == pytest.approx(np.nanmean(found), rel=1e-4)
    assert metrics["mutual_information/invalid"] == pytest.approx(np.isnan(found).mean())


def test_a_queue_is_read_without_the_keys_of_the_batch(make, quiet_trainer):
    module, data = make()
    module.objective = MoCo(queue=24)
    module.objective.build(8, 0)
    views, rows = Views(module), [module.objective.queue.rows]
    module.objective.register_forward_hook(lambda objective, *_: rows.append(objective.queue.rows))
    trainer = quiet_trainer(callbacks=[InformationEstimate()], max_epochs=1)
    trainer.fit(module, data)
    found = []
    for (x, y), earlier in zip(views.seen, rows[:-1], strict=True):  # the queue before each step
        keys = np.concatenate([y / np.linalg.norm(y, axis=1, keepdims=True), earlier.double().numpy()])
        for i, query in enumerate(x):
            scores = keys @ query / np.linalg.norm(query) / 0.2
            found.append(scores[i] - math.log(np.mean(np.exp(np.delete(scores, i)))))
    estimate = trainer.callback_metrics["mutual_information/by_anchor"].item()
    assert estimate == pytest.approx(np.mean(found), rel=1e-4)


@pytest.mark.parametrize("objective", [HCL(), RINCE()], ids=lambda one: type(one).__name__)
def test_objectives_whose_best_critic_is_not_known(make, quiet_trainer, objective):
    module, data = make()
    module.objective = objective
    with pytest.raises(
        ValueError, match=f"a critic that {type(objective).__name__} trains, as its optimum is not known"
    ):
        quiet_trainer(callbacks=[InformationEstimate()]).fit(module, data)


def test_a_critic_of_neighbours_and_not_of_two_views(make, quiet_trainer):
    module, data = make()
    module.objective = NNCLR(queue=24)
    module.objective.build(8, 0)
    with pytest.raises(ValueError, match="NNCLR trains, as it scores a view with neighbours of the other"):
        quiet_trainer(callbacks=[InformationEstimate()]).fit(module, data)


@pytest.mark.parametrize(("epochs", "every"), [(1, 1), (3, 1), (3, 2)])
def test_a_result_has_that_of_its_own_epoch(make, quiet_trainer, tmp_path, epochs, every):
    module, data = make()
    views = Views(module)
    callbacks = [InformationEstimate(), ResultJson()]
    quiet_trainer(callbacks=callbacks, max_epochs=epochs, check_val_every_n_epoch=every).fit(module, data)
    last = epochs // every * every  # epoch with a validation
    ratios = [log_ratios(x, y, module.objective.temperature, 0.01) for x, y in views.seen[4 * last - 4 : 4 * last]]
    metrics = json.loads((tmp_path / "result.json").read_text())["metrics"]
    assert metrics["mutual_information/by_anchor"] == pytest.approx(np.array(ratios)[:, 0].mean(), rel=1e-4)


def test_another_fit_begins_anew(make, quiet_trainer):
    callback, found = InformationEstimate(), []
    for alpha in (0.9, 0.01):
        module, data = make()
        module.objective = MLCPC(alpha)
        for callbacks in ([callback], [InformationEstimate()]):
            trainer = quiet_trainer(callbacks=callbacks, max_epochs=1)
            trainer.fit(copy.deepcopy(module), data)
            found.append(trainer.callback_metrics["mutual_information/by_batch"].item())
    assert found[0] == found[1]
    assert found[2] == found[3]


def test_an_interrupted_fit_leaves_no_hook(make, quiet_trainer):
    module, data = make()

    class Stop(Callback):
        def on_train_batch_end(self, *_):
            raise OSError("a full disk")

    with pytest.raises(OSError, match="a full disk"):
        quiet_trainer(callbacks=[InformationEstimate(), Stop()]).fit(module, data)
    assert not module.objective._forward_pre_hooks


def test_the_run_is_that_without_it(make, quiet_trainer):
    weights = []
    for callbacks in ([], [InformationEstimate()]):
        module, data = make()
        quiet_trainer(callbacks=callbacks).fit(module, data)
        weights.append(torch.nn.utils.parameters_to_vector(module.parameters()))
        assert not module.objective._forward_pre_hooks
    assert torch.equal(*weights)


def test_more_that_views_share_is_more_information(make, quiet_trainer):
    found = []
    for view in (Identity(), RandomMask(0.8)):
        module, data = make(num_samples=256)
        data.views = [view, view]
        trainer = quiet_trainer(callbacks=[InformationEstimate()], max_epochs=4)
        trainer.fit(module, data)
        found.append(trainer.callback_metrics["mutual_information/by_anchor"].item())
    assert found[0] > found[1] + 0.1


def test_alpha_without_a_ratio(make, quiet_trainer):
    module, data = make()
    module.objective = MLCPC(1.0)
    with pytest.raises(ValueError, match="at alpha 1 both sides"):
        quiet_trainer(callbacks=[InformationEstimate()]).fit(module, data)


def test_critics_of_given_pairs(quiet_trainer):
    data = StepwisePairs(GaussianPairs(2), [1.0], 2, 8, 2)
    module = CriticModule(JointCritic, 2, MLCPC(0.1), torch.optim.Adam)
    with pytest.raises(ValueError, match="CriticModule with MLCPC has none"):
        quiet_trainer(callbacks=[InformationEstimate()], max_epochs=1).fit(module, data)


class Distance(Objective):
    """A loss without a critic."""

    def forward(self, online, target, context):
        return (online[0] - target[1]).square().mean(), {}


def test_objectives_without_a_critic(make, quiet_trainer):
    module, data = make()
    module.objective = Distance()
    with pytest.raises(ValueError, match=r"Distance has none$"):
        quiet_trainer(callbacks=[InformationEstimate()]).fit(module, data)
