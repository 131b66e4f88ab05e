import pytest
import torch

from datamodules.augmentations import Identity, NodeDrop, Subgraph
from datamodules.graphs.fake import FakeGraphs


def test_sizes_with_single_nodes_and_no_edges():
    data = FakeGraphs([NodeDrop(), Subgraph()])
    rows, target, splits = data.samples.inputs, data.samples.target, data.samples.splits
    assert {split: len(index) for split, index in splits.items()} == {"train": 128, "val": 64, "test": 64}
    assert torch.cat(list(splits.values())).sort().values.equal(torch.arange(len(rows)))
    sizes, edges = rows.node_ptr.diff(), rows.edge_ptr.diff()
    assert len(sizes.unique()) > 10
    for split in splits.values():
        assert (sizes[split] == 1).any()
        assert ((edges[split] == 0) & (sizes[split] > 1)).any()
    whole = rows[torch.arange(len(rows))]
    assert whole.is_undirected()
    assert not whole.has_self_loops()
    possible = sizes * (sizes - 1)
    used = edges > 0
    density = [float(edges[used & (target == c)].sum() / possible[used & (target == c)].sum()) for c in (0, 1)]
    assert density == pytest.approx([1 / 3, 2 / 3], abs=0.05)


def test_same_at_every_start_and_sized_by_its_arguments():
    one, same = (
        FakeGraphs([Identity(), Identity()], batch_size=4, num_samples=10, in_features=7, num_classes=3)
        for _ in range(2)
    )
    torch.manual_seed(5)
    assert torch.equal(one.samples.inputs.x, same.samples.inputs.x)
    assert torch.equal(one.samples.inputs.edge_index, same.samples.inputs.edge_index)
    assert one.samples.inputs.x.shape[1] == one.in_features == 7
    assert one.samples.target.max() < one.num_classes == 3
    assert len(one.samples.splits["train"]) == 10
    views, _ = one.train_batch(torch.arange(4))
    assert [view.num_graphs for view in views] == [4, 4]


@pytest.mark.parametrize("name", ["num_samples", "in_features", "num_classes"])
def test_refuses(name):
    with pytest.raises(ValueError, match=name):
        FakeGraphs([Identity(), Identity()], **{name: 0})
