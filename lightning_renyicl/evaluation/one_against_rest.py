"""Linear evaluation on samples of several classes at once."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from lightning.pytorch import LightningModule, Trainer
from torch import Tensor

from lightning_renyicl.evaluation.average_precision import mean_average_precision
from lightning_renyicl.evaluation.features import features_of
from lightning_renyicl.evaluation.labels import OMIT_CALLBACK
from lightning_renyicl.evaluation.logistic_regression_path import PENALTIES
from lightning_renyicl.evaluation.protocol import LabeledFeatures
from lightning_renyicl.evaluation.softmax_regression import SoftmaxRegression, check_fits, warn_of_fits
from lightning_renyicl.evaluation.tested import Tested


class OneAgainstRest(Tested):
    """A logistic regression for each class against all others, on frozen features, in ``lightning test``.

    It is for data whose samples are of several classes, such as VOC2007 (labels ``[M, C]``: 1, 0, or −1 for what counts
    neither in fits nor in scores). As in :class:`LogisticRegressionPath` 45 penalties are tried, each fit going on from
    the one before; the penalty with the highest mean average precision on the validation samples, the largest of
    equals, the same for all classes, is then used to fit to training and validation samples. Logs
    ``one_against_rest/map11``, the mean over the classes of the test samples' 11-point average precision.

    Args:
        tolerance: entry of the mean loss's gradient, relative to the features' deviation, at which a fit ends.
        iterations: largest number of iterations of a fit.

    Raises:
        ValueError: a tolerance that is not above 0 or fewer than one iteration; in ``test``, data with one label a
            sample or none, or features that are not finite.
    """

    only_in_test: ClassVar[bool] = True
    """Whether a training is the same with and without this callback."""
    name = "one_against_rest"

    def __init__(self, tolerance: float = 1e-6, iterations: int = 5000) -> None:
        super().__init__()
        check_fits(tolerance, iterations)
        self.tolerance = tolerance
        self.iterations = iterations

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        found = [features_of(trainer, data.feature_dataloader(split), pl_module) for split in ("train", "val")]
        found.append(self.taken(trainer.test_dataloaders))
        if any(target.ndim != 2 for _, target in found):
            raise ValueError(f"OneAgainstRest needs several labels a sample, in every split: {OMIT_CALLBACK}")
        if not all(features.isfinite().all() for features, _ in found):
            raise ValueError("OneAgainstRest needs finite features: the encoder has diverged")
        if trainer.is_global_zero:
            with torch.inference_mode(False), torch.enable_grad():
                train, val, test = (LabeledFeatures(*part).on(pl_module.device) for part in found)
                score = mean_average_precision(self.scores(train, val, test.features), test.target)
            pl_module.log(f"{self.name}/map11", score.float(), rank_zero_only=True)

    def scores(self, train: LabeledFeatures, val: LabeledFeatures, test: Tensor) -> Tensor:
        """Log odds of every class for other features, ``[M, C]``, by the penalty that is best on validation samples."""
        tried = self.along(PENALTIES.tolist(), train, val.features)
        precisions = [mean_average_precision(scores, val.target).nan_to_num().item() for scores in tried]
        penalty = PENALTIES[precisions.index(max(precisions))].item()
        return self.along([penalty], train + val, test)[0]

    def along(self, penalties: list[float], samples: LabeledFeatures, features: Tensor) -> Tensor:
        """Log odds of every class for other features by classifiers fitted with each penalty, ``[P, M, C]``.

        They are 0 of a class that no sample, or every one, is of.
        """
        columns: list[Tensor] = []
        converged: list[bool] = []
        for target in samples.target.unbind(1):
            known = target >= 0
            if len(target[known].unique()) < 2:  # no sample of one side
                columns.append(features.new_zeros(len(penalties), len(features)))
                continue
            fitted = SoftmaxRegression(samples.features[known], target[known], self.tolerance, self.iterations)
            column = []
            for penalty in penalties:
                converged.append(fitted.fit(penalty))
                logits = fitted.logits(features)  # odds order what has one probability in single precision
                column.append(logits[:, 1] - logits[:, 0])
            columns.append(torch.stack(column))
        warn_of_fits(self.name, converged, self.tolerance, self.iterations)
        return torch.stack(columns, dim=2)
