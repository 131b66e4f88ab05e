from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import torch

from datamodules.seeding import generator_at, global_random_state


def draw(generator):
    return tuple(torch.randint(2**62, (2,), generator=generator).tolist())


def global_draws():
    return random.random(), np.random.rand()


def states():
    return random.getstate(), np.random.get_state(), torch.get_rng_state()


def assert_same(before, after):
    assert before[0] == after[0]
    np.testing.assert_equal(before[1], after[1])
    assert torch.equal(before[2], after[2])


class TestGeneratorAt:
    def test_every_position_has_its_own_numbers(self):
        positions = list(itertools.product(range(4), repeat=4))
        assert len({draw(generator_at(*position)) for position in positions}) == len(positions)

    def test_shuffling_does_not_share_the_numbers_of_the_first_batch(self):
        assert draw(generator_at(0, 3)) != draw(generator_at(0, 3, 0, 0))

    def test_same_position_same_numbers(self):
        assert draw(generator_at(7, 1, 2, 3)) == draw(generator_at(7, 1, 2, 3))

    @pytest.mark.parametrize("seed", [2**63, 2**64 - 1])
    def test_takes_any_seed_of_torch(self, seed):
        draw(generator_at(seed, 0))

    def test_global_state_stays(self):
        before = states()
        draw(generator_at(1, 2))
        assert_same(before, states())


class TestGlobalRandomState:
    def test_draws_follow_the_generator(self):
        results = []
        for seed in (0, 0, 1):
            global_draws()
            with global_random_state(generator_at(seed)):
                results.append(global_draws())
        assert results[0] == results[1]
        assert all(a != b for a, b in zip(results[0], results[2], strict=True))

    def test_a_second_use_continues_the_generator(self):
        generator, results = generator_at(0), []
        for _ in range(2):
            with global_random_state(generator):
                results.append(global_draws())
        assert results[0] != results[1]

    def test_state_of_before_comes_back(self):
        before = states()
        with global_random_state(generator_at(0)):
            global_draws()
        assert_same(before, states())

    def test_state_comes_back_after_an_error(self):
        before = states()
        with pytest.raises(ZeroDivisionError), global_random_state(generator_at(0)):
            random.random() / np.random.rand() / 0
        assert_same(before, states())
