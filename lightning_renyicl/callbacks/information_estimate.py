"""The mutual information of two views, read off an objective's critic while it trains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor
from torch.utils.hooks import RemovableHandle

from lightning_renyicl.distributed import world_group
from lightning_renyicl.mutual_information.metric import MeanLogRatio
from lightning_renyicl.objectives import CosineCritic


class InformationEstimate(Callback):
    """Mean log r of positive pairs, first view with second, in nats, in both ways to read it.

    For training in any domain with an objective that has a critic, such as ``RMLCPC``. RényiCL (Lee and Shin, 2022),
    section "Mutual Information between the views and InfoMin principle".

    Logs at the end of each epoch, before its validation, ``mutual_information/by_anchor`` (right for critics log r +
    c(x)), ``mutual_information/by_batch`` (right for log s + c; see :mod:`objectives.ratios`) and
    ``mutual_information/invalid``, the share of pairs for which the latter finds no ratio. The critics of JSD and RPC
    know r without a normaliser, ``mutual_information/by_critic`` instead of ``by_anchor``. They are of all pairs since
    the last time, one target view's; ``train/mutual_information`` is the former of a single step and both targets.
    Scores come from the networks as they train, whose weights change meanwhile, and are computed once more for it.

    Raises:
        ValueError: a module without a backbone, an objective without a critic or whose best critic is not known, or
            alpha 1.
    """

    scores_in_validation: ClassVar[bool] = True
    """Whether a training has its scores exactly if a validation runs."""

    def __init__(self) -> None:
        self._metrics: dict[str, MeanLogRatio] = {}
        self._hook: RemovableHandle | None = None

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        objective = getattr(pl_module, "objective", None)
        if not isinstance(objective, CosineCritic) or not hasattr(pl_module, "backbone"):
            raise ValueError(
                "InformationEstimate reads mutual information off the critic with which an objective such as RMLCPC "
                f"trains a backbone, and {type(pl_module).__name__} with {type(objective).__name__} has none"
            )
        objective.log_ratios(torch.zeros(1), torch.zeros(1, 1), None)  # refuses an objective whose critic tells nothing
        self._metrics = {}
        # before the objective is called, which may put the keys of this batch into a queue of negatives
        self._hook = objective.register_forward_pre_hook(self._look)

    @torch.no_grad()
    def _look(self, objective: CosineCritic, views: tuple[Sequence[Tensor], Sequence[Tensor]]) -> None:
        online, target = views
        p, n = objective.scores([online[0]], target[1])
        read = objective.log_ratios(p, n, world_group())
        if not self._metrics:
            self._metrics = {name: MeanLogRatio().to(p.device) for name in sorted(read)}
        diverged = p.isnan().any() | n.isnan().any()
        for name, ratios in read.items():
            self._metrics[name].update(ratios, diverged)

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._log(pl_module)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._log(pl_module)

    def _log(self, pl_module: LightningModule) -> None:
        if not self._metrics:
            return
        found = {name: metric.compute() for name, metric in self._metrics.items()}
        values: dict[str, Tensor] = {name: each["mutual_information"] for name, each in found.items()}
        values["invalid"] = found["by_batch"]["invalid"]
        pl_module.log_dict({f"mutual_information/{name}": value for name, value in values.items()})
        self._metrics = {}

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self.teardown(trainer, pl_module, "fit")

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
