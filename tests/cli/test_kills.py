"""Runs that are killed while they write; ``make soak`` kills at random moments, and several processes."""

import multiprocessing
import os
import signal
import sys

import pytest

from lightning_renyicl import cli
from tests.soak import differences

SHORT = ["--trainer.max_epochs=2", "--trainer.check_val_every_n_epoch=1", "--trainer.log_every_n_steps=1"]
SHORT += ["--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false", "--trainer.callbacks=OnlineProbe"]
SMALL = ["--model.backbone.init_args.width=16", "--data.num_samples=40", "--data.batch_size=8"]


def train(folder, args, killed_at, writes):
    """Trains in a forked process, which kills itself before it opens, moves or deletes the file of a number."""
    os.chdir(folder)
    run = str(folder / "run")

    def count(event, details):
        if event in ("open", "os.rename", "os.remove") and str(details[0]).startswith((run, "run/")):
            if event == "open" and not (details[2] or 0) & (os.O_WRONLY | os.O_RDWR):
                return
            writes.value += 1
            if writes.value == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    cli.run([*args, "--trainer.default_root_dir", "run"])


@pytest.mark.parametrize(
    ("files", "own", "part"),
    [
        ([], [], 0.35),
        (["mutag.yaml", "scale/graph/smoke.yaml"], [], 0.6),
        (["digits_image_hard.yaml", "scale/image/smoke.yaml"], SMALL, 0.85),
    ],
    ids=["table", "graph", "image"],
)
def test_a_training_goes_on_bit_equal(tmp_path, fake, configs, files, own, part):
    paths = [configs / name for name in files] or [fake]
    args = ["fit", *(f"--config={path}" for path in paths), *SHORT, *own]
    fork = multiprocessing.get_context("fork")

    def _train(name, killed_at=0):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        writes = fork.Value("i", 0)
        process = fork.Process(target=train, args=(folder, args, killed_at, writes))
        process.start()
        process.join()
        return process.exitcode, writes.value

    code, writes = _train("whole")
    assert code == 0
    assert _train("killed", killed_at := int(part * writes)) == (-signal.SIGKILL, killed_at)
    assert _train("killed")[0] == 0
    assert [*differences(tmp_path / "whole/run", tmp_path / "killed/run")] == []
