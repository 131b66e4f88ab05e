"""The online probe learns, counts right, and leaves the run that it watches alone."""

from __future__ import annotations

import copy
import random
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from lightning.pytorch import Callback, seed_everything

from datamodules import FakeImages, FakeTable
from datamodules.augmentations import Identity, RandomResizedCrop
from lightning_renyicl.encoders import ResNet
from lightning_renyicl.evaluation import OnlineProbe
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules import VisionModule
from lightning_renyicl.objectives import RMLCPC


class Unlabelled(FakeTable):
    """No label is known."""

    def load(self):
        samples = super().load()
        samples.target.fill_(-1)
        return samples


class HalfLabeled(FakeTable):
    """Every second label is unknown."""

    def load(self):
        samples = super().load()
        samples.target[::2] = -1
        return samples


class States(Callback):
    """Random states and step at the end of every batch and epoch."""

    def __init__(self):
        self.seen = []

    def _look(self, trainer, *_):
        array = np.random.get_state()
        states = (random.getstate(), array[1].tobytes(), array[2], torch.get_rng_state().numpy().tobytes())
        self.seen.append((*states, trainer.global_step, trainer.current_epoch))

    on_train_batch_end = on_validation_batch_end = on_train_epoch_end = on_fit_end = on_sanity_check_end = _look


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_the_run_is_that_without_it(tmp_path, make, quiet_trainer, precision):
    runs = []
    for with_probe in (False, True):
        module, data = make()
        states = States()
        callbacks = [OnlineProbe(), states] if with_probe else [states]
        trainer = quiet_trainer(callbacks=callbacks, precision=precision, num_sanity_val_steps=1)
        trainer.fit(module, data)
        trainer.save_checkpoint(tmp_path / f"{with_probe}.ckpt")
        runs.append((module, states.seen, torch.load(tmp_path / f"{with_probe}.ckpt", weights_only=True)))
    (module, seen, checkpoint), (watched, watched_seen, watched_checkpoint) = runs
    torch.testing.assert_close(watched.state_dict(), module.state_dict(), rtol=0, atol=0)
    assert watched_seen == seen
    assert list(watched_checkpoint["state_dict"]) == list(checkpoint["state_dict"])
    assert watched_checkpoint["global_step"] == checkpoint["global_step"] == 8
    torch.testing.assert_close(watched_checkpoint["optimizer_states"], checkpoint["optimizer_states"], rtol=0, atol=0)
    assert [key for key in watched_checkpoint["callbacks"] if key not in checkpoint["callbacks"]] == ["OnlineProbe"]


@pytest.mark.parametrize("data_class", [FakeTable, HalfLabeled])
def test_learns_separable_rows(make, quiet_trainer, data_class):
    trainer = quiet_trainer(max_epochs=12, callbacks=[OnlineProbe()], check_val_every_n_epoch=12)
    trainer.fit(*make(data_class, num_samples=160))
    # chance is 0.25, and half would be the most if unknown labels counted as mistakes
    assert trainer.callback_metrics["online_probe/top1"] > 0.8
    assert trainer.callback_metrics["online_probe/macro_top1"] > 0.8


def test_learns_separable_images(quiet_trainer):
    seed_everything(0, verbose=False)
    views = [RandomResizedCrop(size=16, scale=(0.5, 1.0)) for _ in range(2)]
    data = FakeImages(views, Identity(), batch_size=16, size=16, num_samples=64, num_classes=4)
    module = VisionModule(
        ResNet(10),
        projector=partial(MLPHead, widths=[16]),
        objective=RMLCPC(),
        optimizer=partial(torch.optim.SGD, lr=0.01),
    )
    trainer = quiet_trainer(max_epochs=6, callbacks=[OnlineProbe()], check_val_every_n_epoch=6)
    trainer.fit(module, data)
    assert trainer.callback_metrics["online_probe/top1"] > 0.7


