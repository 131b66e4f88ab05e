import pytest
import torch
from scipy.stats import binomtest, chisquare
from torch import Generator
from torch_geometric.data import Batch, Data

from datamodules.augmentations import Augmentation, Compose, Identity, NodeDrop, RandomChoice, Subgraph


class Add(Augmentation):
    def __init__(self, amount):
        super().__init__()
        self.amount = amount
        self.fitted = None
        self.seen = []

    def fit(self, train_rows):
        self.fitted = train_rows

    def forward(self, batch, generator):
        self.seen.append(len(batch))
        return batch + self.amount


class Noise(Augmentation):
    def forward(self, batch, generator):
        return torch.rand(batch.shape, generator=generator)


def seeded(seed=0):
    return Generator().manual_seed(seed)


def ring(size, first):
    start = torch.arange(size)
    ends = torch.stack((start, (start + 1) % size))
    return Data(x=(first + start).float()[:, None], edge_index=torch.cat((ends, ends.flip(0)), dim=1))


def ring_batch(count):
    return Batch.from_data_list([ring(3 + i % 5, 1000 * i) for i in range(count)])


def test_each_row_gets_one_of_them_in_place():
    rows = torch.arange(3000).float().mul(10)[:, None]
    choices = [Identity(), Add(1), Add(2)]
    added = RandomChoice(choices)(rows, seeded()) - rows
    counts = added.flatten().long().bincount()
    assert len(counts) == 3
    assert chisquare(counts.numpy()).pvalue > 1e-3
    assert choices[1].seen == [counts[1]]
    assert choices[2].seen == [counts[2]]


def test_neighbours_draw_independently():
    rows = torch.zeros(4000, 1)
    drawn = RandomChoice([Identity(), Add(1)])(rows, seeded())[:, 0]
    same = int((drawn[1:] == drawn[:-1]).sum())
    assert binomtest(same, 3999).pvalue > 1e-3


def test_images_keep_shape_and_type():
    images = torch.randint(256, (20, 3, 4, 4), dtype=torch.uint8)
    assert torch.equal(RandomChoice([Identity(), Compose([Identity()])])(images, seeded()), images)


def test_one_choice_is_that_augmentation():
    rows = torch.rand(7, 2)
    assert torch.equal(RandomChoice([Add(1)])(rows, seeded()), rows + 1)


@pytest.mark.parametrize("seed", range(5))
def test_fewer_samples_than_choices(seed):
    assert RandomChoice([Add(1), Add(2), Add(3)])(torch.zeros(1, 1), seeded(seed)).item() in (1, 2, 3)


def test_reproducible_and_leaves_the_rest_alone():
    rows = torch.zeros(50, 2)
    choice = RandomChoice([Noise(), Identity()])
    state = torch.get_rng_state()
    one, same, other = (choice(rows, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert rows.eq(0).all()
    assert torch.equal(torch.get_rng_state(), state)


def test_fit_reaches_all_nested():
    adds = [Add(1), Add(2)]
    rows = torch.rand(3, 2)
    Compose([RandomChoice([adds[0], RandomChoice([adds[1]])])]).fit(rows)
    assert all(add.fitted is rows for add in adds)


def test_refuses_none():
    with pytest.raises(ValueError, match="at least one augmentation"):
        RandomChoice([])


def test_each_graph_gets_one_of_them_in_place():
    batch = ring_batch(600)
    after = RandomChoice([Identity(), NodeDrop(1)])(batch, seeded())
    assert after.num_graphs == 600
    whole = 0
    for new, old in zip(after.to_data_list(), batch.to_data_list(), strict=True):
        if new.num_nodes > 1:
            whole += 1
            assert torch.equal(new.x, old.x)
            assert torch.equal(new.edge_index, old.edge_index)
        assert set(new.x.flatten().tolist()) <= set(old.x.flatten().tolist())
    assert binomtest(whole, 600).pvalue > 1e-3


def test_identities_give_the_same_graphs_back():
    alone, edgeless = (Data(x=torch.rand(size, 1), edge_index=torch.zeros(2, 0).long()) for size in (1, 4))
    batch = Batch.from_data_list([ring(3, 0), alone, ring(5, 9), edgeless, alone])
    before = batch.clone()
    after = RandomChoice([Identity(), Identity(), Identity()])(batch, seeded())
    for key in ("x", "edge_index", "batch", "ptr"):
        assert torch.equal(after[key], batch[key])
        assert torch.equal(before[key], batch[key])


def test_graph_choices_nest_and_repeat():
    batch = ring_batch(40)
    choice = RandomChoice([RandomChoice([NodeDrop(0.5), Subgraph(0.4)]), Compose([NodeDrop(0.3), Subgraph(0.9)])])
    state = torch.get_rng_state()
    one, same, other = (choice(batch, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.x, same.x)
    assert torch.equal(one.edge_index, same.edge_index)
    assert not torch.equal(one.ptr, other.ptr)
    assert torch.equal(one.batch[one.edge_index[0]], one.batch[one.edge_index[1]])
    assert torch.equal(torch.get_rng_state(), state)
    owner = (one.x[:, 0] // 1000).long()
    assert torch.equal(owner, one.batch)
