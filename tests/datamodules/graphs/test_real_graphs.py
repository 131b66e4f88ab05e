"""Batches and augmentations on real graphs, rows and images."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch_geometric.data import Batch, Data
from torch_geometric.datasets import TUDataset as PyGTUDataset
from torch_geometric.nn import global_add_pool

from datamodules.augmentations import (
    ColorJitter,
    Compose,
    FeatureCorruption,
    HorizontalFlip,
    Identity,
    NodeDrop,
    Normalize,
    RandAugment,
    RandomErasing,
    RandomResizedCrop,
    Subgraph,
)
from datamodules.graphs.packed import PackedGraphs
from datamodules.graphs.tu import TUDataset
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
    ours, theirs = PackedGraphs.from_data_list(graphs)[index], Batch.from_data_list([graphs[i] for i in index])
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


@pytest.mark.parametrize(
    ("name", "classes", "features", "nodes", "edges"),
    [  # graphs of each class, and nodes and undirected edges a graph, as the collection's site lists them
        ("MUTAG", [63, 125], 7, 17.93, 19.79),
        ("PROTEINS", [663, 450], 3, 39.06, 72.82),
        ("NCI1", [2053, 2057], 37, 29.87, 32.30),
        ("IMDB-BINARY", [500, 500], 1, 19.77, 96.53),
        ("DD", [691, 487], 89, 284.32, 715.66),
        ("REDDIT-BINARY", [1000, 1000], 1, 429.63, 497.75),
    ],
)
def test_tu_sets_are_the_published_ones(data_root, name, classes, features, nodes, edges):
    data = TUDataset(name, [Identity(), Identity()], root=f"{data_root}/graphs")
    assert (data.in_features, data.num_classes) == (features, 2)
    rows, target = data.samples.inputs, data.samples.target
    assert target.bincount().tolist() == classes
    assert rows.x.shape[1] == features
    assert torch.equal(rows.x.sum(1), torch.ones(len(rows.x)))  # a label each, or the constant
    assert len(rows.x) / len(rows) == pytest.approx(nodes, abs=0.006)
    assert rows.edge_index.shape[1] / 2 / len(rows) == pytest.approx(edges, abs=0.006)
    source, sink = rows.edge_index
    assert not (source == sink).any()
    forth, back = source * len(rows.x) + sink, sink * len(rows.x) + source
    assert (back.diff() > 0).all()  # in order, none twice
    assert torch.equal(forth.sort().values, back)


def test_collab_fits_into_4_gib(data_root):
    """The peak is that of a process of its own, with everything that it imports."""
    program = """
import resource, sys
from datamodules import TUDataset
from datamodules.augmentations import Identity
data = TUDataset("COLLAB", [Identity(), Identity()], root=sys.argv[1])
rows, target = data.samples.inputs, data.samples.target
print(len(rows), data.in_features, *target.bincount().tolist(), len(rows.x), rows.edge_index.shape[1])
print(int((rows.edge_index[0] == rows.edge_index[1]).sum()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    root = str(Path(data_root).absolute() / "graphs")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, root], check=True, capture_output=True, text=True
    )
    graphs, features, *classes, nodes, edges, loops, kibibytes = map(int, run.stdout.split())
    assert (graphs, features, classes, loops) == (5000, 1, [2600, 775, 1625], 0)
    assert nodes / graphs == pytest.approx(74.49, abs=0.006)
    # the site counts the set's 2,837 self-loops among its 2,457.78 edges a graph
    assert (edges / 2 + 2837) / graphs == pytest.approx(2457.78, abs=0.006)
    assert kibibytes < 4 * 2**20


@pytest.mark.parametrize("name", ["MUTAG", "PROTEINS"])
def test_tu_sets_are_those_of_pyg(data_root, name, tmp_path):
    raw = tmp_path / name / "raw"
    raw.mkdir(parents=True)
    with zipfile.ZipFile(Path(data_root) / "graphs" / f"{name}.zip") as archive:
        for member in archive.namelist():
            if member.endswith(".txt"):
                (raw / Path(member).name).write_bytes(archive.read(member))
    theirs = PyGTUDataset(str(tmp_path), name)
    packed, unpacked = (
        TUDataset(name, [Identity(), Identity()], root=str(root)).samples for root in (f"{data_root}/graphs", tmp_path)
    )
    assert torch.equal(packed.target, theirs.y)
    assert torch.equal(packed.inputs.x, theirs.x)
    for i, graph in enumerate(packed.inputs[torch.arange(len(theirs))].to_data_list()):
        assert torch.equal(graph.x, theirs[i].x)
        assert sorted(graph.edge_index.T.tolist()) == theirs[i].edge_index.T.tolist()
    for part in ("x", "edge_index", "node_ptr", "edge_ptr"):
        assert torch.equal(getattr(packed.inputs, part), getattr(unpacked.inputs, part))


def test_node_attributes_of_proteins(data_root):
    data = TUDataset("PROTEINS", [Identity(), Identity()], root=f"{data_root}/graphs", node_attributes=True)
    assert (data.in_features, data.num_classes) == (4, 2)
    labels, numbers = data.samples.inputs.x.split([3, 1], dim=1)
    assert torch.equal(labels.sum(1), torch.ones(len(labels)))
    assert numbers.std() > 1


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
