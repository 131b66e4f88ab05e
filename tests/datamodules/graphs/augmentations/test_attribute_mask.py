import random
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest
from torch import Generator
from torch_geometric.data import Batch, Data

from datamodules.augmentations import AttributeMask, Compose, NodeDrop


def seeded(seed=0):
    return Generator().manual_seed(seed)


def ring(size, width=2, dtype=torch.float32):
    """Features are far from the noise, other ones for every node and column."""
    nodes = torch.arange(size)
    x = 1000 + 10 * nodes[:, None] + torch.arange(width)
    edge_index = torch.stack((torch.cat((nodes, (nodes + 1) % size)), torch.cat(((nodes + 1) % size, nodes))))
    return Data(x=x.to(dtype), edge_index=edge_index[:, edge_index[0] != edge_index[1]])


def edgeless(size, width=2):
    return Data(x=torch.full((size, width), 1000.0), edge_index=torch.zeros(2, 0, dtype=torch.long))


def changed(after, before):
    """Nodes whose features changed, all of them or none, ``[nodes]``."""
    differs = after.x != before.x
    assert torch.equal(differs.any(dim=1), differs.all(dim=1))
    return differs.any(dim=1)


def assert_masked(after, before, ratio):
    assert type(after) is type(before)
    assert after.num_graphs == before.num_graphs
    assert after.x.shape == before.x.shape
    assert after.x.dtype == before.x.dtype
    for key in ("edge_index", "batch", "ptr"):
        assert torch.equal(after[key], before[key])
    mask = changed(after, before)
    for new, old, part in zip(
        after.to_data_list(), before.to_data_list(), mask.split(before.ptr.diff().tolist()), strict=True
    ):
        assert int(part.sum()) == int(ratio * old.num_nodes)
        assert torch.equal(new.edge_index, old.edge_index)
        assert torch.equal(new.x[~part], old.x[~part])


@given(
    st.lists(st.tuples(st.integers(1, 25), st.booleans()), min_size=1, max_size=6),
    st.sampled_from([0, 0.1, 0.25, 0.5, 0.9, 1]),
    st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_masks_whole_nodes(graphs, ratio, seed):
    batch = Batch.from_data_list([(ring if edges else edgeless)(size) for size, edges in graphs])
    assert_masked(AttributeMask(ratio)(batch, seeded(seed)), batch, ratio)


@pytest.mark.parametrize("ratio", [0.1, 0.2])
def test_counts_are_exact_at_any_size(ratio):
    batch = Batch.from_data_list([ring(size) for size in range(1, 201)])
    assert_masked(AttributeMask(ratio)(batch, seeded()), batch, ratio)


def test_ratio_0_is_identity():
    batch = Batch.from_data_list([ring(9), edgeless(3), ring(1)])
    after = AttributeMask(0)(batch, seeded())
    assert_masked(after, batch, 0)
    assert torch.equal(after.x, batch.x)


def test_ratio_1_leaves_no_feature():
    batch = Batch.from_data_list([ring(9), edgeless(3), ring(1)])
    after = AttributeMask(1)(batch, seeded())
    assert_masked(after, batch, 1)
    assert (after.x.abs() < 10).all()
    assert len(after.x.unique()) == after.x.numel()  # every feature has noise of its own


@pytest.mark.parametrize(("ratio", "masked"), [(0, 0), (0.1, 0), (0.99, 0), (1, 1)])
def test_single_nodes(ratio, masked):
    batch = Batch.from_data_list([edgeless(1), edgeless(1)])
    after = AttributeMask(ratio)(batch, seeded())
    assert changed(after, batch).tolist() == [bool(masked)] * 2
    assert after.edge_index.shape == (2, 0)


def test_every_set_of_nodes_is_equally_likely():
    batch = Batch.from_data_list([ring(5)] * 10000)
    masked = changed(AttributeMask(0.4)(batch, seeded()), batch).view(-1, 5)
    assert (masked.sum(dim=1) == 2).all()
    counts = Counter(map(tuple, masked.tolist()))
    assert len(counts) == 10
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_graphs_draw_independently():
    batch = Batch.from_data_list([ring(20)] * 30)
    masked = changed(AttributeMask(0.5)(batch, seeded()), batch).view(30, 20)
    assert len(set(map(tuple, masked.tolist()))) == 30


def test_noise_is_normal():
    batch = Batch.from_data_list([ring(100, width=8)] * 100)
    after = AttributeMask(0.5)(batch, seeded())
    noise = after.x[changed(after, batch)]  # [5000, 8]
    assert noise.shape == (5000, 8)
    assert kstest(noise.flatten().numpy(), "norm", args=(0.5, 0.5)).pvalue > 1e-3
    # 4 standard errors of the mean and of the deviation
    torch.testing.assert_close(noise.mean(), torch.tensor(0.5), rtol=0, atol=4 * 0.5 / 40000**0.5)
    torch.testing.assert_close(noise.std(), torch.tensor(0.5), rtol=0, atol=4 * 0.5 / 80000**0.5)
    correlation = torch.corrcoef(noise.T) - torch.eye(8)
    assert correlation.abs().max() < 5 / 5000**0.5  # features of a node know nothing of each other


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_type_of_features_stays(dtype):
    batch = Batch.from_data_list([ring(10, dtype=dtype), ring(7, dtype=dtype)])
    assert_masked(AttributeMask(0.5)(batch, seeded()), batch, 0.5)


def test_one_feature():
    batch = Batch.from_data_list([ring(10, width=1)])
    assert_masked(AttributeMask(0.3)(batch, seeded()), batch, 0.3)


def test_reproducible_from_the_generator():
    batch = Batch.from_data_list([ring(12), ring(9)])
    one, same, other = (AttributeMask(0.5)(batch, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.x, same.x)
    assert not torch.equal(one.x, other.x)
    assert not torch.equal(changed(one, batch), changed(other, batch))


def test_leaves_input_and_global_random_state_alone():
    batch = Batch.from_data_list([ring(12), ring(9), edgeless(4)])
    before = batch.clone()
    states = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    AttributeMask(0.5)(batch, seeded())
    for key in ("x", "edge_index", "batch", "ptr"):
        assert torch.equal(batch[key], before[key])
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (np.random.get_state()[1] == states[1]).all()
    assert random.getstate() == states[2]


def test_compose():
    batch = Batch.from_data_list([ring(20), ring(30)])
    after = Compose([AttributeMask(0.5), NodeDrop(0.5)])(batch, seeded())
    assert after.ptr.diff().tolist() == [10, 15]
    assert 0 < int((after.x[:, 0] < 10).sum()) < 25


@pytest.mark.parametrize("ratio", [-0.1, 1.1, float("nan")])
def test_refuses_ratio(ratio):
    with pytest.raises(ValueError, match=r"ratio must be in \[0, 1\]"):
        AttributeMask(ratio)


def test_default_ratio_is_graphcls():
    batch = Batch.from_data_list([ring(40)])
    assert_masked(AttributeMask()(batch, seeded()), batch, 0.1)


@pytest.mark.gpu
def test_same_properties_on_the_device():
    batch = Batch.from_data_list([ring(12), edgeless(9), ring(1)])
    after = AttributeMask(0.5)(batch.to("cuda"), Generator(device="cuda").manual_seed(0))
    assert after.x.is_cuda
    assert_masked(after.cpu(), batch, 0.5)
