"""The in-memory data module: what a trainer gets from it, and where its random numbers come from."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from torch import nn

from datamodules import FakeGraphs, FakeImages, FakeTable, augmentations
from datamodules.augmentations import (
    Augmentation,
    Compose,
    GraphCL,
    HorizontalFlip,
    Identity,
    NodeDrop,
    RandomChoice,
    RandomMask,
)
from datamodules.base import InMemoryDataModule, Samples
from datamodules.drawing import few


class Jiggle(Augmentation):
    """Adds noise, and keeps what it was fitted on."""

    fitted = None

    def fit(self, training):
        self.fitted = training

    def forward(self, batch, generator):
        return batch + torch.randn(batch.shape, generator=generator)


class Numbers(InMemoryDataModule):
    """Row i holds i; 101 rows train, 30 validate, 20 test, in no order."""

    def __init__(self, views=None, batch_size=20, labels=None):
        super().__init__(views or [Identity(), Jiggle()], batch_size, num_classes=3, in_features=1, labels=labels)
        self.loads = 0

    def load(self):
        self.loads += 1
        rows = torch.arange(151.0).unsqueeze(1)
        order = torch.randperm(151, generator=torch.Generator().manual_seed(0))
        train, val, test = order.split([101, 30, 20])
        return Samples(rows, torch.arange(151) % 3, {"train": train, "val": val, "test": test})

    def eval_view(self, inputs):
        return inputs + 1000


def at(module, epoch=0, batch=0, rank=0, world_size=1):
    """Puts the module where a trainer would be."""
    module.trainer = SimpleNamespace(
        current_epoch=epoch, fit_loop=SimpleNamespace(batch_idx=batch - 1), global_rank=rank, world_size=world_size
    )
    return module


INDEX = torch.tensor([5, 3, 8])


class TestTrainBatch:
    def test_views_and_labels(self):
        (first, second), target = Numbers().train_batch(INDEX)
        assert first.flatten().tolist() == [5, 3, 8]
        assert not torch.equal(first, second)
        assert target.tolist() == [2, 0, 2]

    def test_views_differ_though_their_augmentation_is_one(self):
        jiggle = Jiggle()
        views, _ = Numbers([jiggle, jiggle, jiggle]).train_batch(INDEX)
        assert len(torch.stack(views).flatten(1).unique(dim=0)) == 3

    @pytest.mark.parametrize("other", [{"epoch": 1}, {"batch": 1}, {"rank": 1}])
    def test_other_positions_draw_other_numbers(self, other):
        module = Numbers()
        assert not torch.equal(
            at(module).train_batch(INDEX)[0][1], at(module, **{"world_size": 2, **other}).train_batch(INDEX)[0][1]
        )

    def test_the_same_position_draws_the_same_numbers(self):
        results = []
        for _ in range(2):
            seed_everything(4, verbose=False)
            module = at(Numbers(), epoch=2, batch=5, rank=1, world_size=2)
            module.setup("fit")
            torch.rand(7)  # what else ran doesn't matter
            results.append(module.train_batch(INDEX)[0][1])
        assert torch.equal(*results)
        seed_everything(5, verbose=False)
        module.setup("fit")
        assert not torch.equal(results[0], module.train_batch(INDEX)[0][1])

    def test_global_random_state_is_left_alone(self):
        module = at(Numbers())
        state = torch.get_rng_state()
        module.train_batch(INDEX)
        assert torch.equal(torch.get_rng_state(), state)


def test_eval_batch_is_the_eval_view():
    rows, target = Numbers().eval_batch(INDEX)
    assert rows.flatten().tolist() == [1005, 1003, 1008]
    assert target.tolist() == [2, 0, 2]


def test_raw_input_is_numbers_and_categories():
    data = Numbers()
    rows = torch.tensor([[0.5, 1, 1000, 2], [-1.5, 0, 3, 0]])
    assert torch.equal(data.raw_input(rows.view(2, 2, 2)), rows)
    data.cardinalities = (2, 1001, 3)
    assert data.raw_input(rows).tolist() == [[0.5, 0, 1, 0, 0, 1], [-1.5, 1, 0, 1, 0, 0]]


def test_augmentations_are_fitted_on_training_rows_alone():
    module = Numbers()
    samples = module.samples
    assert torch.equal(module.views[1].fitted, samples.inputs[samples.splits["train"]])


def test_data_is_read_once():
    module = Numbers()
    for stage in ("fit", "validate", "test"):
        module.setup(stage)
        list(module.train_dataloader())
    assert module.loads == 1


@pytest.mark.parametrize("split", ["train", "val", "test"])
@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_feature_dataloader_is_ordered_and_counts_each_sample_once(split, world_size):
    module = Numbers()
    shares = [
        torch.cat(list(at(module, rank=rank, world_size=world_size).feature_dataloader(split)))
        for rank in range(world_size)
    ]
    expected = module.samples.splits[split]
    assert torch.equal(torch.cat(shares).sort().values, expected.sort().values)
    for rank, share in enumerate(shares):
        assert torch.equal(share, expected[rank::world_size])


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_reading_features_leaves_global_random_state_alone(split):
    module = Numbers()
    state = torch.get_rng_state()
    list(module.feature_dataloader(split))
    assert torch.equal(torch.get_rng_state(), state)


def test_needs_a_view():
    with pytest.raises(ValueError, match=r"data\.views is empty"):
        InMemoryDataModule([], 20, num_classes=3)


@pytest.mark.parametrize(
    ("view", "data", "message"),
    [
        (RandomMask(), lambda views: FakeGraphs(views, 4), "RandomMask of view 2 is for rows, and the data are graphs"),
        (NodeDrop(), lambda views: FakeTable(views, 4), "NodeDrop of view 2 is for graphs, and the data are rows"),
        (
            Compose([Identity(), RandomChoice([HorizontalFlip()])]),
            lambda views: FakeTable(views, 4),
            "HorizontalFlip of view 2 is for images, and the data are rows",
        ),
        (
            GraphCL("random4"),
            lambda views: FakeImages(views, Identity(), 4),
            "GraphCL of view 2 is for graphs, and the data are images",
        ),
    ],
    ids=["rows", "graphs", "images", "GraphCL"],
)
def test_augmentations_of_other_samples(view, data, message):
    with pytest.raises(ValueError, match=message):
        data([Identity(), view])


def test_every_augmentation_of_a_domain_says_what_it_takes():
    for name in augmentations.__all__:
        kind = getattr(augmentations, name)
        folder = kind.__module__.split(".")[1]
        expected = {"images": "images", "tables": "rows", "graphs": "graphs", "augmentations": None}[folder]
        assert kind.takes == expected


def test_answers_without_a_trainer():
    module = Numbers()
    assert (module.num_classes, module.in_features, module.cardinalities) == (3, 1, ())


class SomeLabels(Numbers):
    """Row i has label i % 3 if i is even."""

    def load(self):
        samples = super().load()
        samples.target[1::2] = -1
        return samples


class TestFewLabels:
    @pytest.mark.parametrize(("labels", "count"), [(4, 12), (0.1, 6), (1.0, None), (1000, None)])
    @pytest.mark.parametrize("seed", [0, 5])
    def test_training_sees_labelled_samples_that_the_seed_draws(self, labels, count, seed):
        whole, data = SomeLabels(), SomeLabels(labels=labels)
        seed_everything(seed, verbose=False)
        data.setup("fit")
        index, target = whole.samples.splits["train"], whole.samples.target
        labelled = index[target[index] >= 0].sort().values
        seen = torch.cat([target for _, target in map(data.take, data.train_dataloader())])
        own = data.samples.splits["train"]
        assert torch.equal(own, labelled[few(target[labelled], labels, seed)])
        assert len(own) == (len(labelled) if count is None else count)
        assert len(seen) == min(20, len(own)) * len(data.train_dataloader())
        assert (seen >= 0).all()
        assert torch.equal(torch.cat(list(data.feature_dataloader("train"))), own)
        assert data.describe()["samples"] == {"train": len(own), "val": 30, "test": 20}

    def test_augmentations_are_fitted_on_all_training_rows(self):
        whole, data = SomeLabels(), SomeLabels(labels=2)
        assert len(data.samples.splits["train"]) == 6
        assert torch.equal(data.views[1].fitted, whole.samples.inputs[whole.samples.splits["train"]])

    @pytest.mark.parametrize("world_size", [1, 2, 4])
    def test_a_batch_of_fewer(self, world_size):
        """Thirteen samples of processes that must share them equally, and leave one of them out."""
        seen = []
        for rank in range(world_size):
            data = at(SomeLabels(labels=13 / 55), rank=rank, world_size=world_size)
            (batch,) = data.train_dataloader()
            assert len(batch) == 13 // world_size
            seen.append(batch)
        assert len(torch.cat(seen).unique()) == 13 // world_size * world_size

    def test_too_few_for_the_processes(self):
        with pytest.raises(ValueError, match="batch_size 8 is more than the 3 training samples"):
            at(SomeLabels(labels=1), world_size=4).train_dataloader()

    def test_a_checkpoint_keeps_the_draw(self):
        drawn = []
        for seed, state in ((0, None), (5, {"position": 0, "drawn_by": 0}), (5, {"position": 0})):
            data = SomeLabels(labels=4)
            seed_everything(seed, verbose=False)
            data.setup("test")
            if state is not None:
                data.load_state_dict(state)
            drawn.append(data.samples.splits["train"].tolist())
            assert data.state_dict()["drawn_by"] == (0 if state != {"position": 0} else 5)
        assert drawn[0] == drawn[1] != drawn[2]
        assert "drawn_by" not in Numbers().state_dict()

    def test_predictions_need_no_labels(self):
        data = NoLabels(labels=4)
        data.setup("predict")
        assert len(data.samples.splits["train"]) == 101

    def test_no_label_to_draw(self):
        with pytest.raises(
            ValueError, match=r"data\.labels 4 needs labels, and no training sample has one: leave data"
        ):
            NoLabels(labels=4).train_dataloader()

    def test_no_number_of_labels(self):
        with pytest.raises(ValueError, match=r"data.labels must be .* got 1.5"):
            Numbers(labels=1.5)


class NoLabels(Numbers):
    """No label is known."""

    def load(self):
        samples = super().load()
        samples.target[:] = -1
        return samples


class Recorder(LightningModule):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.seen = {"train": [], "val": [], "test": []}

    def training_step(self, batch):
        views, target = batch
        self.seen["train"].append((*views, target))
        return self.weight * 0

    def validation_step(self, batch):
        self.seen["val"].append(batch)

    def test_step(self, batch):
        self.seen["test"].append(batch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


def run(tmp_path, epochs=2, ckpt_path=None, **arguments):
    seed_everything(3, verbose=False)
    trainer = Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
        **arguments,
    )
    model, data = Recorder(), Numbers()
    trainer.fit(model, data, ckpt_path=ckpt_path)
    return trainer, model, data


class TestTrainer:
    def test_training_and_evaluation(self, tmp_path):
        trainer, model, data = run(tmp_path, num_sanity_val_steps=0, enable_checkpointing=False)
        trainer.test(model, data, verbose=False)
        train = model.seen["train"]
        assert [len(rows) for rows, *_ in train] == [20] * 10  # two epochs of 5 batches, the incomplete one dropped
        epochs = [torch.cat([rows for rows, *_ in train[i : i + 5]]).flatten() for i in (0, 5)]
        assert all(len(epoch.unique()) == 100 for epoch in epochs)
        assert not torch.equal(*epochs)
        for split, times in (("val", 2), ("test", 1)):
            rows = torch.cat([x for x, _ in model.seen[split]]).flatten() - 1000
            assert rows.tolist() == data.samples.splits[split].tolist() * times

    def test_every_batch_has_its_own_numbers(self, tmp_path):
        _, model, _ = run(tmp_path, enable_checkpointing=False)
        noise = torch.stack([second - first for first, second, _ in model.seen["train"]])
        assert len(noise.round(decimals=2).flatten(1).unique(dim=0)) == 10

    def test_the_same_with_and_without_validation(self, tmp_path):
        runs = [
            run(tmp_path, enable_checkpointing=False, **arguments)[1].seen["train"]
            for arguments in ({}, {"limit_val_batches": 0}, {"val_check_interval": 2})
        ]
        for other in runs[1:]:
            for ours, theirs in zip(runs[0], other, strict=True):
                assert all(map(torch.equal, ours, theirs))

    def test_a_resumed_run_goes_on_as_if_it_had_not_stopped(self, tmp_path):
        whole = run(tmp_path, epochs=3, enable_checkpointing=False)[1].seen["train"]
        trainer, *_ = run(tmp_path, epochs=1)
        trainer.save_checkpoint(tmp_path / "stopped.ckpt")
        rest = run(tmp_path, epochs=3, ckpt_path=tmp_path / "stopped.ckpt")[1].seen["train"]
        assert len(rest) == 10
        for ours, theirs in zip(whole[5:], rest, strict=True):
            assert all(map(torch.equal, ours, theirs))
