"""What data sets of graphs share: epochs that leave no graph out, and how much of its graphs a view keeps."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from lightning.pytorch import Callback, Trainer, seed_everything
from torch_geometric.data import Data

from datamodules import FakeGraphs, Graphs
from datamodules.augmentations import (
    AttributeMask,
    Compose,
    EdgePerturbation,
    GraphCL,
    Identity,
    NodeDrop,
    RandomChoice,
    Subgraph,
)
from datamodules.graphs.base import EveryGraph
from lightning_renyicl.encoders import GIN
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules import GraphModule
from lightning_renyicl.objectives import RMLCPC

VIEWS = [Identity(), Identity()]


def samplers(count, batch_size, world_size, epoch=0, seed=0, reshuffle=True, first=0):
    """The sampler of each process, over rows that don't start at 0."""
    index = torch.arange(first, first + count)
    result = [EveryGraph(index, batch_size, seed, rank, world_size, reshuffle) for rank in range(world_size)]
    for sampler in result:
        sampler.set_epoch(epoch)
    return result


def batches(*arguments, **keywords):
    """The batches of each process as lists."""
    return [[batch.tolist() for batch in sampler] for sampler in samplers(*arguments, **keywords)]


class TestEveryGraph:
    @pytest.mark.parametrize("world_size", [1, 2, 3])
    @pytest.mark.parametrize("count", [6, 7, 11, 12, 13, 23, 24, 25, 26, 30, 100])
    @pytest.mark.parametrize("batch_size", [6, 12, 120])
    def test_shares_are_equal_apart_and_leave_out_only_what_cannot_be_shared(self, count, batch_size, world_size):
        shares = batches(count, batch_size, world_size, first=1000)
        sizes = [[len(batch) for batch in share] for share in shares]
        assert all(size == sizes[0] for size in sizes)
        assert [len(sampler) for sampler in samplers(count, batch_size, world_size)] == [len(sizes[0])] * world_size
        seen = [row for share in shares for batch in share for row in batch]
        assert len(set(seen)) == len(seen)
        assert set(seen) <= set(range(1000, 1000 + count))
        whole = min(batch_size, count // world_size * world_size)
        full, rest = divmod(count, whole)
        expected = [whole // world_size] * full + [rest // world_size] * (rest >= 2 * world_size)
        assert sizes[0] == expected
        assert count - len(seen) < 2 * world_size

    @pytest.mark.parametrize(("count", "sizes"), [(188, [128, 60]), (130, [128, 2]), (128, [128]), (20, [20])])
    def test_one_process_keeps_an_incomplete_batch(self, count, sizes):
        (share,) = batches(count, 128, 1)
        assert [len(batch) for batch in share] == sizes
        assert sorted(row for batch in share for row in batch) == list(range(count))

    def test_a_single_graph_that_is_left_is_left_out(self):
        assert [len(batch) for batch in batches(129, 128, 1)[0]] == [128]

    def test_who_is_left_out_changes_from_epoch_to_epoch(self):
        out = [set(range(9)) - {row for batch in batches(9, 4, 1, epoch)[0] for row in batch} for epoch in range(20)]
        assert all(len(rows) == 1 for rows in out)
        assert len(set.union(*out)) > 3

    def test_global_batches_do_not_depend_on_the_number_of_processes(self):
        (one,) = batches(24, 12, 1)
        for world_size in (2, 3):
            joined = [sum(parts, []) for parts in zip(*batches(24, 12, world_size), strict=True)]  # noqa: RUF017
            assert joined == one

    def test_order_changes_with_epoch_and_seed(self):
        orders = [batches(30, 8, 1, epoch, seed) for epoch, seed in ((0, 0), (1, 0), (0, 1), (0, 0))]
        assert orders[0] == orders[3]
        assert orders[0] != orders[1]
        assert orders[0] != orders[2]
        assert orders[0][0][0] != list(range(8))

    def test_without_reshuffling_every_epoch_has_the_same_batches(self):
        first, *others = (batches(30, 8, 2, epoch, reshuffle=False) for epoch in range(4))
        assert others == [first] * 3
        assert first == batches(30, 8, 2)
        assert first != batches(30, 8, 2, seed=1, reshuffle=False)

    def test_global_random_state_is_left_alone(self):
        before = torch.get_rng_state()
        batches(30, 8, 2)
        assert torch.equal(torch.get_rng_state(), before)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((1, 4, 1), "at least 2 graphs for each process, got 1"),
            ((0, 4, 1), "at least 2 graphs for each process, got 0"),
            ((5, 6, 3), "at least 2 graphs for each process, got 5"),
            ((9, 1, 1), "batch_size must be at least 2"),
            ((9, 0, 1), "batch_size must be at least 1, got 0"),
            ((9, -2, 1), "batch_size must be at least 1, got -2"),
            ((9, 5, 2), "batch_size 5 .* must divide by 2 processes"),
        ],
    )
    def test_errors(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            batches(*arguments)


def complete(nodes, **arguments):
    """A graph with all edges."""
    ends = torch.cartesian_prod(torch.arange(nodes), torch.arange(nodes))
    return Data(x=torch.ones(nodes, 2), edge_index=ends[ends[:, 0] != ends[:, 1]].T, y=0, **arguments)


def ring(nodes):
    nodes = torch.arange(nodes)
    ends = torch.stack((nodes, nodes.roll(1)))
    return Data(x=torch.ones(len(nodes), 2), edge_index=torch.cat((ends, ends.flip(0)), dim=1), y=1)


def kept(graphs, view, index=None):
    """What a second view says that it kept, nodes and edges."""
    data = Graphs([Identity(), view], dataset=graphs, held_out=0)
    views, _ = data.train_batch(torch.arange(len(graphs)) if index is None else torch.tensor(index))
    assert "kept_nodes" not in views[0]
    assert "kept_edges" not in views[0]
    return float(views[1].kept_nodes), float(views[1].kept_edges)


class TestKept:
    @pytest.mark.parametrize(
        ("view", "nodes", "edges"),
        [
            (NodeDrop(0.2), 8 / 10, 56 / 90),  # 10 nodes with 90 edges become 8 with 56
            (NodeDrop(0), 1, 1),
            (NodeDrop(1), 1 / 10, 0),
            (Subgraph(0.2), 3 / 10, 6 / 90),
            (AttributeMask(0.5), 1, 1),
            (EdgePerturbation(0.2), 1, 1),  # a complete graph has no pair to add
            (Compose([NodeDrop(0.2), AttributeMask(0.5), NodeDrop(0.25)]), 6 / 10, 30 / 90),
            (RandomChoice([NodeDrop(0.2)]), 8 / 10, 56 / 90),
            (GraphCL("dnodes", ratio=0.3), 7 / 10, 42 / 90),
        ],
    )
    def test_of_a_complete_graph(self, view, nodes, edges):
        assert kept([complete(10)], view) == pytest.approx((nodes, edges))

    def test_is_counted_over_the_batch(self):
        graphs = [complete(2), complete(5), complete(10), complete(20)]
        # of graphs 2 and 1: 10 + 5 nodes become 8 + 4, and 90 + 20 edges 56 + 12
        assert kept(graphs, NodeDrop(0.2), [2, 1]) == pytest.approx((12 / 15, 68 / 110))

    def test_added_edges_are_not_kept(self):
        # 2 and 4 of the 10 and 20 neighbours are replaced, each in both directions
        assert kept([ring(10), ring(20)], EdgePerturbation(0.2)) == pytest.approx((1, 48 / 60))
        assert kept([ring(10)], GraphCL("pedges", ratio=0.3)) == pytest.approx((1, 14 / 20))

    def test_agrees_with_a_count_of_edges(self):
        data = Graphs([EdgePerturbation(0.3), EdgePerturbation(0.5)], dataset=[ring(9), ring(14)], held_out=0)
        views, _ = data.train_batch(torch.arange(2))
        old = set(map(tuple, data.samples.inputs.edge_index.T.tolist()))
        for view in views:
            left = sum(tuple(edge) in old for edge in view.edge_index.T.tolist())
            assert float(view.kept_edges) == pytest.approx(left / len(old))
            assert left < len(old)

    def test_added_edges_are_not_kept_where_augmentations_are_chosen_from(self):
        assert kept([ring(10)], RandomChoice([EdgePerturbation(0.2)])) == pytest.approx((1, 16 / 20))

    def test_graphs_without_edges(self):
        nodes, edges = kept([Data(x=torch.ones(10, 2), y=0)], NodeDrop(0.5))
        assert nodes == 0.5
        assert 0 <= edges <= 1

    def test_views_can_be_taken_apart(self):
        data = Graphs([Identity(), EdgePerturbation(0.2)], dataset=[ring(10), ring(20)], held_out=0)
        (_, view), _ = data.train_batch(torch.tensor([1, 0]))
        assert [graph.num_nodes for graph in view.to_data_list()] == [20, 10]
        assert view[1].edge_index.shape == (2, 20)


class Record(Callback):
    """The sizes of training batches, and which graphs they had, told by their sizes."""

    def __init__(self):
        self.epochs = []

    def on_train_epoch_start(self, trainer, pl_module):
        self.epochs.append([])

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        self.epochs[-1].append(batch[0][0].ptr.diff().tolist())


def fit(data, tmp_path, epochs=1, **arguments):
    seed_everything(0, verbose=False)
    module = GraphModule(
        partial(GIN, width=4, layers=2),
        in_features=data.in_features,
        projector=partial(MLPHead, widths=[8, 4]),
        objective=RMLCPC(alpha=0.01, gamma=1.5, temperature=0.5),
        optimizer=partial(torch.optim.SGD, lr=0.1),
    )
    record = Record()
    trainer = Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        callbacks=[record],
        default_root_dir=tmp_path,
        log_every_n_steps=1,
        **dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False),
        **arguments,
    )
    trainer.fit(module, data)
    return trainer, record.epochs


