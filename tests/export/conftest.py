"""Checkpoints of the command without a training: random weights, and what the data learnt."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import datamodules  # noqa: F401  # bare names in YAML
import lightning_renyicl.callbacks
import lightning_renyicl.evaluation  # noqa: F401
from lightning_renyicl.import_weights.checkpoint import checkpoint_of, made_of

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """The checkpoint of a configuration, with random weights and BatchNorm statistics, its module and its data."""

    def _saved(config, *flags):
        module, data, resolved = made_of([CONFIGS / f"{config}.yaml"], flags)
        generator = torch.Generator().manual_seed(1)
        for norm in module.backbone.modules():
            if isinstance(norm, torch.nn.BatchNorm2d | torch.nn.BatchNorm1d):
                norm.running_mean.normal_(0, 0.1, generator=generator)
                norm.running_var.uniform_(0.5, 1.5, generator=generator)
        weights = {name: tensor.clone() for name, tensor in module.backbone.state_dict().items()}
        checkpoint, _ = checkpoint_of(module, data, resolved, weights, Path("random"))
        if data.SAMPLES == "rows":
            data.setup("fit")
            assert data.samples
            checkpoint[type(data).__name__] = data.state_dict()
        path = tmp_path_factory.mktemp("saved") / "last.ckpt"
        torch.save(checkpoint, path)
        return path, module.eval(), data

    return _saved


SMALL = ("--model.projector.widths=[16,8]",)


@pytest.fixture(scope="session")
def images(saved):
    """A ResNet-10 with the stem for small images."""
    return saved("digits_image_base", *SMALL)


@pytest.fixture(scope="session")
def rows(saved):
    """An MLP on standardised rows."""
    return saved("digits_table_base", *SMALL, "--model.backbone.widths=[16,16]")


@pytest.fixture(scope="session")
def graphs(saved):
    """A GIN."""
    return saved("digits_graph_base", *SMALL)
