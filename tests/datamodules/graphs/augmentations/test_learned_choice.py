"""Augmentations drawn by probabilities that change."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Generator
from torch_geometric.data import Batch, Data

from datamodules.augmentations import LearnedChoice
from datamodules.graphs.augmentations.remaining import WithRemaining

NAMES = LearnedChoice.names


def rings(count, size=40):
    nodes = torch.arange(size)
    ends = torch.stack((nodes, (nodes + 1) % size))
    edges = torch.cat((ends, ends.flip(0)), dim=1)
    return Batch.from_data_list([Data(x=torch.full((size, 3), 1000.0), edge_index=edges) for _ in range(count)])


def traces(before, after):
    """Numbers of nodes, edges of before and masked nodes of a ring of 40 nodes."""
    old = set(map(tuple, before.edge_index.T.tolist()))
    masked = int((after.x != 1000.0).any(dim=1).sum())
    kept = len(old & set(map(tuple, after.edge_index.T.tolist()))) if after.num_nodes == 40 else after.num_edges
    return after.num_nodes, kept, masked


EXPECTED = {
    "node_drop": lambda nodes, edges, masked: nodes == 32 and masked == 0,
    "edge_perturbation": lambda nodes, edges, masked: (nodes, edges, masked) == (40, 64, 0),
    "subgraph": lambda nodes, edges, masked: (nodes, edges, masked) == (33, 64, 0),  # a path
    "attribute_mask": lambda nodes, edges, masked: (nodes, edges, masked) == (40, 80, 8),
    "none": lambda nodes, edges, masked: (nodes, edges, masked) == (40, 80, 0),
}


@pytest.mark.parametrize("name", NAMES)
def test_certainty_is_that_augmentation_at_the_ratios_of_the_authors(name):
    view = LearnedChoice()
    view.probabilities = torch.eye(5)[NAMES.index(name)]
    batch = rings(20)
    after = view(batch, Generator().manual_seed(0))
    assert after.choice.tolist() == [NAMES.index(name)] * 20
    for old, new in zip(batch.to_data_list(), after.to_data_list(), strict=True):
        assert EXPECTED[name](*traces(old, new))


def test_draws_by_the_probabilities_and_says_what_it_drew():
    view = LearnedChoice()
    assert view.probabilities.tolist() == [pytest.approx(0.2)] * 5
    view.probabilities = torch.tensor([0.1, 0.2, 0.3, 0.0, 0.4])
    batch = rings(2000)
    after = view(batch, Generator().manual_seed(1))
    counts = np.bincount(after.choice, minlength=5)
    assert counts[3] == 0
    assert chisquare(counts[[0, 1, 2, 4]], 2000 * np.array([0.1, 0.2, 0.3, 0.4])).pvalue > 1e-3
    for old, new, choice in zip(batch[:50], after.to_data_list()[:50], after.choice.tolist()[:50], strict=True):
        assert EXPECTED[NAMES[choice]](*traces(old, new))


def test_leaves_the_batch_and_random_numbers_of_others_alone():
    batch, state = rings(5), torch.get_rng_state()
    kept = batch.clone()
    view = WithRemaining(LearnedChoice())
    one, two = (view(batch, Generator().manual_seed(2)) for _ in range(2))
    assert torch.equal(one.x, two.x)
    assert torch.equal(one.choice, two.choice)
    assert "choice" not in batch
    assert torch.equal(batch.x, kept.x)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("ratios", [{"ratio": 1.5}, {"subgraph_ratio": -0.1}])
def test_ratios_out_of_range(ratios):
    with pytest.raises(ValueError, match=f"{next(iter(ratios))} .*0.*1"):
        LearnedChoice(**ratios)
