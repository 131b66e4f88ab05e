"""What can be seen of features without labels, beside a run."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from lightning_renyicl.distributed import all_reduce_sum, world_group, world_size
from lightning_renyicl.evaluation.features import gathered
from lightning_renyicl.evaluation.spread import alignment, deviation, ranks, uniformity
from lightning_renyicl.sample_order import sample_order


class Diagnostics(Callback):
    """Alignment, uniformity, deviation and ranks of the features, every validation epoch of ``fit`` and in ``test``.

    Logs ``diagnostics/uniformity`` (Wang and Isola, 2020), ``diagnostics/feature_std`` (near 1 where features are
    spread evenly about 0, near 0 where they have collapsed), ``diagnostics/effective_rank`` (Roy and Vetterli, 2007, of
    the covariance matrix) and ``diagnostics/rankme`` (Garrido et al., 2023), all of the representation of samples of
    the validation split, of the test split in ``test``, drawn by the seed and not augmented; and in ``fit``
    ``diagnostics/alignment`` (Wang and Isola, 2020), of the two global views of the last training batch, in evaluation
    mode. Labels are not looked at, and nothing is chosen. Ranks are at most the number of samples.

    On several processes they are those of the samples of all. The run is left alone.

    Args:
        samples: largest number of samples.

    Raises:
        ValueError: fewer than two samples, in the argument or in the split; features that are not finite.
    """

    scores_in_validation: ClassVar[bool] = True
    """Whether a training has its scores exactly if a validation runs."""

    def __init__(self, samples: int = 2048) -> None:
        if samples < 2:
            raise ValueError(f"samples must be at least 2, got {samples}")
        self.samples = samples
        self._features: list[Tensor] = []
        self._views: list[Any] = []

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._views = batch[0][:2]

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._features = []

    on_test_epoch_start = on_validation_epoch_start

    def on_validation_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, *_: Any) -> None:
        self._features.append(outputs["features"].float().cpu())

    def on_test_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, *_: Any) -> None:
        self._features.append(outputs["features"].float().cpu())

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.sanity_checking:
            return
        found = {}
        if len(self._views) == 2:
            with trainer.precision_plugin.forward_context():
                x, y = (pl_module(view).float() for view in self._views)
            group = world_group()
            found["alignment"] = all_reduce_sum(alignment(x, y), group) / world_size(group)
        self._views = []
        self._log(pl_module, found | self._spread(trainer.val_dataloaders, pl_module.device))

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._log(pl_module, self._spread(trainer.test_dataloaders, pl_module.device))

    def _spread(self, loader: Any, device: torch.device) -> dict[str, Tensor]:
        """What is logged of the samples drawn, the same on every process."""
        own = torch.cat([torch.empty(0), *self._features])
        self._features = []
        places = sample_order(loader)[: len(own)]
        index = loader.sampler.index
        order = torch.randperm(len(index), generator=torch.Generator().manual_seed(torch.initial_seed()))
        drawn = torch.isin(places, index[order[: self.samples]])
        (x,) = gathered(places[drawn], own[drawn])
        if len(x) < 2 or not x.isfinite().all():
            why = "finite features: the encoder has diverged" if len(x) > 1 else f"two samples, and got {len(x)}"
            raise ValueError(f"Diagnostics needs {why}")
        x = x.to(device)
        return {"uniformity": uniformity(x), "feature_std": deviation(x), **ranks(x)}

    @staticmethod
    def _log(pl_module: LightningModule, values: dict[str, Tensor]) -> None:
        pl_module.log_dict({f"diagnostics/{name}": value for name, value in values.items()}, rank_zero_only=True)
