"""How a run ends that cannot go on: a signal, a full disk, a folder that is another's or read-only, changed data."""

from __future__ import annotations

import argparse
import errno
import json
import os
import resource
import signal

import pytest
import torch

from lightning_renyicl.callbacks import AtomicCheckpointIO
from lightning_renyicl.checkpoints import before
from lightning_renyicl.evaluation import OnlineProbe
from lightning_renyicl.modules import TabularModule
from lightning_renyicl.runs.exclusive import take

TERMINATED = """
import os, signal, sys
import torch
from lightning.pytorch import Callback
from lightning_renyicl.cli import entry

torch.set_num_threads(1)

class Terminate(Callback):
    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if trainer.global_step == 7 and trainer.is_global_zero:
            os.kill(os.getpid(), signal.SIGTERM)

run = entry.run
entry.run = lambda: run(callbacks=[Terminate()])
entry.main()
"""


@pytest.mark.parametrize("devices", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_sigterm(process, command, fake, tmp_path, devices):
    (tmp_path / "program.py").write_text(TERMINATED)
    outcome = process(tmp_path, "program.py", "fit", "--config", fake, "--trainer.devices", devices)
    assert outcome.code == 143, outcome.err
    assert "Traceback" not in outcome.err
    run = tmp_path / "runs/fake/seed0"
    assert not (run / "result.json").exists()
    assert not (run / ".lock").exists()
    if devices == 1:
        assert command("fit", "--config", fake).code == 0
        assert (run / "result.json").exists()


@pytest.mark.parametrize(
    ("kind", "owner", "hook"),
    [
        ("predict", TabularModule, "predict_step"),
        ("validate", OnlineProbe, "on_validation_epoch_end"),  # after the last batch
        ("test", OnlineProbe, "on_test_epoch_end"),
    ],
)
def test_sigterm_while_evaluating(command, checkpoint, tmp_path, monkeypatch, kind, owner, hook):
    calls = []
    original = getattr(owner, hook)

    def terminate(self, *args):
        calls.append(hook)
        if kind != "predict" or len(calls) == 2:  # when the file has been begun
            assert kind != "predict" or len(list((tmp_path / "run/predict").glob("embeddings.*.part.parquet"))) == 1
            os.kill(os.getpid(), signal.SIGTERM)
        return original(self, *args)

    monkeypatch.setattr("lightning_renyicl.callbacks.embedding_writer.GROUP", 1)
    monkeypatch.setattr(owner, hook, terminate)
    handler = signal.getsignal(signal.SIGTERM)
    outcome = command(kind, "--ckpt_path", checkpoint, "--trainer.default_root_dir", "run")
    assert outcome.code == 143
    assert len(calls) <= 2
    assert {path.name for path in (tmp_path / "run" / kind).iterdir()} <= {"config.yaml"}
    assert signal.getsignal(signal.SIGTERM) == handler


def test_a_second_command_in_the_folder(command, fake, tmp_path):
    args = ["fit", "--config", fake, "--trainer.default_root_dir", "run"]
    for fresh in ([], ["--fresh", "true"]):
        with take(tmp_path / "run"):
            outcome = command(*args, *fresh)
        assert outcome.code == 2
        (line,) = outcome.err.splitlines()
        assert line.startswith(f"error: run is being trained by process {os.getpid()} on ")
        assert [path.name for path in (tmp_path / "run").iterdir()] == []
    assert command(*args).code == 0
    assert not (tmp_path / "run/.lock").exists()


@pytest.fixture
def limit():
    """A bound on the size of files, as a full disk is one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def _limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    yield _limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk(tmp_path, limit):
    path, content = tmp_path / "last.ckpt", {"w": torch.zeros(10**6)}
    saver = AtomicCheckpointIO(path)
    saver.save_checkpoint(content, path)
    whole = path.read_bytes()
    limit(10**5)
    with pytest.raises(OSError, match=str(path)) as caught:
        saver.save_checkpoint(content, path)
    assert caught.value.errno == errno.EFBIG
    assert path.read_bytes() == whole
    assert [each.name for each in tmp_path.iterdir()] == ["last.ckpt"]


def test_a_disk_that_fills_up_while_training(command, fake, tmp_path, limit):
    limit(5000)
    outcome = command("fit", "--config", fake, "--trainer.logger", "false", "--trainer.default_root_dir", "run")
    limit(-1)
    assert outcome.code == 2
    (line,) = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert line.endswith("run/checkpoints/last.ckpt'")
    assert list((tmp_path / "run/checkpoints").iterdir()) == []
    log = tmp_path / "run/error.log"
    assert not log.exists() or log.read_text()  # whole or not there


def test_the_checkpoint_before_is_kept_until_training_has_ended(tmp_path):
    path = tmp_path / "last.ckpt"
    saver = AtomicCheckpointIO(path)
    for number in range(3):
        saver.save_checkpoint({"n": number}, path)
    assert [torch.load(each)["n"] for each in (path, before(path))] == [2, 1]
    saver.save_checkpoint({"n": 3}, tmp_path / "other.ckpt")
    saver.save_checkpoint({"n": 3}, tmp_path / "other.ckpt")
    assert not before(tmp_path / "other.ckpt").exists()


def test_a_read_only_folder(command, fake, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", "run")

    monkeypatch.setattr("lightning_renyicl.runs.exclusive.lock", refuse)
    monkeypatch.setattr("lightning_renyicl.runs.folder.write_text", refuse)
    outcome = command("fit", "--config", fake, "--trainer.default_root_dir", "run")
    assert outcome.code == 2
    assert outcome.err == ("error: [Errno 13] Permission denied (another --trainer.default_root_dir?): 'run'\n")


@pytest.mark.parametrize("kind", ["fit", "validate", "test", "predict"])
def test_a_folder_below_a_file(command, fake, tmp_path, checkpoint, kind):
    (tmp_path / "file").touch()
    own = ["--config", fake] if kind == "fit" else ["--ckpt_path", checkpoint]
    outcome = command(kind, *own, "--trainer.default_root_dir", "file/run")
    assert outcome.code == 2
    place = "file/run" if kind == "fit" else f"file/run/{kind}"
    assert outcome.err == f"error: [Errno 20] Not a directory (another --trainer.default_root_dir?): '{place}'\n"


@pytest.mark.parametrize("kind", ["validate", "predict"])
def test_an_evaluation_in_a_read_only_folder(command, tmp_path, checkpoint, kind, monkeypatch):
    monkeypatch.setattr("lightning_renyicl.runs.folder.os.access", lambda *_: False)  # of tests run by root, too
    outcome = command(kind, "--ckpt_path", checkpoint, "--trainer.default_root_dir", "run")
    assert outcome.code == 2
    assert outcome.err == (f"error: [Errno 13] Permission denied (another --trainer.default_root_dir?): 'run/{kind}'\n")


@pytest.fixture
def own_table(command, configs, tmp_path):
    """A run on a table of the user's own, and the table's rows."""
    rows = "\n".join(f"{i % 7},{i % 5},{'ab'[i % 2]}" for i in range(80))
    (tmp_path / "mine.csv").write_text(f"x,y,label\n{rows}\n")
    own = ["--data.file", "mine.csv", "--data.target", "label", "--data.batch_size", 16, "--trainer.max_epochs", 1]
    own += ["--model.backbone.widths", "[8, 8]", "--model.projector.widths", "[8, 4]"]
    own += ["--trainer.default_root_dir", "run", "--model.scheduler.warmup_epochs", 0]

    def _fit(*flags):
        return command("fit", "--config", configs / "own_table.yaml", *own, *flags)

    assert _fit().code == 0
    return _fit, rows


def test_data_that_changed_under_a_finished_run(own_table, tmp_path):
    fit, rows = own_table
    result = (tmp_path / "run/result.json").read_text()
    (tmp_path / "mine.csv").touch()
    assert fit().code == 0  # the same bytes are the same data
    (tmp_path / "mine.csv").write_text(f"x,y,label\n{rows.replace('3', '4')}\n")
    outcome = fit()
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == (
        "error: run is finished, but mine.csv has changed since: --fresh true trains again, and another "
        "--trainer.default_root_dir keeps both"
    )
    assert (tmp_path / "run/result.json").read_text() == result
    assert fit("--fresh", "true").code == 0
    assert json.loads(result)["data"] != json.loads((tmp_path / "run/result.json").read_text())["data"]


def test_data_that_changed_under_an_unfinished_run(own_table, tmp_path):
    fit, rows = own_table
    (tmp_path / "run/result.json").unlink()
    (tmp_path / "mine.csv").write_text(f"x,y,label\n{rows.replace('3', '4')}\n")
    last = tmp_path / "run/checkpoints/last.ckpt"
    for flags in ([], ["--ckpt_path", last]):
        outcome = fit(*flags)
        assert outcome.code == 2
        assert outcome.err.splitlines()[-1] == (
            "error: run is not finished, but mine.csv has changed since: --fresh true trains again, and another "
            "--trainer.default_root_dir keeps both"
        )
    content = torch.load(last, weights_only=True)
    del content["run"]["data"]  # as earlier versions
    torch.save(content, last)
    assert fit().code == 0


def test_a_pickle_that_holds_code(command, fake, tmp_path):
    torch.save({"pytorch-lightning_version": "2.6", "callbacks": {"x": argparse.Namespace}}, tmp_path / "x.ckpt")
    outcome = command("fit", "--config", fake, "--ckpt_path", "x.ckpt")
    assert outcome.code == 2
    assert outcome.err == (
        "error: --ckpt_path x.ckpt is not a checkpoint that loads safely: it holds argparse.Namespace, which is code, "
        "where only tensors, numbers and text are read\n"
    )
