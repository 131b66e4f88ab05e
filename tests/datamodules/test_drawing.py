"""Some samples of many."""

from __future__ import annotations

import pytest
import torch

from datamodules.drawing import aside, check_few, drawn, few, places

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


def test_so_many_a_class():
    index = few(TARGET, 7, seed=0)
    assert torch.equal(index, index.sort().values)
    assert TARGET[index].bincount(minlength=6).tolist() == [7, 0, 7, 7, 0, 1]
    assert set(index.tolist()) < set(few(TARGET, 8, seed=0).tolist())
    assert not torch.equal(index, few(TARGET, 7, seed=1))
    assert torch.equal(few(TARGET, 60, seed=0), torch.arange(100))


def test_a_share_of_all():
    index = few(TARGET, 0.2, seed=0)
    assert torch.equal(index, drawn(TARGET, 20, seed=0).sort().values)
    assert set(index.tolist()) < set(few(TARGET, 0.3, seed=0).tolist())
    assert TARGET[few(TARGET, 1e-6, seed=0)].bincount(minlength=6).tolist() == [1, 0, 1, 1, 0, 1]
    assert torch.equal(few(TARGET, 1.0, seed=0), torch.arange(100))


@pytest.mark.parametrize("labels", [0, -3, 0.0, 1.5, True, float("nan")])
def test_what_is_no_number_of_labels(labels):
    with pytest.raises(ValueError, match=rf"labels must be a whole number .* got {labels}"):
        check_few(labels)


def test_a_fifth_is_set_aside_of_every_class():
    apart = aside(TARGET, seed=0)
    assert TARGET[apart].bincount(minlength=6).tolist() == [12, 0, 6, 1, 0, 0]
    assert not torch.equal(apart, aside(TARGET, seed=1))
    assert aside(torch.tensor([0, 0, 1, 1, 2]), seed=0).sum() == 2
