"""Where a run goes by its configuration, without training one."""

from __future__ import annotations

import hashlib
import json
import os
from inspect import isclass, signature
from pathlib import Path

import pytest
import torch
import yaml

import datamodules
from lightning_renyicl.checkpoints import before
from lightning_renyicl.runs.comparison import comparable
from lightning_renyicl.runs.folder import RunFolder, default_path, find

CONFIG = {
    "seed_everything": 0,
    "trainer": {"max_epochs": 2, "default_root_dir": None, "callbacks": [{"class_path": "OnlineProbe"}]},
    "model": {"class_path": "M", "init_args": {"alpha": 0.1}},
    "data": {"class_path": "D"},
    "ckpt_path": None,
}


def changed(**parts):
    return {**CONFIG, **parts}


def occupy(path, config=CONFIG, text=None):
    path.mkdir(parents=True)
    (path / "config.yaml").write_text(yaml.safe_dump(config) if text is None else text)
    return path


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["configs/a.yaml"], "runs/a/seed3"),
        (["/x/a.yaml", "b.yml"], "runs/a+b/seed3"),
        (["digits.v2.yaml"], "runs/digits.v2/seed3"),
        ([], "runs/no-config/seed3"),
    ],
)
def test_default_path(files, expected):
    assert default_path(files, 3).as_posix() == expected


@pytest.mark.parametrize(
    "same",
    [
        {"ckpt_path": "x.ckpt"},
        {"config": ["a.yaml"]},
        {"fresh": True},
        {"fixed_folder": True},
        {"trainer": {**CONFIG["trainer"], "default_root_dir": "elsewhere"}},
        {"trainer": {**CONFIG["trainer"], "enable_progress_bar": False}},
        {"trainer": {**CONFIG["trainer"], "accelerator": "gpu", "devices": 2, "num_nodes": 2, "strategy": "ddp"}},
    ],
    ids=lambda part: next(iter(part)),
)
def test_how_a_run_was_asked_for_is_no_part_of_it(same):
    assert comparable(changed(**same)) == comparable(CONFIG)


@pytest.mark.parametrize(("class_path", "same"), [("datamodules.CIFAR10", True), ("datamodules.ImageFolder", False)])
def test_a_root_is_where_data_lies_or_the_data(class_path, same):
    here, there = (
        changed(data={"class_path": class_path, "init_args": {"root": root, "num_workers": workers}})
        for root, workers in (("a", 1), ("b", 2))
    )
    assert (comparable(here) == comparable(there)) == same
    for root in ("a", "a/", "./a", str(Path.cwd() / "a")):
        there["data"]["init_args"]["root"] = root
        assert comparable(here) == comparable(there)


def test_a_class_is_the_same_wherever_its_file_lies():
    before, after, other = (
        changed(data={"class_path": "D", "init_args": {"views": [{"class_path": f"{home}.Identity"}]}})
        for home in ("datamodules.augmentations", "datamodules.elsewhere", "torch.nn")
    )
    assert comparable(before) == comparable(after) != comparable(other)


def test_every_root_of_a_named_data_set_is_a_place():
    classes = [data for data in vars(datamodules).values() if isclass(data)]
    with_root = {data for data in classes if "root" in signature(data).parameters}
    assert {data.__name__ for data in with_root if not data.ROOT_IS_A_PLACE} == {"ImageFolder"}
    assert {data for data in classes if getattr(data, "ROOT_IS_A_PLACE", False)} <= with_root


@pytest.mark.parametrize("class_path", ["CIFAR10", "nowhere.Data", "datamodules.Gone", "", None])
def test_a_root_of_data_that_nothing_is_known_of_is_the_data(class_path):
    here, there = (changed(data={"class_path": class_path, "init_args": {"root": root}}) for root in "ab")
    assert comparable(here) != comparable(there)


def test_a_failure_leaves_a_folder_with_results_its_configuration(tmp_path):
    run = occupy(tmp_path / "test")
    (run / "result.json").write_text("{}")
    RunFolder(run).write_error("Traceback", started=False)
    assert (run / "config.yaml").exists()


@pytest.mark.parametrize(
    "other",
    [
        {"seed_everything": 1},
        {"trainer": {**CONFIG["trainer"], "max_epochs": 3}},
        {"model": {"class_path": "M", "init_args": {"alpha": 0.2}}},
        {"data": {"class_path": "E"}},
    ],
    ids=lambda part: next(iter(part)),
)
def test_what_changes_a_run_is(tmp_path, other):
    occupy(tmp_path / "seed0")
    assert find(tmp_path / "seed0", changed(**other)).path == tmp_path / "seed0-2"


def test_where_only_one_folder_will_do(tmp_path):
    (tmp_path / "config.yaml").write_text("trainer: {max_epochs: 3, devices: 1}\n")
    assert find(tmp_path, {"trainer": {"max_epochs": 3, "devices": 2}}, fixed=True).path == tmp_path
    with pytest.raises(ValueError, match=r"holds another configuration \(trainer.max_epochs\): move or delete it"):
        find(tmp_path, {"trainer": {"max_epochs": 4, "devices": 1}}, fixed=True)


