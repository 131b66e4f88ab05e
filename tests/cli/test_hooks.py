"""What the command relies on in LightningCLI: its public hooks, called in this order, and nothing private."""

from __future__ import annotations

import os
from functools import wraps

import pytest
from lightning.pytorch.cli import LightningCLI

from lightning_renyicl import cli
from lightning_renyicl.cli import RenyiCLI

INHERITED = ("parse_arguments", "before_instantiate_classes", "instantiate_classes", "instantiate_trainer")
# hooks that LightningCLI looks for by name and has not itself, and the method of the trainer beside them
BY_NAME = {
    "fit": ("before_fit", "Trainer.fit"),
    "validate": ("Trainer.validate", "after_validate"),
    "test": ("Trainer.test", "after_test"),
    "predict": ("before_predict", "Trainer.predict", "after_predict"),
}


def test_nothing_private_is_overridden():
    private = {name for name in vars(RenyiCLI) if name.startswith("_") and not name.startswith("__")}
    assert not private & set(dir(LightningCLI))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, fake):
    run = tmp_path_factory.mktemp("trained")
    cli.run(["fit", "--config", str(fake), "--trainer.max_epochs", "1", "--trainer.default_root_dir", str(run)])
    return run / "checkpoints/last.ckpt"


@pytest.mark.parametrize("subcommand", BY_NAME)
def test_hooks_are_called_in_this_order(command, fake, checkpoint, monkeypatch, subcommand):
    called = []

    def record(owner, name, label):
        original = getattr(owner, name)

        @wraps(original)  # the parser reads the signature
        def recorded(*args, **kwargs):
            called.append(label)
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, recorded)

    for name in INHERITED:
        assert hasattr(LightningCLI, name), f"LightningCLI has no {name} any more"
        record(RenyiCLI, name, name)
    for name in BY_NAME[subcommand]:
        owner, _, method = name.rpartition(".")
        record(RenyiCLI if not owner else cli.command.Trainer, method, name)
    source = ("--config", fake) if subcommand == "fit" else ("--ckpt_path", checkpoint)
    assert command(subcommand, *source).code == 0
    assert called == [*INHERITED, *BY_NAME[subcommand]], f"LightningCLI calls other hooks for {subcommand}"


def test_what_hooks_change_is_what_the_trainer_is_given(command, fake, checkpoint, monkeypatch):
    """``config_init`` is where the arguments of the trainer's methods come from."""
    given = {}
    monkeypatch.setattr(RenyiCLI, "predict", lambda self, **arguments: given.update(arguments), raising=False)
    monkeypatch.setattr(RenyiCLI, "after_predict", lambda self: None)  # that finds nothing predicted
    assert command("predict", "--ckpt_path", checkpoint).code == 0
    assert given["return_predictions"] is False
    assert given["ckpt_path"] == str(checkpoint)


@pytest.mark.parametrize("available", [False, True])
def test_without_a_gpu_a_driver_is_not_looked_for_in_every_step(command, fake, monkeypatch, available):
    variable = "PYTORCH_NVML_BASED_CUDA_CHECK"  # which Lightning sets
    monkeypatch.setenv(variable, "1")
    monkeypatch.setattr("torch.cuda.is_available", lambda: available)
    monkeypatch.setattr(RenyiCLI, "_run_subcommand", lambda *_: None)
    assert command("fit", "--config", fake, "--trainer.accelerator", "cpu").code == 0
    assert (variable in os.environ) == available
