"""What a training would cost, by a clock that the test moves."""

from __future__ import annotations

import json

import pytest
from lightning.pytorch import Callback

from lightning_renyicl.callbacks import step_timer as module_under_test
from lightning_renyicl.callbacks.step_timer import StepTimer


class Take(Callback):
    """Moves the clock on: while a batch is waited for, in its step, and in a validation batch."""

    def __init__(self, now, steps, validation=(), waits=0.0):
        self.now, self.waits = now, waits
        self.steps, self.validation = iter(steps), iter(validation)
        self.taken = 0

    def on_train_batch_start(self, *_):
        self.now[0] += self.waits

    def on_train_batch_end(self, *_):
        self.now[0] += next(self.steps)
        self.taken += 1

    def on_validation_batch_end(self, *_):
        self.now[0] += next(self.validation)

    def on_sanity_check_end(self, *_):
        self.now[0] += 1000  # what lies between doesn't count


@pytest.fixture
def now(monkeypatch):
    time = [50.0]
    monkeypatch.setattr(module_under_test.time, "perf_counter", lambda: time[0])
    return time


@pytest.fixture
def cost(tmp_path, make, quiet_trainer, now):
    """Fits with steps that take so long; what the file holds, and how many steps were taken.

    Ten batches of training and five of validation an epoch, three epochs, two batches of validation before.
    """

    def _cost(steps, validation=(9.0, 0.5), waits=0.0, num_samples=160, **arguments):
        path = tmp_path / "cost.json"
        take = Take(now, steps, validation, waits)
        arguments = {"max_epochs": 3, "num_sanity_val_steps": 2} | arguments
        trainer = quiet_trainer(callbacks=[take, StepTimer(str(path))], **arguments)
        with pytest.raises(SystemExit) as ended:
            trainer.fit(*make(num_samples=num_samples))
        assert not ended.value.code
        return json.loads(path.read_text()), take.taken

    return _cost


def test_file(cost, tmp_path):
    found, _ = cost([7, 6])
    assert found == {
        "step_seconds": 6.0,
        "steps": 30,
        "validation_seconds": 7.5,  # 3 passes of 5 batches of half a second
        "seconds": 187.5,
    }
    assert [path.name for path in tmp_path.iterdir()] == ["cost.json"]


@pytest.mark.parametrize(
    ("steps", "step", "taken"),
    [
        ([100, 5], 5.0, 2),
        ([0.001, 2, 4, 1], 3.0, 3),
        ([7, 1, 1, 1, 9, 1], 1.0, 5),
        ([7, 2, 2.5, 0.5, 0.25], 2.0, 4),
        ([4.75, 4.75, 4.75, 1], 4.75, 3),
    ],
    ids=["one", "two", "median", "exactly five seconds", "not with the first"],
)
def test_the_steps_after_the_first_that_fill_five_seconds(cost, steps, step, taken):
    found, count = cost(steps)
    assert (found["step_seconds"], count) == (step, taken)
    assert found["seconds"] == 30 * step + 7.5


def test_ends_with_the_epoch(cost):
    found, taken = cost([5, *range(1, 10)], num_samples=48)
    assert taken == 3
    assert (found["step_seconds"], found["steps"]) == (1.5, 9)


def test_an_epoch_of_one_step(cost):
    """Then there is nothing but the first."""
    found, taken = cost([4], limit_train_batches=1)
    assert taken == 1
    assert (found["step_seconds"], found["steps"]) == (4.0, 3)


def test_waiting_for_data_counts(cost):
    found, _ = cost([3, 4, 4], waits=2.0)
    assert found["step_seconds"] == 6.0


@pytest.mark.parametrize(
    ("limits", "steps"), [({"limit_train_batches": 4}, 12), ({"max_epochs": 1}, 10), ({"max_epochs": 50}, 500)]
)
def test_steps_are_those_of_the_whole_training(cost, limits, steps):
    assert cost([1, 6], **limits)[0]["steps"] == steps


class TestValidation:
    @pytest.mark.parametrize(
        ("arguments", "batches"),
        [
            ({}, 15),
            ({"check_val_every_n_epoch": 2}, 5),
            ({"check_val_every_n_epoch": 3}, 5),
            ({"check_val_every_n_epoch": 4}, 0),
            ({"limit_val_batches": 4}, 12),
            ({"max_epochs": 7, "check_val_every_n_epoch": 2}, 15),
        ],
        ids=str,
    )
    def test_of_all_passes(self, cost, arguments, batches):
        found, _ = cost([1, 6], **arguments)
        assert found["validation_seconds"] == 0.5 * batches
        assert found["seconds"] == 6.0 * found["steps"] + 0.5 * batches

    def test_is_the_median_after_the_first(self, cost):
        assert cost([1, 6], [90, 1, 2, 7], num_sanity_val_steps=4)[0]["validation_seconds"] == 2.0 * 15

    def test_of_one_batch(self, cost):
        assert cost([1, 6], [9], num_sanity_val_steps=1)[0]["validation_seconds"] == 9.0 * 15

    @pytest.mark.parametrize("arguments", [{"num_sanity_val_steps": 0}, {"limit_val_batches": 0}], ids=str)
    def test_none_seen(self, cost, arguments):
        found, _ = cost([1, 6], **arguments)
        assert (found["validation_seconds"], found["seconds"]) == (0.0, 180.0)


class TestNumberOfSteps:
    def test_in_place_of_epochs(self, cost):
        """Ten steps an epoch: the fifth is not reached."""
        found, _ = cost([1, 6], max_epochs=-1, max_steps=40)
        assert found == {"step_seconds": 6.0, "steps": 40, "validation_seconds": 10.0, "seconds": 250.0}

    @pytest.mark.parametrize(("most", "steps"), [(25, 25), (30, 30), (1000, 30)])
    def test_beside_epochs(self, cost, most, steps):
        """What ends first counts."""
        assert cost([1, 6], max_steps=most)[0]["steps"] == steps

    def test_are_batches(self, cost):
        """Of two batches each."""
        assert cost([1, 6], max_epochs=-1, max_steps=8, accumulate_grad_batches=2)[0]["steps"] == 16

    def test_validation_beside_epochs(self, cost):
        assert cost([1, 6], max_steps=10)[0]["validation_seconds"] == 2.5


def test_a_file_of_before_is_replaced(cost, tmp_path):
    (tmp_path / "cost.json").write_text("an earlier one, and longer than what comes" * 9)
    assert cost([7, 6])[0]["step_seconds"] == 6.0


def test_a_training_that_fails_leaves_no_file(tmp_path, make, quiet_trainer, now):
    class Fail(Callback):
        def on_train_batch_start(self, *_):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        quiet_trainer(callbacks=[Fail(), StepTimer(str(tmp_path / "cost.json"))]).fit(*make())
    assert list(tmp_path.glob("cost*")) == []
