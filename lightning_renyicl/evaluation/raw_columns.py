"""What can be read off the rows of a table without an encoder."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import LightningModule, Trainer

from lightning_renyicl.evaluation.features import features_of
from lightning_renyicl.evaluation.frozen_features import FrozenFeatures
from lightning_renyicl.evaluation.protocol import LabeledFeatures


class RawColumns(FrozenFeatures):
    """Runs protocols on the columns themselves, categories one-hot, to compare an encoder with.

    As :class:`FrozenFeatures`; scores are called ``raw/NAME/top1`` and ``raw/NAME/macro_top1``. Of images and graphs
    protocols get what the data module gives as their raw input.

    Args:
        protocols: classifiers to run, each under a name of its own.
    """

    prefix = "raw/"

    def on_test_batch_end(self, *_: Any) -> None:
        """Keeps nothing of the encoder."""

    def samples(self, trainer: Trainer, pl_module: LightningModule, split: str) -> LabeledFeatures:
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        return LabeledFeatures(*features_of(trainer, data.feature_dataloader(split), data.raw_input))
