"""Some samples of many."""

from __future__ import annotations

import torch

from lightning_renyicl.evaluation.drawing import drawn, places

TARGET = torch.tensor([0] * 60 + [2] * 30 + [3] * 9 + [5])[
    torch.randperm(100, generator=torch.Generator().manual_seed(0))
]


def test_places_count_within_every_class():
    found = places(TARGET, seed=0)
    for label in (0, 2, 3, 5):
        own = found[label == TARGET]
        assert torch.equal(own.sort().values, torch.arange(len(own)))
    assert not torch.equal(found, places(TARGET, seed=1))
    assert torch.equal(found, places(TARGET, seed=0))


def test_classes_are_in_proportion_with_one_of_each():
    index = drawn(TARGET, 20, seed=0)
    counts = TARGET[index].bincount(minlength=6).tolist()
    assert counts[5] == 1
    assert abs(counts[0] - 12) <= 1
    assert abs(counts[2] - 6) <= 1
    assert len(index.unique()) == 20
    assert torch.equal(drawn(TARGET, 200, seed=0).sort().values, torch.arange(100))
    assert not torch.equal(index, drawn(TARGET, 20, seed=1))


def test_the_random_state_is_left_alone():
    state = torch.get_rng_state()
    drawn(TARGET, 20, seed=0)
    assert torch.equal(state, torch.get_rng_state())


def test_no_samples():
    assert drawn(TARGET[:0], 5, seed=0).tolist() == []
