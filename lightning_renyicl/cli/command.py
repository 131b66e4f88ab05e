"""The command's course: arguments, run folder, trainer, and what it is told to go on from."""

from __future__ import annotations

import os
import traceback
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml
from jsonargparse.typing import NonNegativeInt
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.accelerators import CPUAccelerator
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.utilities import rank_zero_info, rank_zero_only

from lightning_renyicl.callbacks import Termination
from lightning_renyicl.callbacks.result_json import in_words, scores
from lightning_renyicl.checkpoints import RUN, check_parts, read_checkpoint
from lightning_renyicl.cli.defaults import add_defaults, listed
from lightning_renyicl.cli.monitors import missed_name, warn_of_missed_names
from lightning_renyicl.cli.parser import check_configurations
from lightning_renyicl.runs.comparison import differing_keys
from lightning_renyicl.runs.exclusive import take
from lightning_renyicl.runs.folder import RunFolder, default_path, find, of_a_folder
from lightning_renyicl.runs.stored_configuration import (
    LINKED,
    WORDS,
    data_of_pretraining,
    differences,
    save_arguments,
    stored_sections,
    values_of,
)


class Finished(Exception):
    """There is nothing to do: the run in a folder has its result."""

    def __init__(self, folder: RunFolder) -> None:
        super().__init__(f"{folder.path} is finished")
        self.folder = folder


