"""What a training is worth: its encoder's scores beside those of doing nothing."""

from __future__ import annotations

import copy
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.trainer.states import RunningStage
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torchmetrics.functional.classification import multiclass_confusion_matrix

from datamodules.drawing import drawn, places
from lightning_renyicl.accuracy import accuracies
from lightning_renyicl.distributed import all_reduce_sum, world_group, world_size
from lightning_renyicl.evaluation.features import batches_of, features_of
from lightning_renyicl.evaluation.logistic_regression import LogisticRegression
from lightning_renyicl.evaluation.protocol import FeatureProtocol, LabeledFeatures
from lightning_renyicl.evaluation.verdict import verdict
from lightning_renyicl.time_limit import out_of_time

FOLDS = 5
STATISTICS = 1024
"""Samples that BatchNorm's statistics are of."""


class Baselines(Callback):
    """Scores of the trained encoder, the untrained one and the raw input, by one protocol on the same samples.

    At the end of ``fit`` on validation samples, in ``test`` on test samples: at most as many as the arguments say,
    drawn from the labelled ones with the classes in proportion. Choices are made on a fifth of the training samples.
    Where the split evaluated is the training split itself, a fifth of the training samples at a time is classified by
    the others. Logs ``baseline/NAME/top1`` and ``baseline/NAME/macro_top1``, NAME being ``trained``, ``untrained``
    or ``raw``, in ``test``; in ``fit``, where nothing is logged any more, ``result.json`` has them. Prints them, and a
    line of advice where the trained encoder is not ahead of both by more than a standard error of the difference.

    Untrained is the module's ``backbone`` as it is when a ``fit`` or a ``test`` of a checkpoint begins, before weights
    are loaded: the weights that training starts from, where the seed is its. BatchNorm's statistics are the means of
    those of batches, of at most 1,024 of the training samples drawn. The raw input is what the data module says it is.
    Nothing is scored where the training samples drawn don't have three of each of two classes, where there are fewer
    than two samples a process, and of features that are not finite.

    The run is left alone: its weights, BatchNorm's statistics, random state and loggers are those of a run without.

    Attributes:
        final_scores: scores by name after ``fit``, for :class:`ResultJson`, which comes after this callback.

    Args:
        training: largest number of training samples.
        evaluated: largest number of samples that are classified.
        protocol: what classifies; None: :class:`LogisticRegression`.

    Raises:
        ValueError: fewer than two samples of either.
    """

    def __init__(self, training: int = 5000, evaluated: int = 2000, protocol: FeatureProtocol | None = None) -> None:
        if min(training, evaluated) < 2:
            raise ValueError(f"training and evaluated must be at least 2 samples, got {training} and {evaluated}")
        self.training = training
        self.evaluated = evaluated
        self.protocol = LogisticRegression() if protocol is None else protocol
        self.final_scores: dict[str, float] = {}
        self._untrained: nn.Module | None = None
        self._of_a_training = False
        self._lines: list[str] = []

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        self._of_a_training = self._of_a_training or stage == "fit"
        if self._untrained is None and stage in ("fit", "test"):
            backbone = getattr(pl_module, "backbone", None)
            self._untrained = None if backbone is None else copy.deepcopy(backbone).cpu()

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.fast_dev_run or out_of_time(trainer):  # type: ignore[attr-defined]
            return
        stage, trainer.state.stage = trainer.state.stage, RunningStage.VALIDATING  # samples are not augmented
        try:
            self.final_scores = self._scores(trainer, pl_module, "val")
        except (RuntimeError, ValueError, OSError) as error:  # of a training that has gone well
            self._lines = [f"no scores of baselines: {error}"]
        finally:
            trainer.state.stage = stage

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.fast_dev_run:  # type: ignore[attr-defined]
            return
        if not self._of_a_training and trainer.ckpt_path is None:
            self._untrained = None  # but a module trained elsewhere
        for name, value in self._scores(trainer, pl_module, "test").items():
            pl_module.log(name, value, rank_zero_only=True)  # the same on every process

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Prints below everything else."""
        for line in self._lines:
            rank_zero_info(line)
        self._lines = []

    def _scores(self, trainer: Trainer, pl_module: LightningModule, split: str) -> dict[str, float]:
        """Scores by name, the same on every process; none where there is nothing to be told apart."""
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        train, rest = self._draw(data.samples, split)
        classes = data.samples.target.cpu()[train].bincount()
        fewest = min(len(train), len(train if rest is None else rest))
        backbone = getattr(pl_module, "backbone", None)
        if backbone is None or (classes > 2).sum() < 2 or fewest < 2 * trainer.world_size:
            return {}
        features, target, evaluated = self._encode(trainer, backbone, train, rest)
        scores: dict[str, float] = {}
        if trainer.is_global_zero:
            device = trainer.strategy.root_device
            with torch.inference_mode(False), torch.enable_grad():
                predicted = {
                    name: self._predict(part, target, evaluated, device, data.num_classes)
                    for name, part in features.items()
                    if part.shape[1] and part.isfinite().all()
                }
            scores = scores_of(predicted, target[evaluated], data.num_classes)
            what = f"in {FOLDS} folds of {len(train):,} samples"
            if rest is not None:
                kind = {"val": "validation"}.get(split, split)
                what = f"fitted to {len(train):,} training samples, of {len(rest):,} {kind} samples"
            self._lines = verdict(f"{self.protocol.name} {what}", predicted, target[evaluated], data.WITHOUT_ENCODER)
        found: dict[str, float] = trainer.strategy.broadcast(scores)
        return found

    def _draw(self, samples: Any, split: str) -> tuple[Tensor, Tensor | None]:
        """Numbers of training samples, and of those that are evaluated; None if these are the same ones."""
        target, seed = samples.target.cpu(), torch.initial_seed()
        train, rest = (index[target[index] >= 0] for index in (samples.splits[part].cpu() for part in ("train", split)))
        own = train[drawn(target[train], self.training, seed)].sort().values
        if torch.equal(train, rest):
            return own, None
        return own, rest[drawn(target[rest], self.evaluated, seed)]

    def _encode(
        self, trainer: Trainer, backbone: nn.Module, train: Tensor, rest: Tensor | None
    ) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Features ``[M, F]`` by name and labels ``[M]`` of all samples drawn, and which are evaluated ``[M]``."""
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        modes = {module: module.training for module in backbone.modules()}
        place = next(backbone.parameters()).device  # the CPU at the end of fit
        encoders: dict[str, Any] = {"trained": backbone.to(trainer.strategy.root_device).eval()}
        if self._untrained is not None:
            # in every batch the classes are in proportion, also where the data is sorted by them
            few = train[drawn(data.samples.target.cpu()[train], STATISTICS, torch.initial_seed())]
            encoders["untrained"] = with_statistics(self._untrained, trainer, data.in_order(few))
        encoders["raw"] = data.raw_input
        widths: dict[str, int] = {}

        def side_by_side(x: Any) -> Tensor:
            found = {name: encode(x).float() for name, encode in encoders.items()}
            widths.update({name: features.shape[1] for name, features in found.items()})
            return torch.cat(list(found.values()), dim=1)

        index = train if rest is None else torch.cat((train, rest)).sort().values
        features, target = features_of(trainer, data.in_order(index), side_by_side)
        backbone.to(place)
        for module, training in modes.items():
            module.training = training
        parts = dict(zip(widths, features.split(list(widths.values()), dim=1), strict=True))
        return parts, target, torch.isin(index, train if rest is None else rest)

    def _predict(
        self, features: Tensor, target: Tensor, evaluated: Tensor, device: torch.device, num_classes: int
    ) -> Tensor:
        """The classes that the evaluated samples are given, ``[m]``.

        Args:
            features: features of all samples, ``[M, F]``.
            target: their labels, ``[M]``.
            evaluated: which of them are evaluated and not trained on, ``[M]``; all: they are in folds.
            device: where the protocol runs.
            num_classes: number of classes.
        """
        train = evaluated if evaluated.all() else ~evaluated
        fold = torch.full_like(target, -1)
        fold[train] = (places(target[train], torch.initial_seed()) + target[train]) % FOLDS
        parts = [(fold > 0, fold == 0, evaluated)]
        if evaluated.all():
            parts = [((fold - k) % FOLDS > 1, (fold - k) % FOLDS == 1, fold == k) for k in range(FOLDS)]
        given = torch.zeros_like(target)
        for fitted, chosen_on, tested in parts:
            samples = (LabeledFeatures(features[part], target[part]).on(device) for part in (fitted, chosen_on, tested))
            own, val, test = samples
            scores = self.protocol(own, val, test.features, num_classes, torch.initial_seed())
            given[tested] = scores.argmax(1).cpu()
        return given[evaluated]


