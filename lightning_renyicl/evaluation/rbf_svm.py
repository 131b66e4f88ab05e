"""GraphCL's evaluation: a support vector machine on frozen features."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from lightning_renyicl.evaluation.features import in_order
from lightning_renyicl.evaluation.labels import check_classes
from lightning_renyicl.evaluation.nested_svm import check, nested_svm


class RBFSVM(Callback):
    """Accuracy of an RBF support vector machine, nested cross-validation over the evaluated samples (You et al., 2020).

    Runs at the end of every pass over the validation split, during ``fit`` as often as
    ``trainer.check_val_every_n_epoch`` says and in ``validate``, and over the test split in ``test``. Labels are used
    within the pass alone; samples without one are left out. Outer folds are drawn from the run's seed; the cost is
    chosen in inner folds of their training part, see :func:`nested_svm`.

    Logs, as shares, ``svm/accuracy``, the mean over the outer folds' test parts; ``svm/validation``, the mean of the
    accuracies in inner folds that the costs were chosen by; and for every outer fold
    ``svm/foldK/accuracy`` and ``svm/foldK/validation``, which go into ``result.json`` but not to loggers. On several
    processes the features are gathered, and the result is that of one.

    What is chosen for fold K by ``svm/foldK/validation`` never sees its test samples. The mean ``svm/validation`` does:
    the inner folds of one outer fold have the test samples of the others.

    Args:
        folds: number of outer folds, each of which is tested once.
        inner_folds: number of inner folds, in which the cost is chosen.

    Raises:
        ValueError: fewer than two folds; in ``fit``, before training, data with fewer than two classes.
    """

    scores_in_validation: ClassVar[bool] = True
    """Whether a training has its scores exactly if a validation runs."""

    def __init__(self, folds: int = 10, inner_folds: int = 5) -> None:
        if min(folds, inner_folds) < 2:
            raise ValueError(f"folds and inner_folds must be at least 2, got {folds} and {inner_folds}")
        self.folds = folds
        self.inner_folds = inner_folds
        self._features: list[Tensor] = []
        self._targets: list[Tensor] = []

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if stage == "fit":
            check_classes("RBFSVM", trainer.datamodule.num_classes)  # type: ignore[attr-defined]

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._features, self._targets = [], []  # of a pass that was interrupted

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._features, self._targets = [], []

    def on_validation_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, *_: Any) -> None:
        self._collect(outputs)

    def on_test_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, *_: Any) -> None:
        self._collect(outputs)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._report(trainer, pl_module, trainer.val_dataloaders)

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._report(trainer, pl_module, trainer.test_dataloaders)

    def _collect(self, outputs: Any) -> None:
        self._features.append(outputs["features"].float().cpu())
        self._targets.append(outputs["target"].cpu())

    def _report(self, trainer: Trainer, pl_module: LightningModule, loader: Any) -> None:
        features, target = torch.cat(self._features), torch.cat(self._targets)
        self._features, self._targets = [], []
        if trainer.sanity_checking:
            return
        features, target = in_order(loader, features, target)
        known = target >= 0
        # on every process, since one that fails alone leaves the others waiting
        check(features[known], target[known], self.folds, self.inner_folds)
        if not trainer.is_global_zero:
            return
        folds = nested_svm(features[known], target[known], torch.initial_seed(), self.folds, self.inner_folds)
        for name in ("accuracy", "validation"):
            values = [getattr(fold, name) for fold in folds]
            mean = sum(values) / len(values)
            pl_module.log(f"svm/{name}", mean, prog_bar=name == "accuracy", rank_zero_only=True)
            for k, value in enumerate(values):
                pl_module.log(f"svm/fold{k}/{name}", value, logger=False, rank_zero_only=True)
