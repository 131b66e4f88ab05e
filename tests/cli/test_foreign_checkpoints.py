"""Checkpoints of others: damaged, forged, incomplete, or away from their run."""

from __future__ import annotations

import json
import shutil
import sys
from types import SimpleNamespace

import pytest
import torch
import yaml

from datamodules import FakeTable
from lightning_renyicl.configuration import MOVED, RENAMED
from lightning_renyicl.modules import ContrastiveModule, CriticModule, TabularModule, VisionModule

EVIL = {"class_path": "canary.Evil"}
SAID = "which is no class of this project that belongs there: --trust_checkpoint true takes whatever it names"


@pytest.fixture
def edited(checkpoint, tmp_path):
    """A copy of the checkpoint that a function has changed."""

    def _edited(change, name="x.ckpt"):
        content = torch.load(checkpoint, weights_only=True)
        change(content)
        torch.save(content, tmp_path / name)
        return tmp_path / name

    return _edited


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """A module that leaves a mark when it is imported."""
    (tmp_path / "canary.py").write_text(
        "import lightning.pytorch as pl\nopen('mark', 'w')\nclass Evil(pl.Callback):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "mark"
    sys.modules.pop("canary", None)


def objective(content):
    content["hyper_parameters"]["objective"] = EVIL


def optimizer(content):
    content["hyper_parameters"]["optimizer"] = "canary.Evil"


def data(content):
    content["datamodule_hyper_parameters"]["views"][1] = EVIL


def model(content):
    content["hyper_parameters"]["_class_path"] = "canary.Evil"


def callbacks(content):
    content["run"]["callbacks"].append(EVIL)


FORGED = {"model.objective": objective, "model.optimizer": optimizer, "data.views": data, "model": model}


@pytest.mark.parametrize("kind", ["fit", "validate", "test", "predict"])
@pytest.mark.parametrize("place", FORGED)
def test_a_forged_checkpoint(command, edited, canary, kind, place):
    outcome = command(kind, "--ckpt_path", edited(FORGED[place]))
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith("error: --ckpt_path ")
    assert f"x.ckpt names 'canary.Evil' for {place}, {SAID}" in line
    assert not canary.exists()


@pytest.mark.parametrize("kind", ["validate", "test"])
def test_forged_callbacks(command, edited, canary, kind):
    outcome = command(kind, "--ckpt_path", edited(callbacks))
    assert outcome.code == 2
    assert f"x.ckpt names 'canary.Evil' for trainer.callbacks, {SAID}" in outcome.err
    assert not canary.exists()
    assert command("predict", "--ckpt_path", edited(callbacks)).code == 0  # which takes none
    assert not canary.exists()
    assert command(kind, "--ckpt_path", edited(callbacks), "--trust_checkpoint", "true").code == 0
    assert canary.exists()


def test_a_flag_that_refers_to_itself(command, checkpoint):
    outcome = command("test", "--ckpt_path", checkpoint, "--data", "&a [*a]")
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 1


def test_what_the_command_names_is_taken(command, edited, canary):
    flags = ("--trainer.callbacks+", "canary.Evil", "--trainer.default_root_dir", "mine")
    assert command("test", "--ckpt_path", edited(callbacks), *flags).code == 0
    assert canary.exists()


def test_a_configuration_beside_a_checkpoint(command, edited, canary, tmp_path):
    """That of a checkpoint of an earlier version, which has no callbacks of its own."""
    (tmp_path / "run/checkpoints").mkdir(parents=True)
    path = edited(lambda content: content.pop("run"), "run/checkpoints/last.ckpt")
    probe = {"class_path": "lightning_renyicl.callbacks.OnlineProbe"}  # where it once was
    (tmp_path / "run/config.yaml").write_text(yaml.safe_dump({"trainer": {"callbacks": [probe]}}))
    assert command("validate", "--ckpt_path", path).code == 0
    assert scores(tmp_path / "run/validate")
    (tmp_path / "run/config.yaml").write_text(yaml.safe_dump({"trainer": {"callbacks": [probe, EVIL]}}))
    outcome = command("validate", "--ckpt_path", path)
    assert outcome.code == 2
    assert f"run/config.yaml names 'canary.Evil' for trainer.callbacks, {SAID}" in outcome.err
    assert not canary.exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"words", b"trainer: 3", b"trainer: [", b"\xff\x00", b"- 1", b"trainer: {callbacks: 7}", b"a: &a [*a]"],
)
def test_a_damaged_configuration_beside_a_checkpoint(command, edited, tmp_path, content):
    (tmp_path / "run/checkpoints").mkdir(parents=True)
    path = edited(lambda content: content.pop("run"), "run/checkpoints/last.ckpt")
    (tmp_path / "run/config.yaml").write_bytes(content)
    outcome = command("test", "--ckpt_path", path)
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert "run/config.yaml" in line


