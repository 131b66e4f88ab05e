"""What a checkpoint names is looked through before anything is imported."""

from __future__ import annotations

import random
import sys
from contextlib import suppress
from copy import deepcopy
from importlib import import_module
from inspect import isclass
from pathlib import Path

import pytest
import yaml
from jsonargparse import ArgumentParser
from lightning.pytorch import LightningDataModule, LightningModule

import datamodules
import datamodules.augmentations
from lightning_renyicl import encoders, heads, lars, modules, objectives, optim
from lightning_renyicl.trust import OF_EVALUATIONS, Trust, names_in

MODEL = {
    "class_path": "lightning_renyicl.modules.TabularModule",
    "init_args": {
        "backbone": {"class_path": "lightning_renyicl.encoders.MLP", "init_args": {"widths": [4, 4], "maxout_sets": 1}},
        "in_features": 3,
        "projector": {"class_path": "lightning_renyicl.heads.MLPHead", "init_args": {"widths": [4, 2]}},
        "objective": {"class_path": "lightning_renyicl.objectives.RMLCPC", "init_args": {"alpha": 0.1, "gamma": 1.5}},
        "optimizer": {"class_path": "torch.optim.SGD", "init_args": {"lr": 0.1, "nesterov": False}},
        "scheduler": {"class_path": "lightning_renyicl.optim.WarmupCosine", "init_args": {"warmup_epochs": 1}},
        "momentum": 0.9,
    },
}
VIEW = {"class_path": "datamodules.augmentations.RandomMask", "init_args": {"rate": 0.5}}
NESTED = {"class_path": "datamodules.augmentations.Compose", "init_args": {"augmentations": [VIEW]}}
DATA = {
    "class_path": "datamodules.FakeTable",
    "init_args": {"views": [VIEW, NESTED], "batch_size": 4, "num_samples": 32, "in_features": 3},
}
SECTIONS = {"model": (LightningModule, MODEL), "data": (LightningDataModule, DATA)}


def trust(**arguments):
    return Trust("x.ckpt", "remedy", **arguments)


