"""User mistakes end in one line on stderr and exit code 2."""

from __future__ import annotations

import pytest
import torch
from PIL import Image

from lightning_renyicl import cli


def write(name, text):
    def _write(folder):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    return _write


def save(name, value):
    return lambda folder: torch.save(value, folder / name)


BAD = "bad.yaml"
# what to prepare in the folder, arguments after a good configuration, part of the message
MISTAKES = {
    "key in a flag": (None, ["--model.objectiv", "CPC"], "objectiv"),
    "key of a class in a flag": (None, ["--model.objective.gama", "2"], "gama"),
    "key in YAML": (write(BAD, "model:\n  init_args:\n    momentm: 0.9\n"), ["--config", BAD], "momentm"),
    "section in YAML": (write(BAD, "trainr:\n  max_epochs: 1\n"), ["--config", BAD], "trainr"),
    "key of a trainer in YAML": (write(BAD, "trainer:\n  max_epoch: 1\n"), ["--config", BAD], "max_epoch"),
    "type": (None, ["--trainer.max_epochs", "soon"], "trainer.max_epochs: Expected a int; given: soon"),
    "type in YAML": (write(BAD, "data: {init_args: {batch_size: many}}\n"), ["--config", BAD], "many"),
    "no file": (None, ["--config", "nowhere.yaml"], "nowhere.yaml"),
    "a folder": (lambda folder: (folder / BAD).mkdir(), ["--config", BAD], BAD),
    "no YAML": (write(BAD, "model: ["), ["--config", BAD], BAD),
    "no text": (write(BAD, b"\xff\xfe\x00model"), ["--config", BAD], BAD),
    "YAML that refers to itself": (write(BAD, "a: &a [*a]"), ["--config", BAD], f"{BAD} refers to itself, or"),
    "a flag that refers to itself": (None, ["--data", "&a [*a]"], "data: no class that fits here is named &a [*a]"),
    "a probe twice": (
        None,
        ["--trainer.callbacks+=OnlineProbe"],
        "error: OnlineProbe stands twice in trainer.callbacks: leave one out",
    ),
    "no dictionary": (write(BAD, "just words\n"), ["--config", BAD], BAD),
    "no checkpoint": (None, ["--ckpt_path", "nowhere.ckpt"], "nowhere.ckpt: no such file"),
    "no checkpoint, with =": (None, ["--ckpt_path=nowhere.ckpt"], "nowhere.ckpt: no such file"),
    "text for a checkpoint": (write("x.ckpt", "text"), ["--ckpt_path", "x.ckpt"], "x.ckpt is not a checkpoint"),
    "empty checkpoint": (write("x.ckpt", ""), ["--ckpt_path", "x.ckpt"], "x.ckpt is not a checkpoint"),
    "list for a checkpoint": (save("x.ckpt", [1, 2]), ["--ckpt_path", "x.ckpt"], "x.ckpt is not a checkpoint"),
    "weights for a checkpoint": (save("x.ckpt", {"w": torch.ones(2)}), ["--ckpt_path", "x.ckpt"], "x.ckpt"),
    "code for a checkpoint": (save("x.ckpt", {"hyper_parameters": print}), ["--ckpt_path", "x.ckpt"], "x.ckpt is not"),
    "unknown module": (None, ["--model", "Nothing"], "model: no class that fits here is named Nothing"),
    "unknown data": (None, ["--data", "Nothing"], "data: no class that fits here is named Nothing"),
    "unknown objective": (None, ["--model.objective", "Nothing"], "Nothing"),
    "unknown callback": (
        None,
        ["--trainer.callbacks+=KNN"],
        "error: trainer.callbacks: no class that fits here is named KNN; given: KNN; KNN is a class for another place",
    ),
    "no argument that a callback needs": (
        None,
        ["--trainer.callbacks+=EarlyStopping"],
        "error: EarlyStopping: the following arguments are required: monitor",
    ),
    "key of a callback": (
        None,
        ["--trainer.callbacks+=OnlineProbe", "--trainer.callbacks.rate=1"],
        "error: OnlineProbe: Option 'rate' is not accepted; it takes learning_rate, seed",
    ),
    "value of a callback": (
        None,
        ["--trainer.callbacks+=EarlyStopping", "--trainer.callbacks.monitor=a", "--trainer.callbacks.mode=up"],
        "error: `mode` can be min, max, got up",
    ),
    "schedule of torch": (
        None,
        ["--model.scheduler", "torch.optim.lr_scheduler.CosineAnnealingLR"],
        "error: model.scheduler is made from optimizer, total_steps and steps_per_epoch, which CosineAnnealingLR "
        "doesn't take: WarmupCosine, a class of yours, or null",
    ),
    "schedule by a metric": (
        None,
        ["--model.scheduler", "torch.optim.lr_scheduler.ReduceLROnPlateau"],
        "steps_per_epoch, which ReduceLROnPlateau doesn't take",
    ),
    "unknown optimizer": (None, ["--model.optimizer", "torch.optim.Nothing"], "Nothing"),
    "unknown command": ("fitt", [], "fitt"),
    "no command": ("", [], "subcommand"),
    "alpha": (None, ["--model.objective.alpha", "2"], "alpha must be in [0, 1], got 2.0"),
    "gamma": (None, ["--model.objective.gamma", "0"], "gamma must be"),
    "temperature": (None, ["--model.objective.temperature", "0"], "temperature must be"),
    "momentum": (None, ["--model.momentum", "1.5"], "must be in [0, 1], got 1.5"),
    "one view": (
        None,
        ["--data.views", "[{class_path: Identity}]"],
        "RMLCPC compares at least 2 views, and data.views has 1",
    ),
    "large batch": (None, ["--data.batch_size", "81"], "batch_size 81 is more than the 80 training samples"),
    "no batch": (None, ["--data.batch_size", "0"], "batch_size must be at least 1, got 0"),
    "no length": (None, ["--trainer.max_epochs", "-1"], "set trainer.max_epochs or trainer.max_steps"),
    "precision": (None, ["--trainer.precision", "7"], "precision"),
    "batch statistics over CPUs": (
        None,
        ["--trainer.sync_batchnorm", "true", "--trainer.devices", "2", "--trainer.accelerator", "cpu"],
        "SyncBatchNorm needs GPUs",
    ),
    "abbreviated flag": (None, ["--trainer.max_epoch", "1"], "--trainer.max_epoch"),
    "empty YAML": (write(BAD, ""), ["--config", BAD], f"{BAD} is empty"),
    "folder for a checkpoint": (lambda folder: (folder / "x").mkdir(), ["--ckpt_path", "x"], "x: is a folder"),
    "batch of one": (None, ["--data.batch_size", "1"], "batch_size must be at least 2"),
    "no width": (None, ["--model.projector.widths", "[0]"], "widths of at least 1, got [0]"),
    "no accumulation": (None, ["--trainer.accumulate_grad_batches", "0"], "accumulate_grad_batches must be at least 1"),
    "no training": (None, ["--trainer.limit_train_batches", "0"], "trainer.limit_train_batches leaves none"),
    "not finite": (
        None,
        ["--model.optimizer.lr", "1e30"],
        "weights are not finite after epoch 1, the last loss is nan: lower the learning",
    ),
    "random seed": (None, ["--seed_everything", "true"], "seed_everything"),
    "nothing at all": ("fit", [], "required: fit.data, fit.model (a --config gives them)"),
    "untrained": ("predict", ["--config", "fake.yaml"], "predict needs the checkpoint of a trained model, --ckpt_path"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_line_and_exit_code_2(command, tmp_path, fake, mistake):
    prepare, args, message = MISTAKES[mistake]
    (tmp_path / "fake.yaml").write_text(fake.read_text())
    if isinstance(prepare, str):
        outcome = command(*([prepare] if prepare else []), *args)
    else:
        if prepare is not None:
            prepare(tmp_path)
        outcome = command("fit", "--config", fake, *args)
    assert outcome.code == 2
    lines = outcome.err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert message in lines[0]
    assert not message.startswith("error: ") or message == lines[0]
    assert len(lines[0]) < 400
    assert "Traceback" not in outcome.out


def test_data_that_are_missing(command, tmp_path, configs, monkeypatch):
    def offline(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("torchvision.datasets.utils.download_url", offline)
    outcome = command("fit", "--config", configs / "cifar100_hard.yaml", "--data.root", tmp_path / "data")
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith("error: no cifar-100-python.tar.gz")
    assert str(tmp_path / "data") in line
    assert "https://" in line
    assert "Traceback" in (tmp_path / "runs/cifar100_hard/seed0/error.log").read_text()


def test_a_broken_image_that_a_process_reads(command, tmp_path, configs):
    for name in "ab":
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for number in range(8):
            Image.new("RGB", (40, 40), (number, 0, 0)).save(tmp_path / "pictures" / name / f"{number}.png")
    (tmp_path / "pictures/a/3.png").write_bytes(b"")
    own = ["--data", "ImageFolder", "--data.root", "pictures", "--data.num_workers", 1, "--data.batch_size", 4]
    scale = ["--config", configs / "scale/smoke.yaml", "--trainer.num_sanity_val_steps", 0]
    outcome = command("fit", "--config", configs / "digits_image_hard.yaml", *scale, *own, "--trainer.max_epochs", 9)
    assert outcome.code == 2
    (line,) = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert line.endswith("pictures/a/3.png is empty")


@pytest.mark.parametrize(
    "args", [["--model.objective.alpha", "2"], ["--data.batch_size", "81"]], ids=["at construction", "in the trainer"]
)
class TestAfterParsing:
    def test_traceback_is_in_the_run_folder(self, command, tmp_path, fake, args):
        assert command("fit", "--config", fake, *args).code == 2
        log = (tmp_path / "runs/fake/seed0/error.log").read_text()
        assert log.startswith("Traceback")
        assert "ValueError" in log
        assert not (tmp_path / "runs/fake/seed0/result.json").exists()

    def test_debugging_raises(self, command, fake, args, monkeypatch):
        monkeypatch.setenv("RENYICL_DEBUG", "1")
        with pytest.raises(ValueError, match=r"got 2\.0|batch_size 81"):
            command("fit", "--config", fake, *args)


def test_an_error_log_goes_when_the_run_goes_on(command, tmp_path, fake, monkeypatch):
    def missing(self):
        raise FileNotFoundError("no such file: rows.csv")

    with monkeypatch.context() as patch:
        patch.setattr("datamodules.FakeTable.load", missing)
        assert command("fit", "--config", fake).code == 2
    run = tmp_path / "runs/fake/seed0"
    assert (run / "error.log").exists()
    assert command("fit", "--config", fake).code == 0
    assert (run / "result.json").exists()
    assert not (run / "error.log").exists()


def test_a_mistake_of_ours_keeps_its_traceback(command, fake, monkeypatch, tmp_path):
    def broken(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr("lightning_renyicl.modules.TabularModule.training_step", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        command("fit", "--config", fake)
    assert "a bug" in (tmp_path / "runs/fake/seed0/error.log").read_text()


def test_an_error_that_is_no_users_is_not_caught(monkeypatch):
    def broken(*_):
        raise KeyError("a bug")

    monkeypatch.setattr("lightning_renyicl.cli.entry.run", broken)
    with pytest.raises(KeyError):
        cli.main()


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(
            "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:561] Connection closed by peer [::1]:8595."
        ),
        torch.distributed.DistBackendError("NCCL error in ProcessGroupNCCL.cpp: remote process exited"),
    ],
    ids=["gloo", "nccl"],
)
def test_one_line_where_another_process_has_ended(command, fake, monkeypatch, error):
    def lost(*_):
        raise error

    monkeypatch.setattr("lightning_renyicl.modules.TabularModule.training_step", lost)
    outcome = command("fit", "--config", fake)
    assert outcome.code == 1
    (line,) = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert line == "error: another process of this run has ended, and this one cannot go on without it"
    assert "Traceback" not in outcome.err
