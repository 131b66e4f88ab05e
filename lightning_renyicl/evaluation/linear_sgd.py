"""Linear evaluation by stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor

from lightning_renyicl.evaluation.protocol import FeatureProtocol, LabeledFeatures


class LinearSGD(FeatureProtocol):
    """A linear classifier on standardised features, trained by SGD on the cross-entropy.

    Not the linear evaluation of the paper's ImageNet and CIFAR experiments, which sees crops and flips, doesn't
    standardise and lowers its rate by a cosine: that is the module ``LinearEvaluation``. Here features are computed
    once.

    For every learning rate a classifier is trained on the training samples; the rate of the best on the validation
    samples, the smallest of equals, is then used to train one on both; one rate alone needs no validation samples.
    Features are standardised with the mean and deviation of the samples trained on, so that a rate means the same for
    every encoder. SGD has momentum 0.9, and the rate falls to a fifth after 80, 90 and 95 % of the epochs (i-Mix, Lee
    et al., 2021). The classifiers of all rates see the same batches, side by side in one product. A warning is given
    where the rate chosen is the first or last of several: a rate beyond may be better.

    Args:
        learning_rates: learning rates to choose from; the RényiCL paper's are 1, 3 and 5 for CovType, 0.3 for CIFAR.
        epochs: epochs of each training of a classifier.
        batch_size: samples of a step; of few training samples a tenth, so that an epoch has ten steps at least.
        weight_decay: weight decay of SGD.

    Raises:
        ValueError: no rate, or one that is not above 0; epochs or a batch size below 1.
    """

    name = "linear_sgd"

    def __init__(
        self,
        learning_rates: Sequence[float] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        epochs: int = 100,
        batch_size: int = 512,
        weight_decay: float = 0.0,
    ) -> None:
        if not learning_rates or min(learning_rates) <= 0:
            raise ValueError(f"learning_rates must be above 0, got {list(learning_rates)}")
        if min(epochs, batch_size) < 1:
            raise ValueError(f"epochs and batch_size must be at least 1, got {epochs} and {batch_size}")
        self.learning_rates = sorted(learning_rates)
        self.needs_val = len(self.learning_rates) > 1
        self.epochs = epochs
        self.batch_size = batch_size
        self.weight_decay = weight_decay

    def __call__(
        self, train: LabeledFeatures, val: LabeledFeatures, test: Tensor, num_classes: int, seed: int
    ) -> Tensor:
        rates = self.learning_rates
        if len(rates) > 1:
            scores = self._fit(train, val.features, rates, num_classes, seed)
            correct = [(score.argmax(1) == val.target).sum().item() for score in scores]
            rates = [rates[correct.index(max(correct))]]
            self._check_edge(rates[0], correct)
        return self._fit(train + val, test, rates, num_classes, seed)[0]

    def _check_edge(self, chosen: float, correct: list[int | float]) -> None:
        """Warns where the one best rate, by the number of samples that each had right, is the first or last."""
        if chosen not in (self.learning_rates[0], self.learning_rates[-1]) or correct.count(max(correct)) > 1:
            return
        place, way = ("smallest", "smaller") if chosen == self.learning_rates[0] else ("largest", "larger")
        rank_zero_warn(
            f"{self.name} chose the {place} of its learning rates, {chosen:g}, on the validation split: "
            f"a {way} one may be better, so give learning_rates a wider grid"
        )

    def _fit(
        self, train: LabeledFeatures, test: Tensor, rates: list[float], num_classes: int, seed: int
    ) -> list[Tensor]:
        """What classifiers fitted with each rate give for other features, ``[M, C]`` each."""
        std, mean = torch.std_mean(train.features, dim=0, correction=0)
        std = torch.where(std > 0, std, 1.0)
        x = (train.features - mean) / std
        batch_size = min(self.batch_size, max(1, len(x) // 10))
        generator = torch.Generator().manual_seed(seed)
        weights = [torch.zeros(num_classes, x.shape[1] + 1, device=x.device, requires_grad=True) for _ in rates]
        groups = [{"params": [weight], "lr": rate} for weight, rate in zip(weights, rates, strict=True)]
        optimizer = torch.optim.SGD(groups, lr=rates[0], momentum=0.9, weight_decay=self.weight_decay)
        drops = [max(1, int(self.epochs * progress)) for progress in (0.8, 0.9, 0.95)]
        scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, drops, gamma=0.2)

        def logits(of: Tensor) -> Tensor:
            rows = torch.cat(weights)  # [R * C, F + 1]
            return F.linear(of, rows[:, :-1], rows[:, -1]).unflatten(1, (len(rates), num_classes))  # [N, R, C]

        for _ in range(self.epochs):
            for batch in torch.randperm(len(x), generator=generator).to(x.device).split(batch_size):
                scores = logits(x[batch]).flatten(0, 1)
                target = train.target[batch].repeat_interleave(len(rates))
                loss = len(rates) * F.cross_entropy(scores, target)  # of each rate the mean over the batch
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            scheduler.step()
        with torch.no_grad():
            return list(logits((test - mean) / std).unbind(1))