def make(base, section):
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(base, "it")
    return parser.instantiate_classes(parser.parse_object({"it": section})).it


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """A module that an attacker has put on the path, and files that name it; whether it has been imported."""
    (tmp_path / "canary.py").write_text("class Evil:\n    def __init__(self, **_): pass\ndef evil(*_, **__): pass\n")
    (tmp_path / "evil.yaml").write_text("class_path: canary.Evil\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("canary", None)
    yield lambda: sys.modules.pop("canary", None) is not None
    sys.modules.pop("canary", None)


def payload(draw):
    """Something that names the canary, in one of the ways in which jsonargparse takes a class or a function."""
    name = draw.choice(["canary.Evil", "canary.evil"])
    plain = {"class_path": name, "init_args": {}}
    inner = draw.choice([plain, name])
    return draw.choice(
        [
            name,
            plain,
            {"class_path": name},
            [plain],
            {"init_args": plain},
            {"a": inner},
            {"class_path": "datamodules.base.canary"},
            {"class_path": "canary.Evil.__init__"},
            {"class_path": plain},
            {"class_path": "datamodules.augmentations.Compose", "init_args": {"augmentations": [inner]}},
            {"class_path": "torch.optim.lr_scheduler.LambdaLR", "init_args": {"lr_lambda": inner}},
            {"class_path": "torch.optim.SGD", "init_args": {"lr": inner}},
            {"class_path": "torch.optim.SGD", "dict_kwargs": {"x": inner}},
            {"class_path": "datamodules.Graphs", "init_args": {"views": [VIEW, VIEW], "dataset": inner}},
            {
                "class_path": "lightning_renyicl.encoders.TimmModel",
                "init_args": {"name": "x", "arguments": {"a": inner}},
            },
            {"class_path": "datamodules.Identity", "init_args": "evil.yaml"},
            {"class_path.x": name},
            "evil.yaml",
            "{class_path: canary.Evil}",
            '{"class\\x5fpath": canary.Evil}',
            "[{class_path: canary.Evil}]",
            yaml.safe_dump({"a": plain}),
        ]
    )


def places(tree):
    """Every dictionary and list in a tree, with each of its keys."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield tree, key
        yield from places(value)


def forge(draw, section):
    forged = deepcopy(section)
    for _ in range(draw.choice([1, 1, 2])):
        holder, key = draw.choice(list(places(forged)))
        if isinstance(holder, dict) and draw.random() < 0.3:
            key = draw.choice(["extra", "a.class_path", f"{key}.class_path", f"{key}+", "dict_kwargs", "__path__"])
        holder[key] = deepcopy(payload(draw))
    return forged


@pytest.mark.parametrize("kind", SECTIONS)
def test_whatever_is_forged_nothing_is_imported(canary, kind):
    base, section = SECTIONS[kind]
    draw = random.Random(kind)
    refused = 0
    for _ in range(200):
        forged = forge(draw, section)
        with suppress(Exception):
            refused += 1
            trust().check(forged, None, kind)
            refused -= 1
            make(base, forged)  # it was text where text belongs, say
        assert not canary(), forged
    assert refused > 150


def test_without_a_look_it_would_be(canary):
    """What the test above rests on: the parser imports what it is given."""
    forged = deepcopy(MODEL)
    forged["init_args"]["optimizer"] = "canary.evil"
    with pytest.raises(Exception, match="optimizer"):
        make(LightningModule, forged)
    assert canary()


@pytest.mark.parametrize("kind", SECTIONS)
def test_what_runs_save_is_taken(kind):
    base, section = SECTIONS[kind]
    trust().check(section, None, kind)
    assert isinstance(make(base, section), base)


def test_every_class_of_ours_is_taken():
    packages = [datamodules, datamodules.augmentations, modules, encoders, heads, objectives, optim, lars]
    classes = {each for package in packages for each in vars(package).values() if isclass(each)}
    ours = [each for each in classes if each.__module__.startswith(("datamodules", "lightning_renyicl"))]
    assert len(ours) > 60
    for each in ours:
        assert trust().class_of(f"{each.__module__}.{each.__name__}", "it") is each


@pytest.mark.parametrize(
    "path",
    [
        "os.system",
        "subprocess.Popen",
        "datamodules.base.torch",
        "lightning_renyicl.cli.RenyiCLI",
        "lightning_renyicl.callbacks.StepTimer",
        "lightning_renyicl.tables.running.worker.Worker",
        "lightning_renyicl.__main__.main",
        "torch.utils.data.DataLoader",
        "RMLCPC",
        "datamodules",
        "",
        ".",
        None,
        3,
        ["datamodules.FakeTable"],
    ],
)
def test_what_is_not_taken(path):
    for packages in ({}, {"packages": OF_EVALUATIONS}):
        with pytest.raises(ValueError, match=r"x\.ckpt names .* for it, which is no class of this project.*: remedy"):
            trust(**packages).class_of(path, "it")


def test_what_the_user_names_is_taken(canary):
    with pytest.raises(ValueError, match=r"names 'canary\.Evil'"):
        trust().check({"class_path": "canary.Evil"}, None, "it")
    trust(named={"canary.Evil"}).check({"class_path": "canary.Evil"}, None, "it")
    import_module("canary")
    trust(named={"Evil"}).check({"class_path": "canary.Evil"}, None, "it")
    with pytest.raises(ValueError, match=r"names 'canary\.evil'"):
        trust(named={"canary.evil"}).check({"class_path": "canary.evil"}, None, "it")


@pytest.mark.parametrize(
    "text", ["{class_path: canary.Evil}", '{"class\\x5fpath": canary.Evil}', "[{a: {class_path: canary.Evil}}]"]
)
def test_yaml_in_text_where_anything_may_stand(canary, text):
    network = {
        "class_path": "lightning_renyicl.encoders.TimmModel",
        "init_args": {"name": "x", "arguments": {"a": text}},
    }
    with pytest.raises(ValueError, match=r"names 'canary\.Evil' for model\.arguments\.a"):
        trust().check(network, None, "model")
    assert not canary()


@pytest.mark.parametrize("text", ["os.system", "a/b.csv", "{x: 1}", "label", "2016-13-45", "[a", "", "🙂", "&a [*a]"])
def test_text_is_text_where_text_belongs(text):
    table = {"class_path": "datamodules.Table", "init_args": {"views": [VIEW, VIEW], "file": text, "drop": [text]}}
    trust().check(table, None, "data")


@pytest.mark.parametrize("deep", [lambda x: [x], lambda x: {"a": x}], ids=["lists", "dictionaries"])
def test_what_is_nested_without_end(deep):
    tree = 0
    for _ in range(3000):
        tree = deep(tree)
    with pytest.raises(ValueError, match="nested too deeply"):
        trust().check(tree, None, "it")


def test_other_types_are_refused():
    with pytest.raises(ValueError, match=r"x\.ckpt: it\.a is a set, not text, a number or a list"):
        trust().check({"a": {1}}, None, "it")


def test_names():
    assert set(names_in({"a": ["x.Y", "two words", {"b": "Z"}], "c": 1, "d": Path("p")})) == {"x.Y", "Z"}
