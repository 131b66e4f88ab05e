"""The command ``lightning``: fit, validate, test and predict from YAML and flags."""

from __future__ import annotations

import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from textwrap import shorten
from typing import Any, NoReturn

import yaml
from jsonargparse.typing import NonNegativeInt
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch import Callback, LightningDataModule, LightningModule, Trainer
from lightning.pytorch.accelerators import CPUAccelerator
from lightning.pytorch.callbacks import Checkpoint, LearningRateMonitor
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI, SaveConfigCallback
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_info, rank_zero_only

import datamodules  # noqa: F401  (bare class names in YAML resolve to what is imported)
import lightning_renyicl.modules  # noqa: F401
from datamodules.configuration import read_configuration
from lightning_renyicl import run_folder
from lightning_renyicl.atomic import write_text
from lightning_renyicl.callbacks import AtomicCheckpointIO, EmbeddingWriter, LastCheckpoint, ResultJson
from lightning_renyicl.csv_logger import ContinuedCSVLogger
from lightning_renyicl.messages import readable
from lightning_renyicl.run_folder import RunFolder
from lightning_renyicl.stored_config import LINKED, differences, save_arguments, stored_config, values_of


class Parser(LightningArgumentParser):
    """A parser that takes no abbreviated flags and whose errors are one readable line and exit code 2."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        sys.stderr.write(f"error: {readable(message)}\n")
        sys.exit(2)


class RunConfig(SaveConfigCallback):
    """Writes the resolved configuration into the run folder."""

    def save_config(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        folder = Path(trainer.default_root_dir)
        folder.mkdir(parents=True, exist_ok=True)
        # as a configuration to run again, not as this call: nothing is to be deleted or loaded by it
        config = self.config.clone()
        config.fresh, config.ckpt_path = False, None
        # whole or not at all: half a configuration would pass for another one
        write_text(folder / "config.yaml", self.parser.dump(config, skip_unset=False))


class RenyiCLI(LightningCLI):
    """LightningCLI with run folders that are continued, and defaults for logging and checkpoints."""

    folder: RunFolder
    fresh: bool = False

    def add_default_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_argument(
            "--seed_everything",
            type=NonNegativeInt,
            default=self.seed_everything_default,
            help="Seed of weights, shuffling and augmentations.",
        )

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_argument("--fresh", type=bool, default=False, help="Start over a run that exists.")
        for name in LINKED:
            parser.link_arguments(f"data.{name}", f"model.init_args.{name}", apply_on="instantiate")

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parses; with ``--ckpt_path`` the checkpoint's model and data sections come first and the user's win."""
        args = list(sys.argv[1:] if args is None else args)
        check_configs(values_of(args, "--config") + values_of(args, "-c"))
        stored = stored_config(args)
        if stored:
            args[1:1] = ["--config", yaml.safe_dump(stored)]
        self.config = parser.parse_args(args)
        for line in differences(stored, self._plain_config(self.config.subcommand)) if stored else ():
            rank_zero_info(line)

    def _parse_ckpt_path(self) -> None:
        """Done by :meth:`parse_arguments`, in the order in which the user's values win."""

    def _plain_config(self, subcommand: str) -> dict[str, Any]:
        parser = self._subcommand_parsers[subcommand]
        plain: dict[str, Any] = yaml.safe_load(parser.dump(self.config[subcommand], skip_unset=False, format="yaml"))
        return plain

    def before_instantiate_classes(self) -> None:
        """Finds the run folder; a finished run ends here."""
        config = self.config[self.subcommand]
        path = self._root(config)
        plain = self._plain_config(str(self.subcommand))
        # a table's evaluations take the place of those of before
        once = self.subcommand != "fit" and bool(os.environ.get("RENYICL_ONE_FOLDER"))
        self.folder = RunFolder(path) if once else run_folder.find(path, plain)
        if self.folder.path != path:
            keys = run_folder.differing_keys(RunFolder(path), plain)
            rank_zero_info(f"{path} holds another configuration ({keys}); this one runs in {self.folder.path}")
        if self.subcommand != "fit":
            if not config.ckpt_path:
                last = RunFolder(path.parent).checkpoint
                found = f"; there is {last}" if last.exists() else ""
                raise ValueError(f"{self.subcommand} needs the checkpoint of a trained model, --ckpt_path{found}")
        else:
            self.fresh = config.fresh and not restarted()
            if self.fresh:
                # no process writes before all have met, and with this flag none reads either
                rank_zero_only(self.folder.clear)()
            metrics = None if self.fresh else self.folder.metrics
            if metrics is not None:
                scores = ", ".join(
                    f"{name} {'not finite' if value is None else f'{value:.4f}'}" for name, value in metrics.items()
                )
                rank_zero_info(f"{self.folder.path} is finished ({scores or 'no scores'}); --fresh true starts over")
                sys.exit(0)
            rank_zero_info(f"run folder: {self.folder.path}")
        rank_zero_only(self.folder.forget_error)()
        config.trainer.default_root_dir = str(self.folder.path)

    def _root(self, config: Any) -> Path:
        """The run's own folder for ``fit``, and for the other commands one of their name in it."""
        if config.trainer.default_root_dir is not None:
            path = Path(config.trainer.default_root_dir)
            path = path if path.name else path.resolve()
        elif self.subcommand != "fit" and config.ckpt_path and Path(config.ckpt_path).parent.name == "checkpoints":
            path = Path(config.ckpt_path).parent.parent
        else:
            files = [file for file in config.config or [] if file is not None]
            path = run_folder.default_path([str(file) for file in files], config.seed_everything)
        return path if self.subcommand == "fit" else path / str(self.subcommand)

    @contextmanager
    def _error_log(self) -> Iterator[None]:
        """Leaves the traceback of a failure of the first process in the run folder."""
        try:
            yield
        except Exception:
            started = getattr(self, "trainer", None) is not None and self.trainer.global_step > 0
            rank_zero_only(self.folder.write_error)(traceback.format_exc(), started)
            raise

    def instantiate_classes(self) -> None:
        with self._error_log():
            super().instantiate_classes()
        plain = self._plain_config(str(self.subcommand))
        for key, instance in (("model", self.model), ("data", self.datamodule)):
            save_arguments(instance, plain[key], self.datamodule)

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """Adds what every run has: loggers in the run folder, a checkpoint an epoch, ``result.json``."""
        config = self.config_init[self.subcommand].trainer
        folder = str(self.folder.path)
        extra: list[Any] = [ResultJson()]
        if self.subcommand == "fit":
            if config.logger in (None, True):
                config.logger = [ContinuedCSVLogger(folder), TensorBoardLogger(folder, name="", version="")]
            if config.logger and not config.fast_dev_run:
                extra.append(LearningRateMonitor("step"))
            if config.enable_checkpointing is not False and not config.fast_dev_run:
                extra.append(LastCheckpoint(self.folder.checkpoint))
                config.plugins = config.plugins or [AtomicCheckpointIO()]
        else:
            config.logger = config.logger or False
            callbacks = config.callbacks if isinstance(config.callbacks, list) else [config.callbacks]
            config.callbacks = [c for c in callbacks if c is not None and not isinstance(c, Checkpoint)]
            config.enable_checkpointing = False
        if self.subcommand == "predict":
            extra.append(EmbeddingWriter())
        self.trainer_defaults["callbacks"] += extra
        trainer = super().instantiate_trainer(**kwargs)
        if config.sync_batchnorm and trainer.world_size > 1 and isinstance(trainer.accelerator, CPUAccelerator):
            raise ValueError(
                "torch's SyncBatchNorm needs GPUs: leave trainer.sync_batchnorm out, and each process normalises by "
                "its own share of the batch"
            )
        return trainer

    def _run_subcommand(self, subcommand: str) -> None:
        with self._error_log():
            super()._run_subcommand(subcommand)
            batches = {"validate": self.trainer.num_val_batches, "test": self.trainer.num_test_batches}
            if subcommand in batches and not sum(batches[subcommand]):
                raise ValueError(
                    f"{subcommand} had no batch: no sample is in its split, see data.held_out, or none left"
                )

    def _prepare_subcommand_kwargs(self, subcommand: str) -> dict[str, Any]:
        kwargs = super()._prepare_subcommand_kwargs(subcommand)
        if subcommand == "predict":
            kwargs["return_predictions"] = False  # they are in the file, and all of them may not fit in memory
        latest = self.folder.latest if subcommand == "fit" and not self.fresh else None
        given, folder = kwargs.get("ckpt_path"), self.folder.path.resolve()
        own = given is not None and Path(given).resolve().is_relative_to(folder)  # the user goes back to it
        if latest is not None and (not own or restarted()):
            rank_zero_info(f"continuing {self.folder.path} from {latest.name}")
            kwargs["ckpt_path"] = str(latest)
        return kwargs