@torch.no_grad()
def with_statistics(encoder: nn.Module, trainer: Trainer, loader: Any) -> nn.Module:
    """A copy of an encoder where the data is, with BatchNorm's statistics of the batches of a loader."""
    encoder = trainer.precision_plugin.convert_module(copy.deepcopy(encoder))
    encoder = encoder.to(trainer.strategy.root_device).eval()
    norms = [each for each in encoder.modules() if isinstance(each, _BatchNorm) and each.track_running_stats]
    if not norms:
        return encoder
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # statistics are means over the batches
        norm.train()  # and nothing else is, which might draw random numbers
    with trainer.precision_plugin.forward_context():
        for x, target in batches_of(trainer, loader):
            if len(target) > 1:
                encoder(x)
    group = world_group()
    for norm in norms:
        for statistic in (norm.running_mean, norm.running_var):
            assert statistic is not None
            all_reduce_sum(statistic, group).div_(world_size(group))
    return encoder.eval()


def scores_of(predicted: dict[str, Tensor], target: Tensor, num_classes: int) -> dict[str, float]:
    """``baseline/NAME/METRIC`` from the classes ``[m]`` that samples are given and their labels ``[m]``."""
    found = {}
    for name, given in predicted.items():
        for key, value in accuracies(multiclass_confusion_matrix(given, target, num_classes)).items():
            found[f"baseline/{name}/{key}"] = value.item()
    return found
