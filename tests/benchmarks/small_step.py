"""Small steps, of which the Trainer's own work is a large part: rows of a table, with and without categories."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from datamodules import Table
from datamodules.augmentations import FeatureCorruption, Identity
from lightning_renyicl.cli.command import look_for_a_gpu_once
from lightning_renyicl.encoders import MLP
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules import TabularModule
from lightning_renyicl.objectives import CPC
from tests.benchmarks.step import epoch_against_floor

STEPS = 125
CATEGORIES = (9, 16, 7, 15, 6, 5, 2, 42)
"""Those of UCI's adult."""


def file_of(path: Path, numbers: int, classes: int, categories: tuple[int, ...]) -> Path:
    """A CSV file of made-up rows, with a tenth more than an epoch's for each of validation and test."""
    random = np.random.default_rng(0)
    rows = 128 * STEPS * 5 // 4
    columns = {f"n{i}": random.normal(size=rows) for i in range(numbers)}
    columns |= {f"c{i}": random.integers(count, size=rows).astype(str) for i, count in enumerate(categories)}
    frame = pd.DataFrame(columns | {"target": random.integers(classes, size=rows)})
    frame.to_csv(path, index=False)
    return path


def build(path: Path) -> tuple[TabularModule, Table]:
    """Four layers of 256 units, as SCARF has them, and InfoNCE, on batches of 128 rows."""
    categorical = [name for name in pd.read_csv(path, nrows=0) if name.startswith("c")]
    data = Table(
        [Identity(), FeatureCorruption(0.6)], str(path), "target", batch_size=128, categorical=categorical, held_out=0.2
    )
    data.setup()
    data.samples  # noqa: B018  # reads the columns, whose numbers the module needs
    module = TabularModule(
        lambda columns: MLP(columns, [256] * 4, maxout_sets=1),
        in_features=data.in_features,
        cardinalities=data.cardinalities,
        projector=partial(MLPHead, widths=[256, 256]),
        objective=CPC(alpha=None, temperature=1.0),
        optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9),
    )
    return module, data


def run() -> dict[str, dict[str, Any]]:
    """A step on rows as those of PMLB's letter, and on rows as those of UCI's adult."""
    look_for_a_gpu_once()  # as the command does
    results = {}
    with tempfile.TemporaryDirectory() as name:
        letter = file_of(Path(name) / "letter.csv", 16, 26, ())
        adult = file_of(Path(name) / "adult.csv", 6, 2, CATEGORIES)
        for key, path in (("table/small_step_vs_bare", letter), ("table/small_step_vs_bare_categories", adult)):
            results[key] = epoch_against_floor(partial(build, path), "32-true", n=7)
    return results
