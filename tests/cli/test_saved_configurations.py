"""Every ``config.yaml`` that a training leaves runs again."""

from __future__ import annotations

import lightning.pytorch.callbacks as library
import numpy as np
import pandas as pd
import pytest
import yaml

WITHOUT = {
    "BaseFinetuning": "a base class",
    "BasePredictionWriter": "a base class",
    "Callback": "a base class",
    "Checkpoint": "a base class",
    "ProgressBar": "a base class",
    "BatchSizeFinder": "refused",
    "GradientAccumulationScheduler": "refused",
    "LearningRateFinder": "refused",
    "SpikeDetection": "ends a training that is going well",
    "TQDMProgressBar": "fights with others over the terminal",
    "ThroughputMonitor": "needs a function of the user's",
}
ARGUMENTS = {
    "EarlyStopping": {"monitor": "train/loss"},
    "ModelCheckpoint": {"monitor": "train/loss", "train_time_interval": "0:00:10"},
    "ModelPruning": {"pruning_fn": "l1_unstructured", "amount": 0.1},
    "OnExceptionCheckpoint": {"dirpath": "elsewhere"},
    "StochasticWeightAveraging": {"swa_lrs": 0.01},
    "Timer": {"duration": "00:00:10:00"},
}
SHORT = ["--trainer.max_epochs", 1, "--trainer.limit_train_batches", 1, "--trainer.enable_progress_bar", "true"]


def resolved(command, *args):
    outcome = command("fit", *args, "--print_config")
    assert outcome.code == 0, outcome.err
    return yaml.safe_load(outcome.out)


@pytest.mark.parametrize("name", sorted(set(library.__all__) - WITHOUT.keys()))
def test_with_a_callback(command, fake, tmp_path, name):
    """Its configuration is read as the same again, and its checkpoint is evaluated."""
    own = {"class_path": f"lightning.pytorch.callbacks.{name}", "init_args": ARGUMENTS.get(name, {})}
    callbacks = {"trainer": {"callbacks": [own, {"class_path": "OnlineProbe"}]}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(callbacks))
    outcome = command("fit", "--config", fake, "--config", "own.yaml", *SHORT, "--trainer.default_root_dir", "run")
    assert outcome.code == 0, outcome.err
    saved = yaml.safe_load((tmp_path / "run/config.yaml").read_text())
    assert resolved(command, "--config", "run/config.yaml") == saved
    arguments = saved["trainer"]["callbacks"][0]["init_args"]
    assert ARGUMENTS.get(name, {}).items() <= arguments.items()
    assert "Unable" not in str(saved)
    assert command("validate", "--ckpt_path", "run/checkpoints/last.ckpt").code == 0


REFUSED = {
    "BatchSizeFinder": (
        "BatchSizeFinder changes the batch size, and with it the objective and the schedule, and doesn't stop at the "
        "number of samples: try sizes by --data.batch_size"
    ),
    "LearningRateFinder": (
        "LearningRateFinder sets an attribute that these modules don't have: try rates by --model.optimizer.lr"
    ),
}


@pytest.mark.parametrize("kind", ["fit", "validate", "test", "predict"])
@pytest.mark.parametrize("name", REFUSED)
def test_finders_are_refused(command, fake, checkpoint, kind, name):
    own = ["--trainer.callbacks+", f"lightning.pytorch.callbacks.{name}"]
    if kind != "fit":
        own += ["--ckpt_path", checkpoint]
    outcome = command(kind, "--config", fake, *own)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == f"error: {REFUSED[name]}"


TABLE = [
    *("--data.file", "mine.csv", "--data.target", "label", "--data.batch_size", 32, "--trainer.accelerator", "cpu"),
    *(
        "--model.backbone.widths",
        "[8, 8]",
        "--model.projector.widths",
        "[8, 4]",
        "--trainer.enable_progress_bar",
        "false",
    ),
    *(
        "--trainer.check_val_every_n_epoch",
        1,
        "--trainer.val_check_interval",
        "1.0",
        "--model.scheduler.warmup_epochs",
        1,
    ),
]


@pytest.mark.slow
def test_of_a_table_that_went_on_from_a_checkpoint(command, configs, tmp_path, caplog):
    """Labels and categories that look like numbers, dates or YAML stay text."""
    generator = np.random.default_rng(0)
    label = generator.choice([5, 7], 200)
    kind = generator.choice(["1", "02", "2020-01-01", "[x]", "{class_path: y}"], 200)
    frame = pd.DataFrame({"1": label + generator.normal(size=200), "kind": kind, "label": label})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    base = ["fit", "--config", configs / "own_table.yaml", *TABLE]
    first = command(*base, "--trainer.max_epochs", 1, "--trainer.default_root_dir", "a")
    assert first.code == 0, first.err
    caplog.set_level("INFO")
    longer = ["--ckpt_path", "a/checkpoints/last.ckpt", "--trainer.default_root_dir", "b", "--trainer.max_epochs", 2]
    for _ in range(2):  # the second time it is finished
        assert command(*base, *longer).code == 0
    assert not [message for message in caplog.messages if "the checkpoint has" in message]
    assert [path.name for path in tmp_path.glob("b*")] == ["b"]
    outcome = command("fit", "--config", "b/config.yaml", "--trainer.default_root_dir", "c")
    assert outcome.code == 0, outcome.err
    for kind in ("validate", "predict"):
        assert command(kind, "--ckpt_path", "b/checkpoints/last.ckpt").code == 0
    assert not [message for message in caplog.messages if "the checkpoint has" in message]