class TestInPython:
    @pytest.mark.parametrize("place", ["model.objective", "model.optimizer", "model"])
    def test_a_forged_module(self, edited, canary, place):
        with pytest.raises(ValueError, match=r"x\.ckpt names 'canary\.Evil' for the module.*trust_checkpoint=True"):
            TabularModule.load_from_checkpoint(edited(FORGED[place]))
        assert not canary.exists()

    def test_forged_data(self, edited, canary):
        with pytest.raises(ValueError, match=r"x\.ckpt names 'canary\.Evil', which is no class of datamodules"):
            FakeTable.load_from_checkpoint(edited(data))
        assert not canary.exists()

    def test_other_things_than_data(self, edited, tmp_path):
        torch.save({"x": SimpleNamespace()}, tmp_path / "code.ckpt")
        torch.save([1], tmp_path / "list.ckpt")
        said = {
            tmp_path / "code.ckpt": r"code\.ckpt holds types\.SimpleNamespace, which is code, where",
            tmp_path / "list.ckpt": r"list\.ckpt is not a checkpoint of Lightning$",
            edited(lambda content: content.update(FakeTable=3), "3.ckpt"): r"3\.ckpt: FakeTable is no dictionary$",
            edited(lambda content: content.update(FakeTable={}), "0.ckpt"): "the checkpoint's part FakeTable has no",
            edited(lambda content: content.update(datamodule_hyper_parameters=3)): "hyper_parameters is no dictionary$",
        }
        for path, words in said.items():
            with pytest.raises(ValueError, match=words):
                FakeTable.load_from_checkpoint(path)
        with pytest.raises(FileNotFoundError, match="none"):
            FakeTable.load_from_checkpoint(tmp_path / "none.ckpt")

    def test_a_module_by_its_base(self, checkpoint):
        module = ContrastiveModule.load_from_checkpoint(checkpoint)
        assert type(module) is TabularModule
        assert module.hparams == {}
        assert ContrastiveModule.load_from_checkpoint(checkpoint, momentum=None, strict=False).momentum_target is None

    def test_another_module(self, checkpoint):
        for other in (CriticModule, VisionModule):
            with pytest.raises(ValueError, match=rf"last\.ckpt holds TabularModule, which is no {other.__name__}$"):
                other.load_from_checkpoint(checkpoint)

    @pytest.mark.parametrize("change", [{"objective": 3}, {"unknown": 1}, {"_class_path": "datamodules.FakeTable"}])
    def test_a_module_that_cannot_be_made(self, edited, change):
        path = edited(lambda content: content["hyper_parameters"].update(change))
        with pytest.raises(ValueError, match=r"x\.ckpt holds ") as caught:
            TabularModule.load_from_checkpoint(path)
        assert len(str(caught.value).splitlines()) == 1
        assert len(str(caught.value)) < 600

    def test_old_names(self, edited, monkeypatch):
        def age(content):
            content["hyper_parameters"]["objective"]["class_path"] = "somewhere.else.RMLCPC"
            content["hyper_parameters"]["ema"] = content["hyper_parameters"].pop("momentum")

        monkeypatch.setitem(MOVED, "somewhere.else.RMLCPC", "lightning_renyicl.objectives.RMLCPC")
        monkeypatch.setitem(RENAMED, "ema", "momentum")
        assert TabularModule.load_from_checkpoint(edited(age)).momentum_target.coefficient == 0.9


