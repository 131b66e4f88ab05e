"""Evaluation of frozen features: one protocol a file, and the probe that trains beside a run."""

from lightning_renyicl.evaluation.baselines import Baselines
from lightning_renyicl.evaluation.diagnostics import Diagnostics
from lightning_renyicl.evaluation.few_labels import FewLabels
from lightning_renyicl.evaluation.few_shot import FewShot
from lightning_renyicl.evaluation.frozen_features import FrozenFeatures
from lightning_renyicl.evaluation.gradient_boosting import GradientBoosting
from lightning_renyicl.evaluation.knn import KNN
from lightning_renyicl.evaluation.linear_sgd import LinearSGD
from lightning_renyicl.evaluation.logistic_regression import LogisticRegression
from lightning_renyicl.evaluation.logistic_regression_path import LogisticRegressionPath
from lightning_renyicl.evaluation.one_against_rest import OneAgainstRest
from lightning_renyicl.evaluation.online_probe import OnlineProbe
from lightning_renyicl.evaluation.online_protocols import OnlineProtocols
from lightning_renyicl.evaluation.protocol import FeatureProtocol, LabeledFeatures
from lightning_renyicl.evaluation.pseudo_inverse import PseudoInverse
from lightning_renyicl.evaluation.raw_columns import RawColumns
from lightning_renyicl.evaluation.rbf_svm import RBFSVM

__all__ = [
    "KNN",
    "RBFSVM",
    "Baselines",
    "Diagnostics",
    "FeatureProtocol",
    "FewLabels",
    "FewShot",
    "FrozenFeatures",
    "GradientBoosting",
    "LabeledFeatures",
    "LinearSGD",
    "LogisticRegression",
    "LogisticRegressionPath",
    "OneAgainstRest",
    "OnlineProbe",
    "OnlineProtocols",
    "PseudoInverse",
    "RawColumns",
]
