"""Evaluation with few labels."""

from __future__ import annotations

from torch import Tensor

from datamodules.drawing import aside, check_few, few
from lightning_renyicl.evaluation.protocol import FeatureProtocol, LabeledFeatures


class FewLabels(FeatureProtocol):
    """Another protocol that sees only some labels of the training split, and none of the validation split.

    They are drawn by the seed, and are those that a training of the same seed sees whose data has the same ``labels``.
    A protocol that needs validation samples chooses on a fifth of the labels drawn, every class in proportion: on one
    label of a class that has fewer than ten, and on none of a class that has only one.

    Its name says how many: ``logistic_regression_10_a_class``, ``logistic_regression_1_percent``.

    Args:
        protocol: the protocol.
        labels: a whole number: so many labels of each class, all of a class that has fewer; a fraction in (0, 1]: this
            share of all, the classes in proportion and one of each at least (1.0: all of the training split).

    Raises:
        ValueError: a whole number below 1, or a fraction outside (0, 1].
    """

    def __init__(self, protocol: FeatureProtocol, labels: int | float) -> None:
        check_few(labels)
        self.protocol = protocol
        self.labels = labels
        amount = f"{labels}_a_class" if isinstance(labels, int) else f"{100 * labels:.10g}_percent"
        self.name = f"{protocol.name}_{amount}"

    def __call__(
        self, train: LabeledFeatures, val: LabeledFeatures, test: Tensor, num_classes: int, seed: int
    ) -> Tensor:
        target = train.target.cpu()
        own = few(target, self.labels, seed)
        chosen_on = aside(target[own], seed) if self.protocol.needs_val else own.new_zeros(len(own)).bool()
        parts = (own[part].to(train.target.device) for part in (~chosen_on, chosen_on))
        fitted, choices = (LabeledFeatures(train.features[part], train.target[part]) for part in parts)
        return self.protocol(fitted, choices, test, num_classes, seed)
