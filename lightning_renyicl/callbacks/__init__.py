"""Callbacks: one evaluation protocol a file, and what a run leaves behind."""

from lightning_renyicl.callbacks.embedding_writer import EmbeddingWriter
from lightning_renyicl.callbacks.frozen_features import FrozenFeatures
from lightning_renyicl.callbacks.gradient_boosting import GradientBoosting
from lightning_renyicl.callbacks.information_error import InformationError
from lightning_renyicl.callbacks.information_estimate import InformationEstimate
from lightning_renyicl.callbacks.knn import KNN
from lightning_renyicl.callbacks.last_checkpoint import AtomicCheckpointIO, LastCheckpoint
from lightning_renyicl.callbacks.linear_sgd import LinearSGD
from lightning_renyicl.callbacks.online_probe import OnlineProbe
from lightning_renyicl.callbacks.pseudo_inverse import PseudoInverse
from lightning_renyicl.callbacks.raw_columns import RawColumns
from lightning_renyicl.callbacks.rbf_svm import RBFSVM
from lightning_renyicl.callbacks.replay_recorder import ReplayRecorder
from lightning_renyicl.callbacks.result_json import ResultJson
from lightning_renyicl.callbacks.step_timer import StepTimer

__all__ = [
    "KNN",
    "RBFSVM",
    "AtomicCheckpointIO",
    "EmbeddingWriter",
    "FrozenFeatures",
    "GradientBoosting",
    "InformationError",
    "InformationEstimate",
    "LastCheckpoint",
    "LinearSGD",
    "OnlineProbe",
    "PseudoInverse",
    "RawColumns",
    "ReplayRecorder",
    "ResultJson",
    "StepTimer",
]