def restarted() -> bool:
    """Whether a cluster has restarted this job, which then goes on where it stopped, whatever its command says."""
    return os.environ.get("SLURM_RESTART_COUNT", "0") != "0"


def check_configs(files: list[str]) -> None:
    """Names the file that is no YAML dictionary, which the parser's own message doesn't."""
    for file in filter(os.path.isfile, files):
        read_configuration(file)


def run(args: list[str] | None = None, callbacks: Sequence[Callback] = ()) -> RenyiCLI:
    """Runs the command and returns it, with its ``model``, ``datamodule`` and ``trainer``.

    Args:
        args: command line without the program's name; ``sys.argv`` if None.
        callbacks: more callbacks for the trainer.
    """
    quiet_known_warnings()
    return RenyiCLI(
        LightningModule,
        LightningDataModule,
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
        args=args,
    )


def main() -> None:
    """The console script: user mistakes end in one line and exit code 2, with the traceback in ``error.log``."""
    try:
        run()
    except (OSError, ValueError, ModuleNotFoundError, MisconfigurationException, RuntimeError) as error:
        message = str(error)
        if isinstance(error, RuntimeError):
            # of RuntimeErrors only that of a checkpoint which doesn't fit the model is the user's
            if "loading state_dict" not in message:
                raise
            message = shorten(f"the checkpoint doesn't fit the model: {message}", 300, placeholder=" …")
        if os.environ.get("RENYICL_DEBUG") == "1":
            raise
        sys.stderr.write(f"error: {readable(message)}\n")
        sys.exit(2)


def quiet_known_warnings() -> None:
    """Silences Lightning's advice that doesn't fit data held in memory and run folders that are continued."""
    warnings.formatwarning = lambda message, *_: f"warning: {message}\n"
    advertising = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    advertising.addFilter(lambda record: "💡" not in record.getMessage())
    for message in (
        ".*does not have many workers.*",
        ".*exists and is not empty.*",
        ".*smaller than the logging.*",
        ".*LeafSpec.*",
        ".*torch.jit.script.*",
        ".*batch indices fetched.*",
        ".*when using .ckpt_path., callbacks used to create the checkpoint.*",
        # the probe logs values that it has reduced itself
        ".*sync_dist=True.*",
        # the first steps of mixed precision, which the gradient scaler skips
        ".*lr_scheduler.step.. before .optimizer.step.*",
        # val_fraction: 0, as the papers' numbers need
        ".*Total length of .* across ranks is zero.*",
        # the data module keeps the place within the epoch
        ".*ended before the epoch ended and your dataloader is not resumable.*",
    ):
        warnings.filterwarnings("ignore", message)


if __name__ == "__main__":
    main()
