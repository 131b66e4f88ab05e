"""What a replay leaves behind: every number of a run that its code decides."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint
from torch import Tensor

from lightning_renyicl.atomic import write_text


class ReplayRecorder(Callback):
    """Writes all values that a tiny run logs, its scores, and sums of |weights|; evaluates on a few samples only.

    The file holds, by name, a list of numbers in the order of time: what every training step logs, and the learning
    rate after it, ``fit/NAME`` and ``test/NAME`` for what validation and test report, ``weights/PART`` for the sum of
    absolute values in each part of the module, ``state/CALLBACK`` for the tensors of a callback's state, and
    ``fingerprint/NAME`` for what a callback gives as its ``fingerprint``, where its scores alone would hide a change.

    Args:
        path: the JSON file that is written at the end of ``fit`` or ``test``.
        samples: number of samples, evenly spaced, that validation, test and protocols see of a split.
    """

    def __init__(self, path: str, samples: int = 256) -> None:
        self.path = Path(path)
        self.samples = samples
        self.values: dict[str, list[float]] = {}

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if stage == "fit":
            self._keep_few(trainer, ("val",))

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # not in setup, as a checkpoint's part for the data comes after it
        self._keep_few(trainer, ("train", "val", "test"))

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: Any) -> None:
        self._add({name: value for name, value in trainer.logged_metrics.items() if name.startswith("train/")})
        self._add({"learning_rate": trainer.optimizers[0].param_groups[0]["lr"]})

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.sanity_checking:
            self._add({f"fit/{name}": value for name, value in trainer.callback_metrics.items()})

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._add(sums(pl_module.state_dict(), "weights"))
        self._finish(trainer)

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._add({f"test/{name}": value for name, value in trainer.callback_metrics.items()})
        self._finish(trainer)

    def _keep_few(self, trainer: Trainer, splits: tuple[str, ...]) -> None:
        if not hasattr(trainer.datamodule, "samples"):  # type: ignore[attr-defined]
            return
        parts = trainer.datamodule.samples.splits  # type: ignore[attr-defined]
        for split in splits:
            rows = parts[split]
            parts[split] = rows[:: max(1, -(-len(rows) // self.samples))]

    def _add(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            self.values.setdefault(name, []).append(float(value))

    def _finish(self, trainer: Trainer) -> None:
        for callback in trainer.callbacks:  # type: ignore[attr-defined]
            if callback is not self and not isinstance(callback, Checkpoint):
                self._add(sums({type(callback).__name__: callback.state_dict()}, "state"))
                self._add({f"fingerprint/{k}": v for k, v in getattr(callback, "fingerprint", {}).items()})
        write_text(self.path, json.dumps(self.values))


def sums(state: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """The sum of absolute values, in float64, of all floating-point tensors under the first part of a state's names."""
    found: dict[str, float] = {}
    for name, value in state.items():
        part = f"{prefix}/{name.partition('.')[0]}"
        for tensor in tensors_in(value):
            found[part] = found.get(part, 0.0) + tensor.detach().double().abs().sum().item()
    return found


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The floating-point tensors of nested dictionaries and lists."""
    if isinstance(value, Tensor):
        if value.is_floating_point():
            yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from tensors_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from tensors_in(each)
