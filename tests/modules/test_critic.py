"""A critic that learns mutual information, and what is told of its read-outs."""

from unittest.mock import Mock

import pytest
import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from lightning.pytorch.trainer.states import TrainerFn, TrainerState

from datamodules import StepwisePairs
from datamodules.pairs import DiscretePairs, GaussianPairs, StudentPairs, UniformPairs
from lightning_renyicl.callbacks import InformationError
from lightning_renyicl.modules import CriticModule
from lightning_renyicl.mutual_information import JointCritic, SeparableCritic, log_ratio, row_log_ratio
from lightning_renyicl.objectives import CPC, DV, HCL, JSD, MINE, MLCPC, NWJ, RINCE, RMLCPC, RPC, Renyi

OBJECTIVES = [CPC(1 / 128), CPC(None), MLCPC(1 / 128), DV(), RMLCPC(1 / 128, 2.0), NWJ(1 / 128), Renyi(1.5)]


def adam(parameters):
    return torch.optim.Adam(parameters, lr=1e-2)


def fit(folder, objective, critic=JointCritic, pairs=None, **arguments):
    seed_everything(0, verbose=False)
    defaults = {"nats": [1.0], "steps": 150, "batch_size": 64, "eval_batches": 20}
    data = StepwisePairs(pairs or GaussianPairs(2), **(defaults | arguments))
    module = CriticModule(lambda features: critic(features, 64), data.in_features, objective, adam)
    trainer = Trainer(
        accelerator="cpu",
        max_epochs=len(data.nats),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        callbacks=[InformationError()],
        default_root_dir=folder,
    )
    trainer.fit(module, datamodule=data)
    return module, trainer.callback_metrics


@pytest.mark.parametrize("objective", OBJECTIVES[:-1], ids=lambda one: f"{type(one).__name__}-{one.alpha}")
def test_finds_the_mutual_information(tmp_path, objective):
    _, metrics = fit(tmp_path, objective)
    assert abs(metrics["information_error/1/estimate/bias"]) < 0.2
    assert metrics["information_error/1/invalid"] < 0.05


@pytest.mark.parametrize("objective", [JSD(), RPC(0.01, 0.005, 0.995), MINE(0.1)], ids=lambda one: type(one).__name__)
def test_finds_it_by_critics_of_other_methods(tmp_path, objective):
    """Each by its own best critic; the other read-out is near, too."""
    _, metrics = fit(tmp_path, objective)
    assert abs(metrics["information_error/1/estimate/bias"]) < 0.2
    assert metrics["information_error/1/invalid"] < 0.05


@pytest.mark.parametrize(
    "pairs",
    [GaussianPairs(1, cubed=True), UniformPairs(1), StudentPairs(1, 5.0), DiscretePairs(1, 4)],
    ids=["cubed", "uniform", "student", "discrete"],
)
def test_finds_that_of_other_pairs(tmp_path, pairs):
    """Long tails and edges take a small critic longer to learn than 150 steps."""
    _, metrics = fit(tmp_path, CPC(None), pairs=pairs, steps=200, batch_size=128)
    assert abs(metrics["information_error/1/estimate/bias"]) < 0.3


@pytest.mark.filterwarnings("ignore:You are trying to")
@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: type(one).__name__)
def test_a_step(objective):
    torch.manual_seed(0)
    module = CriticModule(lambda features: SeparableCritic(features, 8, 4), 3, objective, adam)
    batch = list(torch.randn(2, 16, 3)), torch.ones(16)
    p, n = module.scores(batch)
    bound = objective.bound(p, n, None)
    assert module.training_step(batch, 0).item() == pytest.approx(-bound.item())
    p, n = 1 + torch.randn(16), torch.randn(16, 15)  # a trained critic's: apart enough for alpha to count
    found = module.estimates(p, n)
    alpha = getattr(objective, "alpha", 0.0)
    alpha = 1 / 16 if alpha is None else alpha
    by_anchor, by_batch = row_log_ratio(p, n).mean(), log_ratio(p, n, alpha).nanmean()
    of_anchors, of_batch = ("estimate", "other") if isinstance(objective, CPC) else ("other", "estimate")
    torch.testing.assert_close(found[of_anchors], by_anchor)
    torch.testing.assert_close(found[of_batch], by_batch)


@pytest.mark.parametrize("objective", [JSD(), RPC(0.01, 0.005, 0.995), MINE(0.1)], ids=lambda one: type(one).__name__)
def test_read_outs_are_the_objectives(objective):
    module = CriticModule(lambda features: SeparableCritic(features, 8, 4), 3, objective, adam)
    p, n = 0.2 + torch.randn(16).abs(), torch.randn(16, 15)
    p[3] = -3.0  # no ratio for RPC
    right, other = objective.log_ratios(p, n, None).values()
    found = module.estimates(p, n)
    torch.testing.assert_close(found["estimate"], right.nanmean())
    torch.testing.assert_close(found["other"], other.nanmean())
    assert found["invalid"].item() == (1 / 16 if isinstance(objective, RPC) else 0)
    if isinstance(objective, JSD):
        assert found["estimate"].item() == pytest.approx(p.mean().item())
    elif isinstance(objective, MINE):
        torch.testing.assert_close(found["estimate"], log_ratio(p, n, 0.0).mean())
        torch.testing.assert_close(found["other"], row_log_ratio(p, n).mean())


