"""The one file that a finished run leaves its scores in."""

from __future__ import annotations

import json
import math
import platform
import subprocess
import time
from collections import ChainMap
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.utilities import rank_zero_info, rank_zero_warn

from lightning_renyicl import provenance
from lightning_renyicl.atomic import write_text
from lightning_renyicl.configuration import read_yaml
from lightning_renyicl.time_limit import out_of_time

_PACKAGES = (
    "lightning-renyicl",
    "torch",
    "torchvision",
    "lightning",
    "torch-geometric",
    "timm",
    "scikit-learn",
    "torchmetrics",
)
_NOT_SCORES = ("train/", "lr-")


class ResultJson(Callback):
    """Writes ``result.json`` into the run folder when ``fit``, ``validate`` or ``test`` has ended.

    Keys: ``metrics`` (scores as shares, ``"online_probe/top1": 0.941``), ``epoch`` (epochs trained when ``fit`` took
    them, with a warning if more followed), ``config`` (the run's ``config.yaml``), ``seed``, ``versions``, ``device``,
    ``seconds``, ``commit``, ``data`` (name, samples in each split, digests of its files). The file is written once and
    atomically: it exists exactly if the run is finished, which a run cut off by ``max_time`` is not, nor an evaluation
    that found no score. ``fit`` adds what callbacks before this one have as their ``final_scores`` by then.
    """

    def __init__(self) -> None:
        self._start = 0.0
        self._fitting = False
        self._seconds_before = 0.0
        self._scores: dict[str, float | None] = {}
        self._epoch: int | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        self._start = time.monotonic()
        self._fitting = stage == "fit"
        commit()  # now, since files may be edited while a run goes on with what it has imported

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.sanity_checking:
            return
        self._scores, self._epoch = scores(trainer), trainer.current_epoch + 1
        if trainer.state.fn == "validate" and self._scores:
            self._write(trainer, self._scores, None)

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if out_of_time(trainer):
            return
        if self._scores and self._epoch is not None and self._epoch < trainer.current_epoch:
            rank_zero_warn(
                f"the scores are of epoch {self._epoch} of {trainer.current_epoch}: choose {interval_of(trainer)}"
            )
        nothing_set_aside = bool(trainer.num_val_batches) and not sum(trainer.num_val_batches)
        scoring = any(getattr(callback, "scores_in_validation", False) for callback in trainer.callbacks)  # type: ignore[attr-defined]
        if self._epoch is None and scoring and trainer.enable_validation and not nothing_set_aside:
            rank_zero_warn(
                f"no validation ran in {trainer.current_epoch} epochs, so there are no scores: choose "
                f"{interval_of(trainer)}"
            )
        # a run continued after its last epoch takes none again: those that its checkpoint brought stand
        found = [getattr(callback, "final_scores", {}) for callback in trainer.callbacks]  # type: ignore[attr-defined]
        self._write(trainer, dict(sorted(ChainMap(self._scores, *found).items())), self._epoch)
        rank_zero_info(f"{trainer.default_root_dir}: {in_words(self._scores)}, {self._seconds():.0f} s")

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if found := scores(trainer):
            self._write(trainer, found, None)

    def state_dict(self) -> dict[str, Any]:
        return {"seconds": self._seconds(), "scores": self._scores, "epoch": self._epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if not self._fitting:  # an evaluation's seconds are its own, its scores too
            return
        self._seconds_before = state_dict["seconds"]
        self._scores, self._epoch = state_dict["scores"], state_dict["epoch"]

    def _seconds(self) -> float:
        """How long the command has taken, and those before it that it goes on from."""
        return self._seconds_before + time.monotonic() - self._start

    def _write(self, trainer: Trainer, metrics: dict[str, float | None], epoch: int | None) -> None:
        if not trainer.is_global_zero or trainer.fast_dev_run:  # type: ignore[attr-defined]
            return
        folder = Path(trainer.default_root_dir)
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "config.yaml"
        datamodule = trainer.datamodule  # type: ignore[attr-defined]
        result = {
            "metrics": metrics,
            "epoch": epoch,
            "config": read_yaml(config) if config.exists() else None,
            "seed": torch.initial_seed(),
            "versions": versions(),
            "device": device_name(trainer.strategy.root_device),
            "seconds": round(self._seconds(), 1),
            "commit": commit(),
            "data": described(datamodule),
        }
        write_text(folder / "result.json", json.dumps(result, indent=2) + "\n")


def interval_of(trainer: Trainer) -> str:
    """What says how often a training validates, so that it does at its end."""
    if trainer.check_val_every_n_epoch is None:
        return "a trainer.val_check_interval that divides the number of steps"
    return "a trainer.check_val_every_n_epoch that divides trainer.max_epochs"


def scores(trainer: Trainer) -> dict[str, float | None]:
    """What protocols logged; None for a score that is not finite, since JSON has no NaN."""
    return {
        name: float(value) if math.isfinite(value) else None
        for name, value in sorted(trainer.callback_metrics.items())
        if not name.startswith(_NOT_SCORES)
    }


def in_words(found: dict[str, float | None]) -> str:
    """Scores in a line."""
    each = (f"{name} {'not finite' if value is None else f'{value:.4f}'}" for name, value in found.items())
    return ", ".join(each) or "no scores"


def described(datamodule: Any) -> dict[str, Any]:
    """What a data module says of its data, with digests of its files; only its class if it says nothing."""
    description: dict[str, Any] = {"name": type(datamodule).__name__}
    if hasattr(datamodule, "describe"):
        description |= datamodule.describe()
        description["files"] = provenance.fingerprints(datamodule.files)
    return description


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on; every checkpoint has them, too."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def device_name(device: torch.device) -> str:
    """The accelerator's name, or the processor's architecture and number of threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} ({platform.machine()}, {torch.get_num_threads()} threads)"


@cache
def commit() -> str | None:
    """The commit of the checkout that this package is imported from, as it first asks; None outside a checkout.

    "-dirty" is appended if code differs from it: what runs write doesn't count.
    """
    root = Path(__file__).parents[2]
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
        code = ["git", "diff", "--quiet", "HEAD", "--", "lightning_renyicl", "datamodules"]
        dirty = subprocess.run(code, cwd=root, capture_output=True).returncode != 0
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("-dirty" if dirty else "")
