"""What is logged when."""

import pytest
from lightning.pytorch import Callback
from lightning.pytorch.loggers.logger import DummyLogger


class Seen(Callback):
    """What callbacks find after each training batch."""

    def __init__(self):
        self.metrics = []

    def on_train_batch_end(self, trainer, *_):
        self.metrics.append({name: float(value) for name, value in trainer.callback_metrics.items()})


class Records(DummyLogger):
    """What loggers are given, by step."""

    def __init__(self):
        super().__init__()
        self.steps = {}

    def log_metrics(self, metrics, step=None):
        self.steps[step] = set(metrics)


@pytest.mark.parametrize("every", [1, 2, 3, 50, 0])
def test_loggers_get_all_that_they_look_at(build, fit, every):
    seen, records = Seen(), Records()
    fit(build(), logger=records, callbacks=[seen], log_every_n_steps=every, max_epochs=2)
    assert len(seen.metrics) == 10
    assert list(records.steps) == [step for step in range(10) if every and (step + 1) % every == 0]
    names = {"train/loss", "train/bound", "train/feature_std", "train/mutual_information", "train/positive_score"}
    assert all(names <= logged for logged in records.steps.values())


@pytest.mark.parametrize("every", [3, 50])
def test_callbacks_see_what_loggers_do_and_everything_at_the_end_of_an_epoch(build, fit, every):
    all_of_them, some = Seen(), Seen()
    for seen, steps in ((all_of_them, 1), (some, every)):
        fit(build(momentum=0.9), callbacks=[seen], log_every_n_steps=steps, max_epochs=2)
    assert {"train/loss", "train/momentum"} < set(all_of_them.metrics[0])
    last = {}
    for step, (ours, theirs) in enumerate(zip(some.metrics, all_of_them.metrics, strict=True)):
        if (step + 1) % every == 0 or step in (4, 9):
            last = theirs
        assert ours == last


def test_a_run_that_has_diverged_is_noticed_within_an_epoch(build, fit):
    module, data = build()
    for weight in module.projector.parameters():
        weight.data.fill_(float("nan"))
    with pytest.raises(ValueError, match="finite after epoch 1, the last loss is nan"):
        fit((module, data), max_epochs=-1, max_steps=3, log_every_n_steps=50)