@pytest.mark.parametrize("objective", [HCL(), RINCE()], ids=lambda one: type(one).__name__)
def test_objectives_whose_best_critic_is_not_known(objective):
    name = type(objective).__name__
    with pytest.raises(ValueError, match=f"read off a critic that {name} trains, as its optimum is not known: take a"):
        CriticModule(JointCritic, 3, objective, adam)


def test_every_plateau_is_reported(tmp_path):
    _, metrics = fit(tmp_path, MLCPC(1 / 64), nats=[0.5, 1.0], steps=20, eval_batches=5)
    read_outs = [f"{name}/{key}" for name in ("estimate", "other") for key in ("bias", "variance", "mse")]
    names = {f"{nats}/{each}" for nats in ("0.5", "1") for each in read_outs}
    names |= {"0.5/invalid", "1/invalid", "estimate/mse", "other/mse"}
    assert {f"information_error/{name}" for name in names} <= set(metrics)
    for name in ("estimate", "other"):
        errors = [metrics[f"information_error/{nats}/{name}/mse"] for nats in ("0.5", "1")]
        torch.testing.assert_close(metrics[f"information_error/{name}/mse"], sum(errors) / 2)
        expected = metrics[f"information_error/1/{name}/bias"] ** 2 + metrics[f"information_error/1/{name}/variance"]
        torch.testing.assert_close(metrics[f"information_error/1/{name}/mse"], expected)


def test_errors_of_known_batches():
    class Log:
        def log_dict(self, values):
            self.values = dict(values)

    class Running:
        sanity_checking = False
        state = TrainerState(fn=TrainerFn.FITTING)

    callback, log = InformationError(), Log()
    callback.on_validation_epoch_start(Running(), None)
    for estimate, other in ((2.5, 1.0), (1.5, float("nan")), (3.5, 3.0)):
        values = {"estimate": estimate, "other": other, "invalid": 0.25, "nats": 2.0}
        callback.on_validation_batch_end(None, None, {key: torch.tensor(value) for key, value in values.items()})
    callback.on_validation_epoch_end(Running(), log)
    assert log.values["information_error/2/estimate/bias"] == pytest.approx(0.5)
    assert log.values["information_error/2/estimate/variance"] == pytest.approx(2 / 3)
    assert log.values["information_error/2/estimate/mse"] == pytest.approx(0.25 + 2 / 3)
    assert log.values["information_error/2/other/bias"] == pytest.approx(0.0)
    assert log.values["information_error/2/other/variance"] == pytest.approx(1.0)
    assert log.values["information_error/2/invalid"] == pytest.approx(0.25)
    other = InformationError()
    other.load_state_dict(callback.state_dict())
    assert other.state_dict() == callback.state_dict()


@pytest.mark.parametrize("function", [TrainerFn.FITTING, TrainerFn.VALIDATING, TrainerFn.TESTING])
def test_a_checkpoints_plateaus_are_those_of_its_training_alone(function):
    callback, trainer, module = InformationError(), Mock(sanity_checking=False), Mock()
    trainer.state.fn = function
    callback.load_state_dict({"found": {"7/estimate/mse": 5.0, "estimate/mse": 5.0}})
    callback.on_test_epoch_start(trainer, module)
    values = {"estimate": 3.0, "other": 3.0, "invalid": 0.0, "nats": 2.0}
    callback.on_test_batch_end(trainer, module, {key: torch.tensor(value) for key, value in values.items()})
    callback.on_test_epoch_end(trainer, module)
    (logged,) = module.log_dict.call_args.args
    assert ("information_error/7/estimate/mse" in logged) == (function == TrainerFn.FITTING)
    assert logged["information_error/estimate/mse"] == (3.0 if function == TrainerFn.FITTING else 1.0)


def test_errors_of_modules_without_known_pairs():
    class Other(LightningModule):
        pass

    with pytest.raises(ValueError, match=r"InformationError is for CriticModule, .* not for Other"):
        InformationError().setup(None, Other(), "fit")


def test_scores_are_float32_in_any_precision():
    module = CriticModule(lambda features: JointCritic(features, 8), 3, MLCPC(), adam)
    with torch.autocast("cpu", torch.bfloat16):
        p, n = module.scores((list(torch.randn(2, 16, 3)), torch.ones(16)))
    assert (p.dtype, n.dtype) == (torch.float32, torch.float32)


def test_alpha_1_leaves_nothing_to_learn():
    with pytest.raises(ValueError, match="at alpha 1 both sides"):
        CriticModule(JointCritic, 3, MLCPC(1.0), adam)
