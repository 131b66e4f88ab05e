"""What the server imports before it forks commands.

An import that fails is left to the command itself, which reports it in its own log.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from importlib import import_module

NAMES = (
    "lightning_renyicl.cli",
    "tensorboard.summary.writer.event_file_writer",
    # what constructors import
    "pandas",
    "pyarrow.parquet",
    "sklearn.ensemble",
    "sklearn.svm",
    "timm.optim",
    "torch_geometric.data",
    "torchvision.transforms.v2",
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # of libraries about each other, amid the lines of a table
    for name in NAMES:
        with suppress(Exception):
            import_module(name)
with suppress(Exception):
    import_module("lightning_renyicl.callbacks.result_json").commit()  # of the code that has just been imported
