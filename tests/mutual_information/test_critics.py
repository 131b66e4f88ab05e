"""Critics pair by pair."""

from functools import partial

import pytest
import torch

from lightning_renyicl.mutual_information import JointCritic, SeparableCritic, critics
from lightning_renyicl.mutual_information.critics import split_scores


def pairs(n=5, m=4, features=3):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n, features, generator=generator), torch.randn(m, features, generator=generator)


@pytest.fixture(params=[1, 130, 2**19], ids=["a row", "two rows", "all"])
def _at_once(request, monkeypatch):
    monkeypatch.setattr(critics, "AT_ONCE", request.param)


@pytest.mark.usefixtures("_at_once")
def test_joint_critic_is_a_network_on_both_side_by_side():
    x, y = pairs()
    critic = JointCritic(3, 16)
    network = torch.nn.Sequential(critic.hidden, torch.nn.ReLU(), critic.score)
    found = critic(x, y)
    assert found.shape == (5, 4)
    for i in range(5):
        for j in range(4):
            torch.testing.assert_close(found[i, j], network(torch.cat((x[i], y[j])))[0])


@pytest.mark.usefixtures("_at_once")
def test_joint_critic_gets_the_networks_gradients():
    x, y = pairs()
    critic = JointCritic(3, 16)
    network = torch.nn.Sequential(critic.hidden, torch.nn.ReLU(), critic.score)
    ours = torch.autograd.grad(critic(x, y).square().sum(), list(critic.parameters()))
    both = torch.cat((x.repeat_interleave(4, 0), y.repeat(5, 1)), 1)
    theirs = torch.autograd.grad(network(both).square().sum(), list(critic.parameters()))
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our, their, rtol=1e-4, atol=1e-5)


def test_joint_critic_may_be_negative():
    torch.manual_seed(0)
    x, y = pairs(64, 64)
    assert JointCritic(3, 16)(x, y).min() < 0


def test_separable_critic_is_an_inner_product():
    x, y = pairs()
    critic = SeparableCritic(3, 16, 8)
    found = critic(x, y)
    assert found.shape == (5, 4)
    torch.testing.assert_close(found[2, 3], critic.x(x[2]) @ critic.y(y[3]))


def test_split_scores():
    p, n = split_scores(torch.arange(16.0).view(4, 4))
    assert p.tolist() == [0, 5, 10, 15]
    assert n.tolist() == [[1, 2, 3], [4, 6, 7], [8, 9, 11], [12, 13, 14]]


@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (3,)])
def test_scores_that_are_not_of_pairs(shape):
    with pytest.raises(ValueError, match="expected scores"):
        split_scores(torch.zeros(shape))


@pytest.mark.parametrize(
    "build", [partial(JointCritic, width=0), partial(SeparableCritic, width=0), partial(SeparableCritic, embedding=0)]
)
def test_layers_without_units(build):
    with pytest.raises(ValueError, match="must be at least 1, got"):
        build(3)