@pytest.mark.parametrize("part", ["optimizer_states", "lr_schedulers", "loops", "callbacks"])
@pytest.mark.parametrize("own", [True, False])
def test_a_training_does_not_start_anew_where_a_part_is_missing(command, edited, trained, fake, tmp_path, part, own):
    path = edited(lambda content: content.pop(part))
    flags = ["--ckpt_path", path, "--trainer.max_epochs", 5]
    if own:
        shutil.copytree(trained, tmp_path / "mine")
        (tmp_path / "mine/result.json").unlink()
        path.rename(tmp_path / "mine/checkpoints/last.ckpt")
        flags = []
    outcome = command("fit", "--config", fake, "--trainer.default_root_dir", "mine", *flags)
    assert outcome.code == 2
    line = outcome.err.splitlines()[-1]
    assert f".ckpt has no {part}: it is of weights alone, or incomplete, and a training cannot go on from it" in line


EMPTY = {
    "lr_schedulers": {"lr_schedulers": []},
    "lr_schedulers ": {"lr_schedulers": [{}]},
    "optimizer_states": {"optimizer_states": [{}]},
    "callbacks.OnlineProbe, callbacks.ResultJson": {"callbacks": {}},
    "callbacks.OnlineProbe": {"callbacks": {"OnlineProbe": {}}},
    "loops.fit_loop": {"loops": {"fit_loop": 3}},
}
OF_ANOTHER_TYPE = {
    "state_dict is no dictionary": {"state_dict": 3},
    "callbacks is no dictionary": {"callbacks": 3},
    "callbacks.OnlineProbe is no dictionary": {"callbacks": {"OnlineProbe": 3}},
    "lr_schedulers is no list": {"lr_schedulers": 3},
    "hyper_parameters is no dictionary": {"hyper_parameters": 3},
    "FakeTable is no dictionary": {"FakeTable": 3},
}


@pytest.mark.parametrize("part", ["hyper_parameters", "datamodule_hyper_parameters", "run"])
def test_a_part_that_refers_to_itself(command, edited, part):
    path = edited(lambda content: content[part].update(views=content[part]))
    outcome = command("test", "--ckpt_path", path)
    assert outcome.code == 2
    assert outcome.err == f"error: --ckpt_path {path}: {part} refers to itself, or is nested too deeply\n"


@pytest.mark.parametrize("missing", EMPTY)
def test_nor_where_it_is_empty(command, edited, fake, missing):
    path = edited(lambda content: content.update(EMPTY[missing]))
    outcome = command("fit", "--config", fake, "--ckpt_path", path, "--trainer.max_epochs", 5)
    assert outcome.code == 2
    assert f"x.ckpt has no {missing.strip()}: it is of weights alone, or incomplete" in outcome.err.splitlines()[-1]


def test_nor_where_that_of_the_data_is_missing(command, edited, fake):
    path = edited(lambda content: content.pop("FakeTable"))
    outcome = command("fit", "--config", fake, "--ckpt_path", path, "--trainer.max_epochs", 5)
    assert outcome.code == 2
    assert "x.ckpt has no FakeTable: it is of weights alone, or incomplete" in outcome.err.splitlines()[-1]


@pytest.mark.parametrize("kind", ["fit", "predict"])
def test_a_part_of_another_type(command, edited, kind):
    for said, part in OF_ANOTHER_TYPE.items():
        outcome = command(kind, "--ckpt_path", edited(lambda content, part=part: content.update(part)))
        assert (outcome.code, outcome.err.splitlines()[1:]) == (2, [])
        assert outcome.err.endswith(f"x.ckpt: {said}\n")
    outcome = command(kind, "--ckpt_path", edited(lambda content: content.pop("state_dict")))
    assert outcome.err.endswith("x.ckpt has no state_dict, and so no weights\n")


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes(byte ^ 0xFF for byte in content[middle : middle + 8]) + content[middle + 8 :]


