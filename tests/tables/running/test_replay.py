"""A run made tiny tells whether code still gives the numbers of a result."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lightning_renyicl.tables.check import cover
from lightning_renyicl.tables.check import main as check
from lightning_renyicl.tables.running.replay import Recorded, Replay, differences, limit, mark, read_replay, smaller
from lightning_renyicl.tables.training import Run, Training, merge
from tests.tables.running import edits

RUN = Run(Training("toy", "small", "tiny", ("configs/tiny.yaml",), "test"), 0, Path("runs"))


@pytest.fixture(scope="module")
def edited(once):
    """What replays of edited copies of the code differ in, by edit, and the replays themselves."""

    def _replay(_):
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, edits.__file__], capture_output=True, text=True, env=environment)
        assert not done.returncode, done.stderr
        return json.loads(done.stdout)

    return once("edits", _replay)


@pytest.mark.slow
class TestEdits:
    @pytest.mark.parametrize("name", edits.REAL)
    def test_of_what_is_computed_are_found(self, edited, name):
        lines = edited["differences"][name]
        assert lines
        shows = edits.REAL[name].shows
        assert all(shows in line for line in lines), lines

    @pytest.mark.parametrize(
        "name", ["momentum that is constant", "loss times two", "GIN without BatchNorm", "no warm-up"]
    )
    def test_of_the_training_are_found_on_another_processor(self, edited, name):
        assert edited["across"][name]

    def test_nor_are_schedules_lost_there(self, edited):
        assert edited["across"]["last tenth of the schedule"] == edited["differences"]["last tenth of the schedule"][:1]

    @pytest.mark.parametrize("name", edits.NONE)
    def test_of_nothing_else_are(self, edited, name):
        config = edits.NONE[name].config
        assert edited["replays"][name] == edited["replays"][config]  # to the last digit


@pytest.mark.slow
class TestValues:
    """What a replay of a run with everything holds."""

    def test_every_step(self, edited):
        values = edited["replays"]["rows"]
        for name in ("train/loss", "train/momentum", "train/feature_std", "learning_rate"):
            assert len(values[name]) == 16

    def test_the_whole_schedule(self, edited):
        rates, momenta = (edited["replays"]["rows"][name] for name in ("learning_rate", "train/momentum"))
        # after a step: two steps of warm-up, then a half cosine over fourteen
        shape = [2 / 3, 1.0] + [(1 + math.cos(math.pi * k / 14)) / 2 for k in range(1, 15)]
        assert rates == pytest.approx([0.005 * each for each in shape], abs=1e-12)
        assert (momenta[0], momenta[-1]) == pytest.approx((0.9, 1.0))

    def test_validation_in_the_middle_and_at_the_end(self, edited):
        assert len(edited["replays"]["rows"]["fit/online_probe/top1"]) == 2

    def test_every_protocol_and_part(self, edited):
        names = edited["replays"]["rows"].keys()
        protocols = ("linear_sgd", "knn", "pseudo_inverse", "gradient_boosting", "raw/knn")
        assert {f"test/{name}/top1" for name in protocols} | {f"fingerprint/{name}" for name in protocols} <= names
        assert {f"weights/{name}" for name in ("backbone", "projector", "momentum_target")} <= names
        assert {"state/OnlineProbe", "test/online_probe/top1", "fit/mutual_information/by_anchor"} <= names

    def test_a_run_of_two_epochs_has_all_steps_in_them(self, edited):
        assert len(edited["replays"]["pairs"]["train/bound"]) == 16
        assert len(edited["replays"]["pairs"]["fit/information_error/2/estimate/mse"]) == 2

    def test_folds(self, edited):
        assert {"fit/svm/fold0/accuracy", "test/svm/fold1/validation"} <= edited["replays"]["graphs"].keys()


class TestDifferences:
    VALUES = {"train/loss": [1.0, 2.0, 3.0], "test/top1": [0.5], "learning_rate": [0.1, 0.05]}  # noqa: RUF012

    def compare(self, kind="", **now):
        changed = {
            name.replace("_", "/", 1) if name != "learning_rate" else name: values for name, values in now.items()
        }
        return differences(Recorded(self.VALUES), Recorded(self.VALUES | changed, kind))

    def test_none(self):
        assert self.compare() == []

    def test_the_first_value(self):
        assert self.compare(train_loss=[1.0, 2.1, 3.1]) == ["train/loss, value 2 of 3, is 2.1, was 2"]

    def test_a_single_value(self):
        assert self.compare(test_top1=[0.6]) == ["test/top1 is 0.6, was 0.5"]

    def test_what_is_gone(self):
        now = {name: values for name, values in self.VALUES.items() if name != "test/top1"}
        assert differences(Recorded(self.VALUES), Recorded(now)) == ["test/top1 is gone"]

    def test_another_number_of_values(self):
        assert self.compare(train_loss=[1.0]) == ["train/loss has 1 values, not 3"]

    def test_what_is_new_is_none(self):
        assert self.compare(train_more=[1.0]) == []

    @pytest.mark.parametrize(("now", "own", "across"), [
        ({"train_loss": [1.0, 2.0 + 1e-4, 3.0]}, True, False),
        ({"train_loss": [1.0 + 1e-3, 2.0, 3.0]}, True, True),
        ({"test_top1": [0.54]}, True, False),
        ({"learning_rate": [0.1, 0.0501]}, True, True),
        ({"train_loss": [1.0 + 1e-8, 2.0, 3.0]}, False, False),
    ])  # fmt: skip
    def test_rounding_may_grow_on_another_processor(self, now, own, across):
        assert bool(self.compare(**now)) is own
        assert bool(self.compare("another", **now)) is across

    @pytest.mark.parametrize(("one", "other", "same"), [
        (math.nan, math.nan, True), (math.nan, 1.0, False), (1.0, math.nan, False), (math.inf, math.inf, True),
        (math.inf, 1.0, False), (1.0, 1.0 + 1e-8, True), (1e6, 1e6 + 0.1, True), (0.0, 1e-8, True), (0.5, 0.55, False),
    ])  # fmt: skip
    def test_numbers(self, one, other, same):
        assert (differences(Recorded({"a": [one]}), Recorded({"a": [other]})) == []) is same


class TestTiny:
    def test_configurations_are_laid_over_each_other(self):
        first = {"trainer": {"max_epochs": 4, "devices": 1}, "model": {"a": [1, 2]}}
        assert merge([first, {"trainer": {"max_epochs": 8}, "model": {"a": [3]}}]) == {
            "trainer": {"max_epochs": 8, "devices": 1},
            "model": {"a": [3]},
        }
        assert first["trainer"]["max_epochs"] == 4

    def test_epochs_of_the_training_shrink(self):
        section = {"init_args": {"scheduler": {"init_args": {"warmup_epochs": 10, "other": 3}}, "freeze_epochs": 200}}
        assert smaller(section, 8 / 400) == {
            "init_args": {"scheduler": {"init_args": {"warmup_epochs": 1}}, "freeze_epochs": 4}
        }
        assert smaller({"warmup_epochs": 0}, 0.1) == {"warmup_epochs": 0}
        assert smaller({"widths": [8], "epochs": 3}, 0.1) == {}

    @pytest.mark.parametrize("rate", [0.5, "5e-1"])
    def test_so_does_the_learning_rate(self, rate):
        optimizer = {"optimizer": {"class_path": "torch.optim.SGD", "init_args": {"lr": rate, "momentum": 0.9}}}
        assert smaller(optimizer, 0.1) == {"optimizer": {"init_args": {"lr": 0.005}}}

    @pytest.mark.parametrize(("own", "expected"), [(None, 2), (1, 1), (5, 2), (1.0, 2), (0.5, 2)])
    def test_batches_of_an_epoch(self, own, expected):
        assert limit(own, 2) == expected

    @pytest.mark.parametrize(
        ("epochs", "tiny", "batches"), [(500, 8, 2), (4, 4, 4), (1, 1, 16), (None, 8, 2), (-1, 8, 2)]
    )
    def test_steps(self, tmp_path, monkeypatch, epochs, tiny, batches):
        monkeypatch.chdir(tmp_path)
        Path("configs").mkdir()
        Path("configs/tiny.yaml").write_text(json.dumps({"trainer": {"max_epochs": epochs}}))
        (fit, _), (test, _) = Replay(RUN, Path("replay.json")).commands(tmp_path)
        assert {f"--trainer.max_epochs={tiny}", f"--trainer.limit_train_batches={batches}"} <= {*fit} & {*test}
        assert (fit[0], test[0]) == ("fit", "test")


class TestReading:
    def test_none(self, tmp_path):
        assert read_replay(tmp_path / "replay.json") is None

    @pytest.mark.parametrize("text", ["", "[]", "{}", "{"])
    def test_a_file_that_is_none(self, tmp_path, text):
        (tmp_path / "replay.json").write_text(text)
        with pytest.raises(ValueError, match=r"replay\.json is not a replay"):
            read_replay(tmp_path / "replay.json")


class TestMark:
    @pytest.fixture(autouse=True)
    def _results(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for seed in (0, 1, 3):
            folder = Path(f"runs/toy/small/tiny/seed{seed}")
            (folder / "test").mkdir(parents=True)
            (folder / "test/result.json").write_text("{}")
        for other in ("seed2", "seed0-old", "seed0.lock"):  # without a result, and no seeds
            Path(f"runs/toy/small/tiny/{other}").mkdir()

    def marked(self):
        return sorted(path.parent.name for path in Path("runs").rglob("outdated.txt"))

    def test_every_seed(self):
        mark(RUN, ["train/loss is gone", "a is gone"])
        assert self.marked() == ["seed0", "seed1", "seed3"]
        assert RUN.outdated.read_text() == "train/loss is gone\na is gone\n"

    def test_the_others_when_the_first_was_made_anew(self):
        mark(RUN, ["train/loss is gone"], own=False)
        assert self.marked() == ["seed1", "seed3"]

    def test_goes(self):
        mark(RUN, ["train/loss is gone"])
        mark(RUN, [])
        assert self.marked() == []


def test_a_sample_shows_what_was_not_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, classes in {"a": "AB", "b": "AB", "c": "CD", "d": "ABX"}.items():
        Path(f"{name}.yaml").write_text(json.dumps({"callbacks": [{"class_path": each} for each in classes]}))
    runs = [Run(Training("toy", "small", name, (f"{name}.yaml",), "val"), 0, Path("runs")) for name in "abcd"]
    assert [run.training.name for run in cover(runs, 2)] == ["d", "c"]
    assert len(cover(runs, 9)) == 4


class TestCheck:
    """``make check-results`` on a table of one's own."""

    def run(self, project, capsys, *arguments):
        code = project.inside(lambda: check(["toy", "--runs=runs", *arguments]))
        return code, capsys.readouterr()

    def test_nothing_differs(self, copied, capsys):
        assert (copied.cell() / "replay.json").exists()
        code, printed = self.run(copied, capsys, "--sample=1")
        assert (code, printed.out) == (0, "1 same\n")

    def test_what_differs_is_named_and_makes_the_result_stale(self, copied, capsys):
        path = copied.cell() / "replay.json"
        replay = json.loads(path.read_text())
        replay["values"]["train/loss"][2] += 1
        path.write_text(json.dumps(replay))
        shutil.rmtree(copied.cell("tiny+long"))
        shutil.rmtree(copied.cell("tiny+cpc"))
        (copied.cell("tiny+cpc+long") / "replay.json").unlink()
        code, printed = self.run(copied, capsys)
        assert code == 1
        assert printed.out.endswith("\n1 differs, 1 unknown\n")
        assert "runs/toy/small/tiny: differs\n  train/loss, value 3 of 16, is" in printed.out
        assert "RECORD=1" in printed.out
        code, output = copied.run("--jobs=2")
        assert "Stale: tiny (replayed today train/loss, value 3 of 16, is" in output
        assert "Without a replay, so that a change of code cannot be seen: tiny+cpc+long." in output

    def test_a_replay_is_recorded_if_asked_for(self, copied, capsys):
        before = (copied.cell() / "replay.json").read_text()
        for name in ("tiny+cpc", "tiny+long", "tiny+cpc+long"):
            shutil.rmtree(copied.cell(name))
        (copied.cell() / "replay.json").unlink()
        code, printed = self.run(copied, capsys, "--record")
        assert (code, printed.out) == (0, "1 recorded\n")
        assert json.loads((copied.cell() / "replay.json").read_text()) == json.loads(before)

    @pytest.mark.slow
    def test_stale_results_are_made_again_with_their_replay(self, copied):
        path = copied.cell() / "replay.json"
        replay = json.loads(path.read_text())
        right = replay["values"]["train/loss"][0]
        replay["values"]["train/loss"][0] += 1
        path.write_text(json.dumps(replay))
        before = copied.counts()
        code, output = copied.run("--jobs=2", "--rerun=stale")
        assert code == 0, output
        after = copied.counts()
        assert {name for name in after if after[name] != before.get(name)} == {"tiny/seed0-old"}
        assert json.loads(path.read_text())["values"]["train/loss"][0] == right
        assert not (copied.cell() / "outdated.txt").exists()

    def test_without_results(self, project, capsys):
        code, printed = self.run(project, capsys)
        assert (code, printed.err) == (2, "error: runs has no result of toy\n")

    def test_without_its_data(self, copied, capsys):
        for name in ("tiny+cpc", "tiny+long", "tiny+cpc+long"):
            shutil.rmtree(copied.cell(name))
        path = copied.cell() / "result.json"
        files = {"files": {"data/rows.csv": {"size": 1, "mtime_ns": 0, "sha256": ""}}}
        path.write_text(json.dumps(json.loads(path.read_text()) | {"data": {"name": "Rows", **files}}))
        code, printed = self.run(copied, capsys)
        assert "1 not replayed: data/rows.csv is not here" in printed.out
        assert code == 2