class TestTraining:
    def test_logs_what_augmented_views_kept(self, tmp_path):
        data = Graphs([Identity(), NodeDrop(0.2)], 4, dataset=[complete(10) for _ in range(7)], held_out=0)
        logged = fit(data, tmp_path)[0].callback_metrics
        assert float(logged["train/view2/kept_nodes"]) == pytest.approx(8 / 10)
        assert float(logged["train/view2/kept_edges"]) == pytest.approx(56 / 90)
        assert not [name for name in logged if name.startswith("train/view1/")]

    def test_two_augmented_views(self, tmp_path):
        views = [NodeDrop(0.2), EdgePerturbation(0.2)]
        logged = fit(Graphs(views, 4, dataset=[ring(10) for _ in range(4)], held_out=0), tmp_path)[0].callback_metrics
        assert float(logged["train/view1/kept_nodes"]) == pytest.approx(0.8)
        assert float(logged["train/view2/kept_nodes"]) == 1
        assert float(logged["train/view2/kept_edges"]) == pytest.approx(0.8)

    def test_other_graphs_log_nothing_of_the_kind(self, tmp_path):
        data = FakeGraphs([Identity(), NodeDrop(0.2)], batch_size=8, num_samples=8)
        assert not [name for name in fit(data, tmp_path)[0].callback_metrics if "kept" in name]

    def test_every_epoch_has_every_graph_once(self, tmp_path):
        data = Graphs([Identity(), NodeDrop(0.2)], 4, dataset=[ring(n) for n in range(3, 13)], held_out=0)
        trainer, epochs = fit(data, tmp_path, epochs=2)
        assert trainer.global_step == 6
        for epoch in epochs:
            assert [len(batch) for batch in epoch] == [4, 4, 2]
            assert sorted(nodes for batch in epoch for nodes in batch) == list(range(3, 13))
        assert epochs[0] != epochs[1]

    def test_a_run_resumed_within_an_epoch_has_the_other_batches(self, tmp_path):
        graphs = [ring(n) for n in range(3, 13)]
        whole = Graphs(VIEWS, 4, dataset=graphs, held_out=0)
        resumed = Graphs(VIEWS, 4, dataset=graphs, held_out=0)
        resumed.load_state_dict(whole.state_dict() | {"position": 2})
        rest = [batch.tolist() for batch in resumed.train_dataloader()]
        assert rest == [batch.tolist() for batch in whole.train_dataloader()][2:]
        assert len(rest) == 1
