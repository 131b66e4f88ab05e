"""What the server imports before it forks commands.

An import that fails is left to the command itself, which reports it in its own log.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

for name in (
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
):
    with suppress(Exception):
        import_module(name)
with suppress(Exception):
    import_module("lightning_renyicl.callbacks.result_json").commit()  # of the code that has just been imported