@pytest.mark.parametrize("kind", ["validate", "test"])
def test_reports_alone_from_a_checkpoint(tmp_path, make, quiet_trainer, kind):
    trainer = quiet_trainer(callbacks=[OnlineProbe()], max_epochs=4)
    trainer.fit(*make())
    trainer.save_checkpoint(tmp_path / "run.ckpt")
    again = quiet_trainer(callbacks=[OnlineProbe(seed=5)])
    reported = getattr(again, kind)(*make(seed=3), ckpt_path=tmp_path / "run.ckpt", verbose=False)[0]
    assert set(reported) == {"online_probe/top1", "online_probe/macro_top1"}
    if kind == "validate":
        assert reported["online_probe/top1"] == trainer.callback_metrics["online_probe/top1"].item()


class Remembering(FakeTable):
    """Data whose classes are those of a checkpoint, others being unknown."""

    def state_dict(self):
        return {**super().state_dict(), "num_classes": self.num_classes}

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.num_classes = state_dict["num_classes"]
        self.samples.target[self.samples.target >= self.num_classes] = -1


def test_classes_that_training_lacked_are_unknown(tmp_path, make, quiet_trainer):
    trainer = quiet_trainer(callbacks=[OnlineProbe()], max_epochs=2)
    trainer.fit(*make(Remembering, num_classes=4))
    trainer.save_checkpoint(tmp_path / "run.ckpt")
    again = quiet_trainer(callbacks=[OnlineProbe()])
    (reported,) = again.test(*make(Remembering, num_classes=5), ckpt_path=tmp_path / "run.ckpt", verbose=False)
    assert 0 <= reported["online_probe/top1"] <= 1
    more = quiet_trainer(callbacks=[OnlineProbe()])
    (reported,) = more.test(*make(num_classes=5), ckpt_path=tmp_path / "run.ckpt", verbose=False)
    assert not reported  # of classes without names the probe cannot tell which are which


class Named(FakeTable):
    """Data whose classes have names, as those of a checkpoint do not change."""

    classes = ("ant", "bee", "cat", "dog")


class Nameless(FakeTable):
    pass


class OtherNames(Named):
    classes = ("elk", "fox", "gnu", "hen")


def test_a_probe_of_other_classes_reports_nothing(tmp_path, make, quiet_trainer, caplog):
    trainer = quiet_trainer(callbacks=[OnlineProbe()], max_epochs=2)
    trainer.fit(*make(Named))
    trainer.save_checkpoint(tmp_path / "run.ckpt")
    for data_class in (Named, OtherNames, Nameless):
        caplog.clear()
        again = quiet_trainer(callbacks=[OnlineProbe()])
        (reported,) = again.test(*make(data_class), ckpt_path=tmp_path / "run.ckpt", verbose=False)
        assert bool(reported) == (data_class is Named)
        assert ("has not been trained on the data's classes" in caplog.text) == (data_class is not Named)
    probe = OnlineProbe()
    longer = quiet_trainer(callbacks=[probe], max_epochs=3)
    longer.fit(*make(OtherNames), ckpt_path=tmp_path / "run.ckpt")
    assert "online_probe/top1" in longer.callback_metrics
    assert probe.state_dict()["classes"] == list(OtherNames.classes)


@pytest.mark.parametrize("kind", ["validate", "test"])
def test_an_untrained_probe_reports_nothing(make, quiet_trainer, caplog, kind):
    (reported,) = getattr(quiet_trainer(callbacks=[OnlineProbe()]), kind)(*make(), verbose=False)
    assert not reported
    assert "has not been trained on the data's classes" in caplog.text


