"""Batches and augmentations on real graphs, rows and images."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch_geometric.data import Batch, Data
from torch_geometric.nn import global_add_pool

from datamodules.augmentations import (
    ColorJitter,
    Compose,
    FeatureCorruption,
    HorizontalFlip,
    NodeDrop,
    Normalize,
    RandAugment,
    RandomErasing,
    RandomResizedCrop,
    Subgraph,
)
from datamodules.ragged import RaggedGraphs
from datamodules.seeding import generator_at

pytestmark = pytest.mark.data


def tu_graphs(root: str, name: str) -> list[Data]:
    """The graphs of a TU archive with one-hot node labels."""
    with zipfile.ZipFile(Path(root) / "graphs" / f"{name}.zip") as archive:
        member = {Path(entry).name: entry for entry in archive.namelist()}

        def read(suffix: str) -> torch.Tensor:
            text = archive.read(member[f"{name}_{suffix}.txt"]).decode()
            return torch.from_numpy(np.loadtxt(io.StringIO(text), delimiter=",", dtype=np.int64))

        graph, edges, labels = read("graph_indicator") - 1, read("A").T - 1, read("node_labels")
    x = torch.nn.functional.one_hot(labels - labels.min()).float()
    first = torch.searchsorted(graph, torch.arange(int(graph.max()) + 2))
    owner = graph[edges[0]]
    return [
        Data(x=x[first[i] : first[i + 1]], edge_index=edges[:, owner == i] - first[i]) for i in range(len(first) - 1)
    ]


@pytest.mark.parametrize(("name", "count", "width"), [("MUTAG", 188, 7), ("PROTEINS", 1113, 3)])
def test_graphs_are_batched_as_pyg_does(data_root, name, count, width):
    graphs = tu_graphs(data_root, name)
    assert (len(graphs), graphs[0].x.shape[1]) == (count, width)
    index = torch.randperm(count, generator=generator_at(0))[:64]
    ours, theirs = RaggedGraphs.from_data_list(graphs)[index], Batch.from_data_list([graphs[i] for i in index])
    for key in ("x", "edge_index", "batch", "ptr"):
        assert torch.equal(getattr(ours, key), getattr(theirs, key))


@pytest.mark.parametrize("name", ["MUTAG", "PROTEINS"])
def test_graphs_keep_what_their_augmentations_say(data_root, name):
    batch = Batch.from_data_list(tu_graphs(data_root, name)[:256])
    sizes = batch.ptr.diff()

    def nodes(graphs: Batch) -> torch.Tensor:
        return global_add_pool(torch.ones(graphs.num_nodes, 1), graphs.batch, size=graphs.num_graphs).squeeze(1).long()

    assert torch.equal(nodes(NodeDrop(0.1)(batch, generator_at(0))), sizes - sizes // 10)
    kept = nodes(Subgraph(0.2)(batch, generator_at(0)))
    assert (kept >= 1).all()
    assert (kept <= sizes // 5 + 1).all()
    # a component smaller than the target ends a subgraph early, which few of these graphs have
    assert (kept == sizes // 5 + 1).float().mean() > 0.8


def test_rows_are_corrupted_with_their_columns_own_values(data_root):
    rows = torch.from_numpy(pd.read_csv(Path(data_root) / "tables" / "covtype.data.gz", header=None).to_numpy()).float()
    train, batch = rows[:15120, :-1], rows[15120:, :-1]
    corruption = FeatureCorruption(1.0)
    corruption.fit(train)
    corrupted = corruption(batch, generator_at(0))
    for column in range(train.shape[1]):
        assert torch.isin(corrupted[:, column], train[:, column]).all()
    torch.testing.assert_close(corrupted.mean(0), train.mean(0), rtol=0.2, atol=0.02)


def test_images_survive_the_hard_chain(data_root):
    table = pd.read_parquet(Path(data_root) / "images" / "cifar10_jpeg" / "test-00000-of-00001.parquet")
    pictures = [np.asarray(Image.open(io.BytesIO(image["bytes"])).convert("RGB")) for image in table["img"][:128]]
    batch = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).float() / 255
    hard = Compose(
        [
            RandomResizedCrop(32),
            HorizontalFlip(),
            ColorJitter(0.4, 0.4, 0.4, 0.1, probability=0.8),
            RandAugment(3, 5),
            Normalize((0.49, 0.48, 0.45), (0.25, 0.24, 0.26)),
            RandomErasing(),
        ]
    )
    view = hard(batch, generator_at(0))
    assert view.shape == batch.shape
    assert view.isfinite().all()
    assert view.std() > 0.5
