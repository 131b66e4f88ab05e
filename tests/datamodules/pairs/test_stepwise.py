"""A staircase of mutual information."""

import math
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything

from datamodules import StepwisePairs
from datamodules.pairs import DiscretePairs, GaussianPairs


def test_batches():
    data = StepwisePairs(GaussianPairs(20), nats=[2.0, 8.0], batch_size=2048)
    for epoch, nats in enumerate((2.0, 8.0)):
        (x, y), known = data.batch(epoch, 0)
        assert x.shape == y.shape == (2048, 20)
        assert known.unique().tolist() == [nats]
        rho = math.sqrt(-math.expm1(-nats / 10))
        assert (x * y).mean().item() == pytest.approx(rho, abs=5 * math.sqrt(2 / x.numel()))


def test_every_batch_is_another():
    data = StepwisePairs(GaussianPairs(2), batch_size=8)
    places = [(0, 0), (0, 1), (1, 0), (0, 0, 1), (0, 0, 2)]
    batches = [data.batch(*place)[0][0] for place in places]
    assert len(torch.stack(batches).flatten(1).unique(dim=0)) == len(places)
    assert torch.equal(batches[0], data.batch(0, 0)[0][0])
    data.seed = 1
    assert not torch.equal(batches[0], data.batch(0, 0)[0][0])


def test_what_the_command_line_reads():
    data = StepwisePairs(DiscretePairs(3, 4), nats=[1.0])
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
        StepwisePairs(GaussianPairs(2), **arguments)


def test_epochs_that_do_not_fit():
    data = StepwisePairs(GaussianPairs(2))
    data.trainer = SimpleNamespace(max_epochs=3, world_size=1, fast_dev_run=False)
    with pytest.raises(ValueError, match=r"trainer.max_epochs must be the number of data.nats, 4, got 3"):
        data.setup("fit")
    data.setup("validate")


def test_several_processes():
    data = StepwisePairs(GaussianPairs(2))
    data.trainer = SimpleNamespace(max_epochs=4, world_size=2, fast_dev_run=False)
    with pytest.raises(ValueError, match="for one process, got 2"):
        data.setup("fit")


def test_each_purpose_and_seed_has_pairs_of_its_own(tmp_path):
    """Training, validation and test, with the seed of the run, at the checkpoint's mutual information."""

    class Record(LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(()))
            self.seen = []

        def training_step(self, batch, _):
            self.seen.append((batch[0][0].sum().item(), batch[1].unique().item()))
            return self.weight

        def validation_step(self, batch, index):
            self.training_step(batch, index)

        test_step = validation_step

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    seen = []
    for seed in (0, 1):
        seed_everything(seed, verbose=False)
        data, module = StepwisePairs(GaussianPairs(2), [1.0, 2.0], 2, 8, 2), Record()
        quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
        trainer = Trainer(default_root_dir=tmp_path, max_epochs=2, num_sanity_val_steps=0, accelerator="cpu", **quiet)
        trainer.fit(module, datamodule=data)
        checkpoint = tmp_path / f"{seed}.ckpt"
        trainer.save_checkpoint(checkpoint)
        data = StepwisePairs(GaussianPairs(2), [1.0, 2.0], 2, 8, 2)
        for action in (trainer.validate, trainer.test):
            action(module, datamodule=data, ckpt_path=checkpoint, verbose=False)
        assert [nats for _, nats in module.seen] == [1.0] * 4 + [2.0] * 8
        seen += module.seen
    again = {total for total, _ in seen[6:8]} & {total for total, _ in seen[8:10]}
    assert len(again) == 2  # validation in fit and alone
    assert len({total for total, _ in seen}) == 2 * 10