class TestUnknownLabels:
    def test_none_known(self, make, quiet_trainer):
        probe = OnlineProbe()
        module, data = make(Unlabelled)
        trainer = quiet_trainer(callbacks=[probe])
        trainer.fit(module, data)
        state = probe.state_dict()["probe"]
        assert all(torch.isfinite(tensor).all() for tensor in state.values())
        untrained = OnlineProbe()
        quiet_trainer(callbacks=[untrained], max_epochs=1, limit_train_batches=0).validate(module, data, verbose=False)
        assert torch.equal(state["1.weight"], untrained.state_dict()["probe"]["1.weight"])
        assert trainer.callback_metrics["online_probe/top1"].isnan()
        assert trainer.callback_metrics["online_probe/macro_top1"].isnan()

    def test_weigh_nothing(self, make, quiet_trainer):
        """The gradient is that of the mean over the known ones."""
        probe = OnlineProbe()
        trainer = quiet_trainer(callbacks=[probe], max_epochs=1)
        trainer.fit(*make())
        features, target = torch.randn(8, 16), torch.tensor([0, -1, 2, -1, 3, -1, -1, -1])
        logits = copy.deepcopy(probe.probe).train()(features).detach()
        probe.on_train_batch_end(trainer, None, {"features": features, "target": target}, None, 0)
        known = target >= 0
        expected = (logits[known].softmax(1) - F.one_hot(target[known], 4)).mean(0)
        torch.testing.assert_close(probe.probe[1].bias.grad, expected)


def test_micro_and_macro_on_imbalanced_classes(make, quiet_trainer):
    """Nine samples of class 0, one of class 1, all called 0: nine in ten samples and half the classes are right."""
    module, data = make(num_classes=2)
    probe = OnlineProbe()
    trainer = quiet_trainer(callbacks=[probe], max_epochs=1)
    trainer.fit(module, data)
    with torch.no_grad():
        probe.probe[1].weight.zero_()
        probe.probe[1].bias.copy_(torch.tensor([1.0, 0.0]))
    logged = {}
    module.log = lambda name, value, **_: logged.update({name: value.item()})
    target = torch.tensor([0] * 9 + [1] + [-1] * 5)
    probe.on_validation_batch_end(trainer, module, {"features": torch.randn(15, 16), "target": target}, None, 0)
    probe.on_validation_epoch_end(trainer, module)
    assert logged == {"online_probe/top1": pytest.approx(0.9), "online_probe/macro_top1": pytest.approx(0.5)}
    probe.on_validation_batch_end(trainer, module, {"features": torch.randn(1, 16), "target": target[:1]}, None, 0)
    probe.on_validation_epoch_end(trainer, module)
    assert logged["online_probe/top1"] == 1.0  # earlier batches are forgotten


def test_evaluation_leaves_the_probe(make, quiet_trainer):
    module, data = make()
    probe = OnlineProbe()
    trainer = quiet_trainer(callbacks=[probe])
    trainer.fit(module, data)
    before = {name: tensor.clone() for name, tensor in probe.state_dict()["probe"].items()}
    trainer.validate(module, data, verbose=False)
    trainer.test(module, data, verbose=False)
    torch.testing.assert_close(probe.state_dict()["probe"], before, rtol=0, atol=0)


class TestResume:
    def test_a_probe_that_is_gone(self, tmp_path, make, quiet_trainer):
        trainer = quiet_trainer(callbacks=[OnlineProbe()])
        trainer.fit(*make())
        trainer.save_checkpoint(tmp_path / "run.ckpt")
        ends = []
        for callbacks in ([OnlineProbe()], []):
            module, data = make()
            quiet_trainer(callbacks=callbacks, max_epochs=3).fit(module, data, ckpt_path=tmp_path / "run.ckpt")
            ends.append(module.state_dict())
        torch.testing.assert_close(*ends, rtol=0, atol=0)

    def test_a_probe_that_is_new(self, tmp_path, make, quiet_trainer):
        trainer = quiet_trainer()
        trainer.fit(*make())
        trainer.save_checkpoint(tmp_path / "run.ckpt")
        again = quiet_trainer(callbacks=[OnlineProbe()], max_epochs=3)
        again.fit(*make(), ckpt_path=tmp_path / "run.ckpt")
        assert again.global_step == 12
        assert "online_probe/top1" in again.callback_metrics


@pytest.mark.parametrize("learning_rate", [0.0, -1.0])
def test_learning_rate_out_of_range(learning_rate):
    with pytest.raises(ValueError, match="learning_rate must be above 0, got"):
        OnlineProbe(learning_rate)