class TestFind:
    def test_free(self, tmp_path):
        assert find(tmp_path / "new", CONFIG).path == tmp_path / "new"
        (tmp_path / "empty").mkdir()
        assert find(tmp_path / "empty", CONFIG).path == tmp_path / "empty"

    def test_own(self, tmp_path):
        occupy(tmp_path / "seed0")
        assert find(tmp_path / "seed0", CONFIG).path == tmp_path / "seed0"

    def test_own_behind_others(self, tmp_path):
        occupy(tmp_path / "seed0", changed(seed_everything=8))
        occupy(tmp_path / "seed0-2", changed(seed_everything=9))
        occupy(tmp_path / "seed0-3")
        assert find(tmp_path / "seed0", CONFIG).path == tmp_path / "seed0-3"

    @pytest.mark.parametrize("text", ["model: [", "a: b: c"])
    def test_damaged_configuration(self, tmp_path, text):
        occupy(tmp_path / "seed0", text=text)
        with pytest.raises(ValueError, match=r"config\.yaml is not YAML; mend or delete it"):
            find(tmp_path / "seed0", CONFIG)

    @pytest.mark.parametrize("text", ["", "words", "trainer: 3"])
    def test_a_file_that_is_no_configuration_is_anothers(self, tmp_path, text):
        occupy(tmp_path / "seed0", text=text)
        assert find(tmp_path / "seed0", CONFIG).path == tmp_path / "seed0-2"


class TestResult:
    def test_none_of_an_unfinished_run(self, tmp_path):
        assert RunFolder(tmp_path).result is None

    def test_of_a_finished_run(self, tmp_path):
        (tmp_path / "result.json").write_text(json.dumps({"metrics": {"probe/top1": 0.9, "probe/loss": None}}))
        assert RunFolder(tmp_path).result["metrics"] == {"probe/top1": 0.9, "probe/loss": None}

    @pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"score": 1}', '{"metrics": []}', "[" * 9**5, b"\x80\xff"])
    def test_damaged(self, tmp_path, text):
        (tmp_path / "result.json").write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ValueError, match=r"result\.json is not a result file .*; delete it to run again"):
            _ = RunFolder(tmp_path).result

    @pytest.mark.parametrize("data", [3, {"files": 3}, {"files": {__file__: {}}}, {"files": [__file__]}])
    def test_foreign_data(self, tmp_path, data):
        with pytest.raises(ValueError, match=r"result\.json is damaged \(data\.files\)"):
            RunFolder(tmp_path).check_data({"metrics": {}, "data": data}, tmp_path / "result.json", "finished")


@pytest.mark.parametrize(
    ("files", "expected"),
    [({"size": 3}, True), ({"size": 2, "mtime_ns": 0, "sha256": hashlib.sha256(b"12").hexdigest()}, False), (3, False)],
)
def test_begun_with_other_data(tmp_path, files, expected):
    folder = RunFolder(tmp_path)
    assert not folder.begun_with_other_data()
    (tmp_path / "rows.csv").write_bytes(b"12")
    record = {"data": {"files": {str(tmp_path / "rows.csv"): files}}}
    folder.checkpoint.parent.mkdir()
    content = {"pytorch-lightning_version": "2.6", "state_dict": {}}
    torch.save(content, folder.checkpoint)
    assert not folder.begun_with_other_data()  # of an earlier version
    torch.save({**content, "run": record}, folder.checkpoint)
    assert folder.begun_with_other_data() is expected


def test_error_log_comes_and_goes(tmp_path):
    folder = RunFolder(tmp_path / "new")
    folder.forget_error()
    folder.write_error("Traceback", started=True)
    assert (tmp_path / "new/error.log").read_text() == "Traceback"
    folder.forget_error()
    assert not (tmp_path / "new/error.log").exists()


def save(path, age):
    torch.save({"age": age}, path)
    os.utime(path, (age, age))


def test_latest_is_the_newest_checkpoint(tmp_path):
    folder = RunFolder(tmp_path)
    assert folder.latest() is None
    folder.checkpoint.parent.mkdir()
    requeue = tmp_path / "hpc_ckpt_1.ckpt"
    for age, path in enumerate((requeue, folder.checkpoint)):
        save(path, age)
        assert folder.latest() == path
    os.utime(requeue, (2, 2))
    assert folder.latest() == requeue


def test_a_damaged_checkpoint_makes_way_for_the_one_before(tmp_path):
    folder = RunFolder(tmp_path)
    folder.checkpoint.parent.mkdir()
    save(folder.checkpoint, 2)
    save(before(folder.checkpoint), 1)
    folder.checkpoint.write_bytes(folder.checkpoint.read_bytes()[:-9])
    os.utime(folder.checkpoint, (2, 2))
    with pytest.warns(UserWarning, match=r"last\.ckpt is damaged: .*: last\.ckpt\.before is used in its place"):
        assert folder.latest() == before(folder.checkpoint)
    before(folder.checkpoint).write_bytes(b"")
    with pytest.raises(ValueError, match=r"last\.ckpt is damaged: .*--fresh true starts over"):
        folder.latest()


def test_clear_takes_runs_alone(tmp_path):
    RunFolder(tmp_path / "none").clear()
    (tmp_path / "mine").mkdir()
    RunFolder(tmp_path / "mine").clear()
    assert (tmp_path / "mine").exists()
    run = occupy(tmp_path / "run")
    (run / "hpc_ckpt_3.ckpt").touch()
    (run / "thesis.tex").touch()
    RunFolder(run).clear()
    assert [path.name for path in run.iterdir()] == ["thesis.tex"]
