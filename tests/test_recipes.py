"""The recipes of CONTRIBUTING, each followed to the letter in a copy of the project: nothing else has to be touched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COPIED = ("lightning_renyicl", "datamodules", "configs", "tests/objectives", "tests/conftest.py", "setup.cfg")
FUNCTION = '''

def balanced_cpc(p: Tensor, n: Tensor, alpha: float = 0.5, group: Group = None) -> Tensor:
    """CPC with a skew of one half."""
    return cpc(p, n, alpha, group)
'''
OBJECTIVE = '''

class BalancedCPC(CosineCritic):
    """CPC with a skew of one half.

    Args:
        alpha: skew in [0, 1].
        critic: arguments of :class:`CosineCritic`.
    """

    normalises_per_anchor = True

    def __init__(self, alpha: float = 0.5, **critic: Any) -> None:
        super().__init__(**critic)
        functional.check_alpha(alpha)
        self.alpha = alpha

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return functional.balanced_cpc(p, n, self.alpha, group)
'''
ROW = """
    Row("balanced_cpc", _cpc, ({"alpha": 0.5},), {"alpha": 0.5}, BalancedCPC, 1, True, optimum=_of_ratio),
)
BOUNDS = """
DATA = '''"""Points on circles."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from datamodules.augmentations.base import Augmentation
from datamodules.base import InMemoryDataModule, Samples


class Circles(InMemoryDataModule):
    """Points on two circles.

    Args:
        views: one augmentation of rows a view.
        batch_size: samples in a batch over all processes.
    """

    def __init__(self, views: Sequence[Augmentation], batch_size: int = 16) -> None:
        super().__init__(views, batch_size, num_classes=2, in_features=2)

    def load(self) -> Samples:
        angle = torch.linspace(0, 60, 120)
        target = torch.arange(120) % 2
        rows = torch.stack((angle.cos(), angle.sin()), dim=1) * (1 + target)[:, None]
        parts = torch.arange(120).split([60, 30, 30])
        return Samples(rows, target, dict(zip(("train", "val", "test"), parts, strict=True)))
'''
AUGMENTATION = '''"""Noise on rows."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from datamodules.augmentations.base import Augmentation


class GaussianNoise(Augmentation):
    """Adds noise to every cell.

    Args:
        std: standard deviation of the noise.
    """

    def __init__(self, std: float = 0.1) -> None:
        super().__init__()
        self.std = std

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        return batch + self.std * torch.randn(batch.shape, generator=generator, device=batch.device)
'''
PROTOCOL = '''"""Classification by the nearest mean."""

from __future__ import annotations

import torch
from torch import Tensor

from lightning_renyicl.evaluation.protocol import FeatureProtocol, LabeledFeatures


class NearestMean(FeatureProtocol):
    """The class whose mean is nearest. Nothing is chosen."""

    name = "nearest_mean"

    def __call__(
        self, train: LabeledFeatures, val: LabeledFeatures, test: Tensor, num_classes: int, seed: int
    ) -> Tensor:
        means = [train.features[train.target == label].mean(0) for label in range(num_classes)]
        return -torch.cdist(test, torch.stack(means))
'''
FORMAT = '''"""A table as lines of text."""

from __future__ import annotations

from lightning_renyicl.tables.scores import Table
from lightning_renyicl.tables.writing.printed import rows


def plain(table: Table) -> str:
    """A line a row."""
    return "".join(f"{row.label} {row.source} {' '.join(cell.text for cell in row.cells)}\\n" for row in rows(table))
'''
CONFIG = """\
# lightning fit --config configs/circles.yaml
seed_everything: 0
trainer:
  max_epochs: 2
  accelerator: cpu
  num_sanity_val_steps: 0
  callbacks: [{class_path: FrozenFeatures, init_args: {protocols: [{class_path: NearestMean}]}}]
model:
  class_path: TabularModule
  init_args:
    backbone: {class_path: MLP, init_args: {widths: [8, 8], maxout_sets: 2}}
    projector: {class_path: MLPHead, init_args: {widths: [8, 4]}}
    objective: {class_path: CPC, init_args: {alpha: 0.1, temperature: 0.3}}
    optimizer: {class_path: torch.optim.SGD, init_args: {lr: 0.1}}
data:
  class_path: Circles
  init_args: {views: [{class_path: GaussianNoise, init_args: {std: 0.2}}, {class_path: Identity}]}
