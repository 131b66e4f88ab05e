"""Numbers of features without labels, beside a run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch
from lightning.pytorch import Callback

from datamodules import FakeTable
from lightning_renyicl.evaluation import Diagnostics
from lightning_renyicl.evaluation.spread import alignment, deviation, ranks, uniformity


class Unlabelled(FakeTable):
    """No validation sample has a label."""

    def load(self):
        samples = super().load()
        samples.target[samples.splits["val"]] = -1
        return samples


class Last(Callback):
    """The views of the last training batch."""

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        self.views = [view.clone() for view in batch[0]]


def by_hand(x):
    return {"uniformity": uniformity(x), "feature_std": deviation(x), **ranks(x)}


def check(metrics, expected):
    found = {
        name.removeprefix("diagnostics/"): float(value) for name, value in metrics.items() if "diagnostics" in name
    }
    assert found == {name: pytest.approx(value.item(), rel=1e-4) for name, value in expected.items()}


@pytest.mark.parametrize("data_class", [FakeTable, Unlabelled])
def test_of_whole_splits(make, quiet_trainer, data_class):
    module, data = make(data_class)
    trainer = quiet_trainer(callbacks=[Diagnostics(), last := Last()], num_sanity_val_steps=1)
    trainer.fit(module, datamodule=data)
    backbone = module.backbone.eval()
    with torch.no_grad():
        x, y = (backbone(view) for view in last.views)
        val, test = (backbone(data.samples.inputs[data.samples.splits[split]]) for split in ("val", "test"))
    check(trainer.callback_metrics, {"alignment": alignment(x, y), **by_hand(val)})
    assert trainer.callback_metrics["diagnostics/alignment"] > 0
    (metrics,) = trainer.test(module, datamodule=data, verbose=False)
    check(metrics, by_hand(test))


def test_of_some_samples(make, quiet_trainer):
    """They are drawn by the seed, and are those of a smaller number too."""
    found = []
    for seed in (0, 0, 1):
        module, data = make(seed=seed)
        trainer = quiet_trainer(callbacks=[Diagnostics(10)])
        (metrics,) = trainer.test(module, datamodule=data, verbose=False)
        order = torch.randperm(32, generator=torch.Generator().manual_seed(seed))[:10]
        with torch.no_grad():
            rows = module.eval()(data.samples.inputs[data.samples.splits["test"]])[order]
        check(metrics, by_hand(rows))
        found.append(metrics)
    assert found[0] == found[1] != found[2]


def test_single_views(make, quiet_trainer):
    """As in supervised training: there is nothing to align."""
    module, data = make()
    callback = Diagnostics()
    trainer = quiet_trainer(callbacks=[callback])
    trainer.fit(module, datamodule=data)
    callback.on_train_batch_end(trainer, module, {}, ([torch.zeros(2, 16)], None), 0)
    trainer.callback_metrics.clear()
    trainer.validate(module, datamodule=data, verbose=False)
    assert "diagnostics/uniformity" in trainer.callback_metrics
    assert "diagnostics/alignment" not in trainer.callback_metrics


def test_what_cannot_be_measured(make, quiet_trainer):
    with pytest.raises(ValueError, match="samples must be at least 2, got 1"):
        Diagnostics(1)
    module, data = make()
    with torch.no_grad():
        next(module.backbone.parameters()).fill_(torch.nan)
    with pytest.raises(ValueError, match="Diagnostics needs finite features: the encoder has diverged"):
        quiet_trainer(callbacks=[Diagnostics()]).test(module, datamodule=data, verbose=False)


PROGRAM = """
import json, sys
from functools import partial
import torch
from lightning.pytorch import Trainer, seed_everything
from datamodules import FakeTable
from datamodules.augmentations import Identity
from lightning_renyicl.encoders import MLP
from lightning_renyicl.evaluation import (
    KNN, Diagnostics, FewShot, FrozenFeatures, LogisticRegressionPath, OnlineProtocols
)
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules import TabularModule
from lightning_renyicl.objectives import RMLCPC

seed_everything(0, verbose=False)
data = FakeTable([Identity(), Identity()], batch_size=20, num_samples=202, in_features=16)
module = TabularModule(
    partial(MLP, widths=[32, 32], maxout_sets=2), in_features=16, projector=partial(MLPHead, widths=[16, 8]),
    objective=RMLCPC(), optimizer=partial(torch.optim.SGD, lr=0.1),
)
trainer = Trainer(
    callbacks=[
        FrozenFeatures([LogisticRegressionPath()]), OnlineProtocols([KNN()], 50), Diagnostics(70), FewShot(ways=4)
    ],
    accelerator="cpu", devices=int(sys.argv[1]), strategy="ddp" if sys.argv[1] == "2" else "auto", logger=False,
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)
results = [
    *trainer.validate(module, datamodule=data, verbose=False), *trainer.test(module, datamodule=data, verbose=False)
]
if trainer.is_global_zero:
    print("RESULT", json.dumps(results))
"""


@pytest.mark.slow
def test_101_samples_on_two_processes_are_those_on_one(tmp_path):
    """With the other protocols that look at a pass."""
    (tmp_path / "program.py").write_text(PROGRAM)
    found = []
    for processes in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "program.py", processes], cwd=tmp_path, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, done.stderr
        (line,) = (line for line in done.stdout.splitlines() if line.startswith("RESULT"))
        found.append(json.loads(line.removeprefix("RESULT")))
    assert len(found[0][0]) == 6
    assert len(found[0][1]) == 12
    for one, two in zip(*found, strict=True):
        assert two == {name: pytest.approx(value, rel=1e-5) for name, value in one.items()}