class RenyiCLI(LightningCLI):
    """LightningCLI with run folders that are continued, and defaults for logging and checkpoints.

    Attributes:
        folder: the run folder; its ``result`` is that of a run that has finished, now or before, in which case the
            command has neither model nor trainer.
    """

    folder: RunFolder
    held: ExitStack  # what is given back at the end
    fresh = False

    def __init__(self, args: list[str], **kwargs: Any) -> None:
        self._asked = args[0] if args else None
        with ExitStack() as self.held:
            try:
                super().__init__(args=args, **kwargs)
            except Finished as end:
                self.folder = end.folder
            except Exception as error:
                if hasattr(self, "folder"):
                    started = getattr(self, "trainer", None) is not None and self.trainer.global_step > 0
                    rank_zero_only(self.folder.write_error)(traceback.format_exc(), started)
                if missed := missed_name(error, getattr(self, "trainer", None)):
                    raise missed from error
                raise

    def subcommands(self) -> dict[str, set[str]]:  # type: ignore[override]
        """The subcommand that was asked for; all of them if there is none, since each parser takes a while to make."""
        known = LightningCLI.subcommands()
        return {name: known[name] for name in known if self._asked not in known or name == self._asked}

    def add_default_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_argument(
            "--seed_everything",
            type=NonNegativeInt,
            default=self.seed_everything_default,
            help="Seed of weights, shuffling and augmentations.",
        )

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_argument("--fresh", type=bool, default=False, help="Start over a run that exists.")
        parser.add_argument(
            "--fixed_folder",
            type=bool,
            default=False,
            help="Use trainer.default_root_dir itself; another configuration in it is an error, and an evaluation "
            "takes the place of the one before.",
        )
        parser.add_argument(
            "--trust_checkpoint",
            type=bool,
            default=False,
            help="Take any class that the checkpoint names, and so run what its author wanted to be run; else those of "
            "this project, of torch.optim and of this command.",
        )
        for name in LINKED:
            parser.link_arguments(
                f"data.{name}",
                f"model.init_args.{name}",
                compute_fn=partial(self._linked, name),
                apply_on="instantiate",
            )

    def _linked(self, name: str, of_data: Any) -> Any:
        """What the model is told of the data."""
        return self._in_place.get(name, of_data)

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parses; with ``--ckpt_path`` the checkpoint's model and data sections come first and the user's win."""
        args = list(args)
        check_configurations(values_of(args, "--config") + values_of(args, "-c"))
        stored, self._in_place, self._run = stored_sections(args)
        stored = {**data_of_pretraining(args), **stored}
        if stored:
            args[1:1] = ["--config", yaml.safe_dump(stored)]
        self.config = parser.parse_args(args)
        for line in differences(stored, self._resolved()) if stored else ():
            rank_zero_info(line)
        # away until the run folder is looked for: Lightning would let the checkpoint's arguments win over the user's
        config = self.config[self.config.subcommand]
        self._checkpoint, config.ckpt_path = config.ckpt_path, None

    def _resolved(self) -> dict[str, Any]:
        """The subcommand's configuration as plain dictionaries and lists."""
        plain = yaml.safe_load(self.parser.dump(self.config, skip_unset=False, format="yaml"))
        resolved: dict[str, Any] = plain[self.config.subcommand]
        return resolved

    def before_instantiate_classes(self) -> None:
        """Finds the run folder; a finished run ends here."""
        config = self.config[self.subcommand]
        config.ckpt_path = self._checkpoint
        path = self._root(config)
        self._resolved_config = resolved = self._resolved()
        if self.subcommand != "fit" and config.fixed_folder:
            folder = RunFolder(path)
        else:
            with of_a_folder(path):
                folder = find(path, resolved, fixed=config.fixed_folder)
        if folder.path != path:
            keys = differing_keys(RunFolder(path).config, resolved)
            rank_zero_info(f"{path} holds another configuration ({keys}); this one runs in {folder.path}")
        if self.subcommand == "fit":
            self._begin(folder, config.fresh)
        elif not config.ckpt_path:
            last = RunFolder(path.parent).checkpoint
            found = f"; there is {last}" if last.exists() else ""
            raise ValueError(f"{self.subcommand} needs the checkpoint of a trained model, --ckpt_path{found}")
        rank_zero_only(folder.make)()
        rank_zero_only(folder.forget_error)()
        config.trainer.default_root_dir = str(folder.path)
        self.folder = folder

    def _begin(self, folder: RunFolder, fresh: bool) -> None:
        """Takes the folder, empties it if the training starts over, and ends the command if that is finished."""
        self.fresh = fresh and not restarted()
        if not self.fresh:
            self._end_if_finished(folder)
        self.held.enter_context(take(folder.path))
        if self.fresh:
            # no process writes before all have met, and with this flag none reads either
            rank_zero_only(folder.clear)()
        else:
            self._end_if_finished(folder)  # by a process that had the folder until now
        rank_zero_info(f"run folder: {folder.path}")

    @staticmethod
    def _end_if_finished(folder: RunFolder) -> None:
        result = folder.result
        if result is None:
            return
        folder.check_data(result, folder.path / "result.json", "finished")
        rank_zero_info(f"{folder.path} is finished ({in_words(result['metrics'])}); --fresh true starts over")
        raise Finished(folder)

    def _root(self, config: Any) -> Path:
        """The run's own folder for ``fit``, and for the other commands one of their name in it."""
        if config.trainer.default_root_dir is not None:
            path = Path(config.trainer.default_root_dir)
            path = path if path.name else path.resolve()
        elif self.subcommand != "fit" and self._run is not None:
            path = self._run
        else:
            files = [str(file) for file in config.config or [] if file is not None]
            checkpoint = [config.ckpt_path] if self.subcommand != "fit" and config.ckpt_path else []
            path = default_path(files or checkpoint, config.seed_everything)
        return path if self.subcommand == "fit" else path / str(self.subcommand)

    def instantiate_classes(self) -> None:
        super().instantiate_classes()
        for key, instance in (("model", self.model), ("data", self.datamodule)):
            save_arguments(instance, self._resolved_config[key], self.datamodule, self._in_place)

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """Adds what every run has, see :func:`add_defaults`."""
        config = self.config_init[self.subcommand].trainer
        self._own_callbacks = listed(config.callbacks)
        if self.subcommand == "fit" and config.enable_model_summary is None:
            rank_zero_info(f"parameters: {parameters_of(self.model)}")
        self.trainer_defaults["callbacks"] += add_defaults(config, str(self.subcommand), self.folder, self.datamodule)
        try:
            trainer = super().instantiate_trainer(**kwargs)
        except TypeError as error:  # of trainer.devices that are no number, say
            raise ValueError(str(error)) from error
        if config.sync_batchnorm and trainer.world_size > 1 and isinstance(trainer.accelerator, CPUAccelerator):
            raise ValueError(
                "torch's SyncBatchNorm needs GPUs: leave trainer.sync_batchnorm out, and each process normalises by "
                "its own share of the batch"
            )
        look_for_a_gpu_once()
        if self.subcommand == "fit" and trainer.world_size > 1:
            trainer.callbacks.append(Termination())  # type: ignore[attr-defined]
        return trainer

    def before_fit(self) -> None:
        """Goes on from the run's own newest checkpoint, unless the user goes back to an older one of them."""
        latest = None if self.fresh else self.folder.latest()
        given, folder = self.config_init.fit.ckpt_path, self.folder.path.resolve()
        own = given is not None and Path(given).resolve().is_relative_to(folder)
        if latest is not None and (not own or restarted()):
            rank_zero_info(f"continuing {self.folder.path} from {latest.name}")
            self.config_init.fit.ckpt_path, own = str(latest), True
        path = self.config_init.fit.ckpt_path
        if path is not None and path not in WORDS:
            self._check_checkpoint(Path(path), own)

    def _check_checkpoint(self, path: Path, own: bool) -> None:
        """Refuses a checkpoint that the training cannot go on from.

        Args:
            path: the file.
            own: whether it is one of the run itself, which may have ended without its result.

        Raises:
            ValueError: parts are missing, nothing is left to train, or the data of a run of its own have changed.
        """
        checkpoint = read_checkpoint(path)
        check_parts(checkpoint, str(path))
        if own:
            self.folder.check_data(checkpoint.get(RUN) or {}, path, "not finished")
        elif limit := reached(self.trainer, checkpoint):
            raise ValueError(f"{path} has been trained to {limit} already: give a larger one to train on")

    def after_fit(self) -> None:
        """Says what was asked for and not done."""
        warn_of_missed_names(self.trainer)

    def before_predict(self) -> None:
        """Keeps predictions out of memory: they are in the file."""
        self.config_init.predict.return_predictions = False

    def after_predict(self) -> None:
        """Refuses a prediction of nothing."""
        self._check_batches(self.trainer.num_predict_batches)

    def after_validate(self) -> None:
        """Refuses an evaluation of nothing."""
        self._check_evaluation(self.trainer.num_val_batches)

    def after_test(self) -> None:
        """Refuses an evaluation of nothing."""
        self._check_evaluation(self.trainer.num_test_batches)

    def _check_batches(self, batches: list[int | float]) -> None:
        """Raises ValueError if there was no batch."""
        if not sum(batches):
            raise ValueError(
                f"{self.subcommand} had no batch: no sample is in its split, see data.held_out, or none left"
            )

    def _check_evaluation(self, batches: list[int | float]) -> None:
        """Raises ValueError if there was no batch, or, in the process that has the scores, none of them."""
        self._check_batches(batches)
        if self.trainer.is_global_zero and not scores(self.trainer) and not self.trainer.fast_dev_run:  # type: ignore[attr-defined]
            named = [type(each).__name__ for each in self._own_callbacks]
            why = (
                f"{', '.join(named)} reported none" if named else "no protocol is named, by the checkpoint or otherwise"
            )
            raise ValueError(
                f"{self.subcommand} found no score: {why}; --config configs/eval/features.yaml or "
                "--trainer.callbacks OnlineProbe evaluates features"
            )