@pytest.mark.parametrize(
    "damage", [flipped, lambda content: content[:-100], lambda content: b""], ids=["flipped", "cut", "emptied"]
)
class TestDamaged:
    def test_is_named(self, command, checkpoint, tmp_path, damage):
        (tmp_path / "x.ckpt").write_bytes(damage(checkpoint.read_bytes()))
        for kind in ("fit", "validate", "predict"):
            outcome = command(kind, "--ckpt_path", "x.ckpt")
            assert outcome.code == 2
            assert "error: --ckpt_path x.ckpt is not a checkpoint, or is damaged: " in outcome.err
        for of_it in (TabularModule, FakeTable):
            with pytest.raises(ValueError, match=r"x\.ckpt is not a checkpoint, or is damaged"):
                of_it.load_from_checkpoint(tmp_path / "x.ckpt")

    def test_a_run_goes_on_from_the_one_before(self, command, checkpoint, trained, fake, tmp_path, damage, recwarn):
        shutil.copytree(trained, tmp_path / "mine")
        (tmp_path / "mine/result.json").unlink()
        last = tmp_path / "mine/checkpoints/last.ckpt"
        last.rename(last.with_name("last.ckpt.before"))
        last.write_bytes(damage(checkpoint.read_bytes()))
        assert command("fit", "--config", fake, "--trainer.default_root_dir", "mine").code == 0
        assert any("last.ckpt is damaged: " in str(warning.message) for warning in recwarn)
        assert scores(tmp_path / "mine") == scores(trained)


def scores(folder):
    return json.loads((folder / "result.json").read_text())["metrics"]


class TestAwayFromItsRun:
    """Its protocols come along, and its run is found."""

    def test_deeper_in_its_run(self, command, trained, checkpoint, tmp_path):
        shutil.copytree(trained, tmp_path / "mine")
        place = tmp_path / "mine/best/online_probe"  # of a file name with a slash, as metrics have
        place.mkdir(parents=True)
        (tmp_path / "mine/checkpoints/last.ckpt").rename(place / "top1=0.9.ckpt")
        assert command("validate", "--ckpt_path", place / "top1=0.9.ckpt").code == 0
        assert scores(tmp_path / "mine/validate") == pytest.approx(scores(trained))

    def test_copied(self, command, trained, checkpoint, tmp_path):
        shutil.copy(checkpoint, tmp_path / "best.ckpt")
        assert command("validate", "--ckpt_path", "best.ckpt").code == 0
        assert scores(tmp_path / "runs/best/seed0/validate") == pytest.approx(scores(trained))

    def test_in_a_folder_of_the_users(self, command, fake, tmp_path):
        saver = "{class_path: lightning.pytorch.callbacks.ModelCheckpoint, init_args: {dirpath: best}}"
        (tmp_path / "own.yaml").write_text(f"trainer:\n  callbacks: [OnlineProbe, {saver}]\n  max_epochs: 1\n")
        assert command("fit", "--config", fake, "--config", "own.yaml").code == 0
        (path,) = (tmp_path / "best").iterdir()
        assert command("test", "--ckpt_path", path).code == 0
        assert scores(tmp_path / "runs/fake+own/seed0/test")

    @pytest.mark.parametrize("kind", ["validate", "test"])
    def test_nothing_to_evaluate(self, command, edited, tmp_path, kind):
        path = edited(lambda content: content["run"].update(callbacks=None))
        outcome = command(kind, "--ckpt_path", path)
        assert outcome.code == 2
        assert f"error: {kind} found no score: no protocol is named" in outcome.err
        assert not list(tmp_path.rglob("result.json"))
