"""The command as a function and as a console script."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from textwrap import shorten

from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.fabric.utilities.spike import TrainingSpikeException
from lightning.pytorch import Callback, LightningDataModule, LightningModule
from lightning.pytorch.utilities import rank_zero_only
from lightning.pytorch.utilities.exceptions import SIGTERMException
from torch.distributed import DistBackendError

# bare class names in YAML resolve to what is imported
import datamodules  # noqa: F401
import lightning_renyicl.callbacks
import lightning_renyicl.evaluation
import lightning_renyicl.modules  # noqa: F401
from lightning_renyicl.cli.command import RenyiCLI
from lightning_renyicl.cli.defaults import RunConfig
from lightning_renyicl.cli.hints import with_hint
from lightning_renyicl.cli.messages import quiet_known_warnings, readable
from lightning_renyicl.cli.parser import Parser, read_current_names


def run(args: list[str] | None = None, callbacks: Sequence[Callback] = ()) -> RenyiCLI:
    """Runs the command and returns it, with its ``model``, ``datamodule`` and ``trainer``.

    Of a run that was finished before it has ``folder`` alone, with what that run left: ``run(args).folder.result``.

    Args:
        args: command line without the program's name; ``sys.argv`` if None.
        callbacks: more callbacks for the trainer.
    """
    quiet_known_warnings()
    read_current_names()
    return RenyiCLI(
        sys.argv[1:] if args is None else args,
        model_class=LightningModule,
        datamodule_class=LightningDataModule,
        save_config_callback=RunConfig,
        save_config_kwargs={"save_to_log_dir": False},
        trainer_defaults={"callbacks": list(callbacks)},
        seed_everything_default=0,
        parser_class=Parser,
        parser_kwargs={
            "description": "RényiCL: contrastive representation learning on images, tables and graphs",
            "version": version("lightning-renyicl"),
        },
        subclass_mode_model=True,
        subclass_mode_data=True,
        auto_configure_optimizers=False,
        load_from_checkpoint_support=False,
    )


def main() -> None:
    """The console script: user mistakes end in one line and exit code 2, with the traceback in ``error.log``.

    A run that SIGTERM has stopped ends with exit code 143, as other programs do. Its processes after the first end with
    0: Lightning kills all of them as soon as one of those ends otherwise.
    One line and exit code 1 where another process of the run has ended. What all processes of a run find, the first
    one says.
    """
    parent = os.getppid()
    try:
        run()
    except SIGTERMException:
        sys.exit(128 + signal.SIGTERM if rank_zero_only.rank == 0 else 0)  # type: ignore[attr-defined]
    except (OSError, ValueError, ModuleNotFoundError, MisconfigurationException, RuntimeError) as error:
        message, code = str(error), 2
        if lost_another(error):
            # which has said why, unless it was killed
            message, code = "another process of this run has ended, and this one cannot go on without it", 1
        elif isinstance(error, RuntimeError):
            if "loading state_dict" in message:
                message = shorten(f"the checkpoint doesn't fit the model: {message}", 300, placeholder=" …")
            elif not isinstance(error, TrainingSpikeException) and "at start of device string" not in message:
                raise  # no user's
        if os.environ.get("RENYICL_DEBUG") == "1":
            raise
        if code == 1 or rank_zero_only.rank == 0 or not ends(parent):  # type: ignore[attr-defined]
            sys.stderr.write(f"error: {with_hint(readable(message))}\n")
        sys.exit(code)


def ends(parent: int, within: float = 10.0) -> bool:
    """Whether the process that has started this one ends, too; in some seconds, since a process takes its time to end.

    Of a run on one machine that is the first one.
    """
    last = time.monotonic() + within
    while os.getppid() == parent and time.monotonic() < last:
        time.sleep(0.1)
    return os.getppid() != parent


def lost_another(error: Exception) -> bool:
    """Whether an error of torch says that another process of a run doesn't answer."""
    return isinstance(error, DistBackendError) or (isinstance(error, RuntimeError) and "/gloo/" in str(error))
