"""A staircase of mutual information."""

import math
from types import SimpleNamespace

import pytest
import torch

from datamodules import InformationStaircase
from datamodules.pairs import DiscretePairs, GaussianPairs


def test_batches():
    data = InformationStaircase(GaussianPairs(20), nats=[2.0, 8.0], batch_size=2048)
    for epoch, nats in enumerate((2.0, 8.0)):
        (x, y), known = data.batch(epoch, 0)
        assert x.shape == y.shape == (2048, 20)
        assert known.unique().tolist() == [nats]
        rho = math.sqrt(-math.expm1(-nats / 10))
        assert (x * y).mean().item() == pytest.approx(rho, abs=5 * math.sqrt(2 / x.numel()))


def test_every_batch_is_another():
    data = InformationStaircase(GaussianPairs(2), batch_size=8)
    places = [(0, 0), (0, 1), (1, 0), (0, 0, 1), (0, 0, 0, 1)]
    batches = [data.batch(*place)[0][0] for place in places]
    assert len(torch.stack(batches).flatten(1).unique(dim=0)) == len(places)
    assert torch.equal(batches[0], data.batch(0, 0)[0][0])
    data.seed = 1
    assert not torch.equal(batches[0], data.batch(0, 0)[0][0])


def test_what_the_command_line_reads():
    data = InformationStaircase(DiscretePairs(3, 4), nats=[1.0])
    assert (data.in_features, data.num_classes, data.cardinalities) == (12, 0, ())
    assert data.describe() == {"name": "DiscretePairs", "samples": {"train": 512_000}}
    assert (len(data.train_dataloader()), len(data.val_dataloader())) == (4000, 200)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nats": []}, "nats must name at least one"),
        ({"steps": 0}, "at least 1, got .*, 0 and 200"),
        ({"eval_batches": 0}, "at least 1, got .*, 4000 and 0"),
        ({"batch_size": 1}, "batch_size must be at least 2"),
        ({"nats": [2.0, -1.0]}, "got -1.0"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        InformationStaircase(GaussianPairs(2), **arguments)


def test_epochs_that_do_not_fit():
    data = InformationStaircase(GaussianPairs(2))
    data.trainer = SimpleNamespace(max_epochs=3)
    with pytest.raises(ValueError, match=r"trainer.max_epochs must be the number of data.nats, 4, got 3"):
        data.setup("fit")