def parameters_of(module: LightningModule) -> str:
    """The number of parameters of each part of a module, and of those which are not trained by gradients."""
    parts = []
    for name, part in module.named_children():
        counts = [sum(p.numel() for p in part.parameters() if p.requires_grad == trained) for trained in (True, False)]
        parts += [f"{name} {count:,}{'' if i == 0 else ' not trained'}" for i, count in enumerate(counts) if count]
    return ", ".join(parts)


def look_for_a_gpu_once() -> None:
    """Spares Adam's steps a look for NVIDIA's driver, each of them one, where there is no GPU.

    Lightning sets the variable that has torch look anew whenever it asks whether there is one.
    """
    if not torch.cuda.is_available():
        os.environ.pop("PYTORCH_NVML_BASED_CUDA_CHECK", None)


def reached(trainer: Trainer, checkpoint: dict[str, Any]) -> str | None:
    """The limit of a trainer that a checkpoint's training has reached, with its key; None if there is more to train."""
    progress = checkpoint["loops"]["fit_loop"].get("epoch_progress", {})
    epochs, steps = progress.get("current", {}).get("processed", 0), checkpoint.get("global_step", 0)
    if trainer.max_epochs is not None and 0 <= trainer.max_epochs <= epochs:
        return f"trainer.max_epochs {trainer.max_epochs}"
    return f"trainer.max_steps {trainer.max_steps}" if 0 <= trainer.max_steps <= steps else None


def restarted() -> bool:
    """Whether a cluster has restarted this job, which then goes on where it stopped, whatever its command says."""
    return os.environ.get("SLURM_RESTART_COUNT", "0") != "0"