"""
OVERLAY = """\
# --config configs/objectives/balanced_cpc.yaml
model: {init_args: {objective: {class_path: BalancedCPC, init_args: {alpha: 0.5}}}}
"""
TABLE = """\
title: Circles
metric: nearest_mean/top1
rows: {BalancedCPC: {overlays: [objectives/balanced_cpc]}}
columns: {Circles: {config: circles, scales: {smoke: []}}}
"""
# by recipe: file, what it begins with or a text that it has once, and what is put behind that or the file as a whole
STEPS = {
    "An objective": [
        ("lightning_renyicl/objectives/functional.py", None, FUNCTION),
        ("lightning_renyicl/objectives/functional.py", '__all__ = ["NonFiniteBoundError", ', '"balanced_cpc", '),
        ("lightning_renyicl/objectives/bounds.py", None, OBJECTIVE),
        ("lightning_renyicl/objectives/__init__.py", "objectives.bounds import ", "BalancedCPC, "),
        ("lightning_renyicl/objectives/__init__.py", "__all__ = [", '"BalancedCPC", '),
        ("configs/objectives/balanced_cpc.yaml", "", OVERLAY),
        ("tests/objectives/conftest.py", "objectives import ", "BalancedCPC, "),
        ("tests/objectives/conftest.py", "\n)\nBOUNDS = ", ROW),
    ],
    "A data set": [
        ("datamodules/tables/circles.py", "", DATA),
        ("datamodules/__init__.py", None, "\nfrom datamodules.tables.circles import Circles\n"),
        ("configs/circles.yaml", "", CONFIG),
    ],
    "An augmentation": [
        ("datamodules/tables/augmentations/noise.py", "", AUGMENTATION),
        ("datamodules/tables/augmentations/__init__.py", None, "from .noise import GaussianNoise\n"),
        ("datamodules/augmentations/__init__.py", "tables.augmentations import ", "GaussianNoise, "),
    ],
    "A protocol": [
        ("lightning_renyicl/evaluation/nearest_mean.py", "", PROTOCOL),
        ("lightning_renyicl/evaluation/__init__.py", None, "from .nearest_mean import NearestMean\n"),
    ],
    "A table": [("configs/tables/circles.yaml", "", TABLE)],
    "A table format": [
        ("lightning_renyicl/tables/writing/plain.py", "", FORMAT),
        ("lightning_renyicl/tables/writing/files.py", "writing.markdown import markdown", "\nfrom .plain import plain"),
        ("lightning_renyicl/tables/writing/files.py", "FORMATS = {", '".txt": plain, '),
    ],
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the project in which every recipe was followed."""
    folder = tmp_path_factory.mktemp("recipes")
    for path in COPIED:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / path).is_dir() else shutil.copy
        copy(ROOT / path, target)
    for path, place, text in (step for steps in STEPS.values() for step in steps):
        file = folder / path
        if place == "":
            assert not file.exists()
            file.write_text(text)
            continue
        before = file.read_text()
        if place is None:
            file.write_text(before + text)
        elif place.startswith("\n)"):
            assert before.count(place) == 1
            file.write_text(before.replace(place, text))
        else:
            assert before.count(place) == 1, f"{path}: {place}"
            file.write_text(before.replace(place, place + text))
    return folder


def run(folder, *arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("recipe", STEPS)
def test_a_recipe_names_what_is_touched(recipe):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {recipe}\n(.*?)(?=^## )", text, re.DOTALL | re.MULTILINE)[1]
    for path, place, _ in STEPS[recipe]:
        named = Path(path).parent.name if place == "" else Path(path).name  # a new file by its folder
        assert named in section, f"{recipe} does not name {path}"


@pytest.mark.slow
def test_all_together_make_a_table(copy):
    """Objective, data, augmentation, protocol and format, by their bare names."""
    run(copy, "-m", "lightning_renyicl.tables", "circles", "--scale=smoke")
    words = (copy / "results/circles-smoke.txt").read_text()
    assert re.fullmatch(r"BalancedCPC ours \d+\.\d \(1\)\n", words)
    assert (copy / "results/circles-smoke.md").exists()


@pytest.mark.slow
def test_the_row_of_an_objective_brings_its_tests(copy):
    equations = ("tests/objectives/test_equations.py", "tests/objectives/test_arguments.py")
    found = run(copy, "-m", "pytest", "-q", *equations, "-k", "balanced_cpc", "-p", "no:cacheprovider")
    assert int(re.search(r"(\d+) passed", found)[1]) > 10
