"""What there is of graphs without an encoder."""

from __future__ import annotations

import torch

from datamodules import DigitsGraph, FakeGraphs, Graphs
from datamodules.augmentations import Identity
from datamodules.graphs.packed import PackedGraphs


def test_raw_input_is_sums_and_counts():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [0.5, 0.5]])
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graphs = PackedGraphs(x, edges, torch.tensor([0, 3, 4, 5]), torch.tensor([0, 4, 4, 4]))
    data = FakeGraphs([Identity(), Identity()])
    raw = data.raw_input(graphs[torch.tensor([2, 0, 1])])
    assert raw.tolist() == [[0.5, 0.5, 1, 0], [9, 12, 3, 4], [7, 8, 1, 0]]


def test_all_graph_data_has_it():
    assert all(kind.raw_input is FakeGraphs.raw_input for kind in (DigitsGraph, Graphs))
    data = DigitsGraph([Identity(), Identity()])
    batch, _ = data.eval_batch(torch.arange(5))
    assert data.raw_input(batch).shape == (5, 5)
