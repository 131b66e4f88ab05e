"""What a run records (result, checkpoint, embeddings, estimates, the cost of a step), how it stops, and JOAO."""

from lightning_renyicl.callbacks.embedding_writer import EmbeddingWriter
from lightning_renyicl.callbacks.information_error import InformationError
from lightning_renyicl.callbacks.information_estimate import InformationEstimate
from lightning_renyicl.callbacks.joao import JOAO
from lightning_renyicl.callbacks.last_checkpoint import AtomicCheckpointIO, LastCheckpoint
from lightning_renyicl.callbacks.replay_recorder import ReplayRecorder
from lightning_renyicl.callbacks.result_json import ResultJson
from lightning_renyicl.callbacks.step_timer import StepTimer
from lightning_renyicl.callbacks.termination import EndAtOnce, Termination

__all__ = [
    "JOAO",
    "AtomicCheckpointIO",
    "EmbeddingWriter",
    "EndAtOnce",
    "InformationError",
    "InformationEstimate",
    "LastCheckpoint",
    "ReplayRecorder",
    "ResultJson",
    "StepTimer",
    "Termination",
]
