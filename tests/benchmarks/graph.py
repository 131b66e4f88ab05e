"""An epoch on TU data sets against its networks alone, and against PyG's utilities graph by graph."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Trainer, seed_everything
from lightning.pytorch.loggers.logger import DummyLogger
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.utils import subgraph

from datamodules import TUDataset
from datamodules.augmentations import GraphCL, Identity
from lightning_renyicl.cli.command import look_for_a_gpu_once
from lightning_renyicl.encoders import GIN
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules import GraphModule
from lightning_renyicl.objectives import RMLCPC
from tests.benchmarks.timing import compare

SETS = ("NCI1", "PROTEINS", "DD")
SMALL = "MUTAG"
BATCH = 128
EPOCHS = 20  # timed at once, as the configurations train them
PER_GRAPH_EPOCHS = 2


def setting(name: str, root: Path) -> tuple[GraphModule, TUDataset]:
    """What ``configs/NAME.yaml`` trains, but for its log of every step."""
    seed_everything(0, verbose=False)
    data = TUDataset(name, [Identity(), GraphCL("random2")], BATCH, str(root))
    module = GraphModule(
        GIN,
        in_features=data.in_features,
        projector=partial(MLPHead, widths=[96, 96], norm=False),
        objective=RMLCPC(gamma=2.0, temperature=0.2, symmetric=False),
        optimizer=partial(torch.optim.Adam, lr=0.01),
    )
    return module, data


class PerGraph(torch.utils.data.Dataset):
    """Both views of one graph at a time, as PyG's ``DataLoader`` collates them."""

    def __init__(self, graphs: list[Data]) -> None:
        self.graphs = graphs

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, index: int) -> tuple[Data, Data]:
        graph = self.graphs[index]
        kept = self.drop(graph) if torch.rand(()) < 0.5 else self.grow(graph)
        edge_index, _ = subgraph(kept, graph.edge_index, relabel_nodes=True, num_nodes=graph.num_nodes)
        return graph, Data(x=graph.x[kept], edge_index=edge_index)

    @staticmethod
    def drop(graph: Data) -> torch.Tensor:
        """All but a tenth of the nodes."""
        return torch.randperm(graph.num_nodes)[graph.num_nodes // 10 :].sort().values

    @staticmethod
    def grow(graph: Data) -> torch.Tensor:
        """A fifth of the nodes, grown by one uniform neighbour at a time."""
        source, sink = graph.edge_index
        kept = {int(torch.randint(graph.num_nodes, ()))}
        border = set(sink[source == next(iter(kept))].tolist()) - kept
        while border and len(kept) <= graph.num_nodes // 5:
            new = sorted(border)[int(torch.randint(len(border), ()))]
            kept.add(new)
            border = (border | set(sink[source == new].tolist())) - kept
        return torch.tensor(sorted(kept))


def epochs(name: str, root: Path) -> dict[str, dict[str, Any]]:
    """An epoch through the Trainer, the same networks on augmented batches, and PyG's loader in front of them."""
    module, data = setting(name, root)
    trainer = Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=DummyLogger(),  # without any, every metric of every step warns that there is none
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        limit_val_batches=0,
    )
    trainer.fit(module, datamodule=data)  # warms up, and leaves the optimizer with its state
    data.trainer = None
    ready: list[list[Batch]] = [data.train_batch(index)[0] for index in data.train_dataloader()]
    graphs = data.samples.inputs[torch.arange(len(data.samples.inputs))].to_data_list()
    loader = DataLoader(PerGraph(graphs), BATCH, shuffle=True)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)

    def step(views: list[Batch]) -> None:
        online = [module.projector(module.backbone(view)) for view in views]
        loss, _ = module.objective(online, online)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def bare() -> None:
        for _ in range(EPOCHS):
            for views in ready:
                step(views)

    def per_graph() -> None:
        for _ in range(PER_GRAPH_EPOCHS):
            for views in loader:
                step(views)

    def whole(epochs: int) -> None:
        trainer.fit_loop.max_epochs = trainer.current_epoch + epochs
        trainer.fit(module, datamodule=data)

    return {
        f"graph/epoch_vs_floor_{name}": compare(partial(whole, EPOCHS), bare, n=3),
        f"graph/epoch_vs_per_graph_{name}": compare(per_graph, partial(whole, PER_GRAPH_EPOCHS), n=3),
    }


def small_epoch(root: Path) -> dict[str, dict[str, Any]]:
    """The same of one small set, whose epoch is a step or two."""
    found = epochs(SMALL, root)
    return {"graph/small_epoch_vs_bare": found[f"graph/epoch_vs_floor_{SMALL}"]}


def run(root: Path) -> dict[str, dict[str, Any]]:
    """Every set, from the archives in ``root/graphs``."""
    look_for_a_gpu_once()  # as the command does
    results: dict[str, dict[str, Any]] = {}
    for name in SETS:
        results |= epochs(name, root / "graphs")
    return results | small_epoch(root / "graphs")
