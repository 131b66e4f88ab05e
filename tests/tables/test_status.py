"""What a run's folder says of it."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
import yaml

from lightning_renyicl import provenance
from lightning_renyicl.lock import lock
from lightning_renyicl.runs.folder import RunFolder
from lightning_renyicl.tables.running.worker import Worker
from lightning_renyicl.tables.training import Run, Status, Training, only_in_test, status

BASE = "configs/base.yaml"
HARD = "configs/hard.yaml"
CONTENT = {
    BASE: {"trainer": {"max_epochs": 4}, "model": {"init_args": {"alpha": 0.1, "widths": [8, 4]}}},
    HARD: {"data": {"rate": 0.5}},
}
FITTED = {"metrics": {"probe/top1": 0.5}, "config": {"trainer": {"max_epochs": 4}}, "seconds": 30.5}
TESTED = {"metrics": {"probe/top1": 0.25}, "config": {}, "seconds": 2.25}
DATA = {"name": "Rows", "samples": {"train": 8}}


@pytest.fixture(autouse=True)
def _in_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    provenance._digest.cache_clear()
    for path, content in CONTENT.items():
        write_config(path, json.dumps(content))
    yield
    provenance._digest.cache_clear()


@pytest.fixture(params=["test", "val"])
def run(request):
    """A run of two configurations, of which nothing is there."""
    return make(request.param)


@pytest.fixture
def done(run):
    """A finished run."""
    return leave(run)


def make(split="test", flags=(), configs=(BASE, HARD), seed=3):
    return Run(Training("table5", "small", "base+hard", configs, split), seed, Path("runs"), flags)


def write_config(path, text):
    """Every content with a time of change of its own, on file systems with coarse clocks too."""
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(text)
    time = int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)
    os.utime(path, ns=(time, time))


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def request(run, configs=CONTENT, flags=()):
    """What the table asked for when the run began."""
    write(run.request, {"configs": configs, "flags": list(flags)})


def leave(run, fitted=FITTED, tested=TESTED):
    """What a finished run leaves."""
    request(run)
    write(run.fitted, fitted)
    if run.training.split == "test":
        write(run.result, tested)
    return run


class TestPaths:
    def test_of_a_run(self, run):
        folder = Path("runs/table5/small/base+hard/seed3")
        assert run.folder == folder
        assert run.lock == Path("runs/table5/small/base+hard/seed3.lock")  # set aside with the folder it would be free
        assert (run.log, run.failure, run.request) == tuple(folder / n for n in ("log.txt", "failed.txt", "cell.json"))

    def test_of_the_score(self):
        folder = Path("runs/table5/small/base+hard/seed3")
        tested, validated = make("test"), make("val")
        assert tested.fitted == validated.fitted == folder / "result.json"
        assert tested.result == folder / "test" / "result.json"
        assert validated.result == folder / "result.json"

    def test_flags_and_seeds_are_runs_of_their_own(self):
        assert len({make(), make(), make("val"), make(seed=4), make(flags=("--a=1",))}) == 4


class TestState:
    def test_missing(self, run):
        assert status(run) == Status("missing")
        assert not run.folder.exists()

    def test_missing_with_a_lock_that_nobody_holds(self, run):
        with lock(run.lock):
            pass
        assert status(run) == Status("missing")

    def test_stopped(self, run):
        request(run)
        assert status(run) == Status("stopped")

    def test_failed(self, run):
        request(run)
        write(run.failure, "fit ended with exit code 1; the end of log.txt:\n  no data\n\n")
        assert status(run) == Status("failed", ("fit ended with exit code 1; the end of log.txt:\n  no data",))

    @pytest.mark.parametrize("before", ["nothing", "request", "failure", "fit"])
    def test_running(self, before):
        run = make("test")
        if before != "nothing":
            request(run)
        if before == "failure":
            write(run.failure, "no data\n")
        if before == "fit":
            write(run.fitted, FITTED)
        with lock(run.lock):
            assert status(run) == Status("running")
        assert status(run).state == {"nothing": "missing", "failure": "failed"}.get(before, "stopped")

    def test_done(self, done):
        found = status(done)
        assert (found.state, found.reasons) == ("done", ())
        assert found.result["metrics"] == (TESTED if done.training.split == "test" else FITTED)["metrics"]

    def test_done_whoever_holds_the_lock(self, done):
        with lock(done.lock):
            assert status(done).state == "done"

    def test_done_before_a_failure_that_was_left(self, done):
        write(done.failure, "no data\n")
        assert status(done).state == "done"

    def test_stopped_between_fit_and_test(self):
        run = leave(make("test"))
        run.result.unlink()
        assert status(run) == Status("stopped")

    def test_stopped_without_the_result_of_fit(self):
        """Deleting it asks for a new training, whatever was tested."""
        run = leave(make("test"))
        run.fitted.unlink()
        assert status(run) == Status("stopped")

    def test_of_the_validation_split_needs_no_test(self):
        run = make("val")
        request(run)
        write(run.fitted, FITTED)
        assert status(run).state == "done"


class TestResult:
    def test_seconds_of_fit_and_test(self):
        assert status(leave(make("test"))).result["seconds"] == 32.75

    def test_seconds_of_fit_alone(self):
        assert status(leave(make("val"))).result["seconds"] == 30.5

    def test_data_are_those_that_were_trained_on(self, run):
        leave(run, FITTED | {"data": DATA}, TESTED | {"data": {"name": "Other"}})
        assert status(run).result["data"] == DATA

    def test_a_second_look_says_the_same(self, done):
        assert status(done) == status(done)


class TestStale:
    def test_by_a_key(self, done):
        write_config(HARD, json.dumps({"data": {"rate": 0.75}}))
        found = status(done)
        assert (found.state, found.reasons) == ("stale", (f"{HARD}: data.rate",))
        assert found.result is not None

    def test_by_flags(self):
        leave(make())
        found = status(make(flags=("--trainer.max_epochs=1",)))
        assert (found.state, found.reasons) == ("stale", ("flags none",))

    @pytest.mark.parametrize(
        ("lines", "reason"),
        [
            ("train/loss is 2, was 1\n", "replayed today train/loss is 2, was 1"),
            ("train/loss is 2, was 1\ntest/x is gone\na is gone\n", "replayed today train/loss is 2, was 1 and 2 more"),
        ],
    )
    def test_by_a_replay(self, done, lines, reason):
        write(done.outdated, lines)
        found = status(done)
        assert (found.state, found.reasons) == ("stale", (reason,))

    def test_not_by_an_empty_mark(self, done):
        write(done.outdated, "")
        assert status(done).state == "done"

    def test_by_a_seed(self, run):
        """A folder that was copied for another seed."""
        leave(run, FITTED | {"seed": 4})
        found = status(run)
        assert (found.state, found.reasons) == ("stale", ("seed 4",))
        leave(run, FITTED | {"seed": 3})
        assert status(run).state == "done"

    def test_by_data(self, run, tmp_path):
        file = tmp_path / "rows.csv"
        file.write_text("1,2")
        leave(run, FITTED | {"data": DATA | {"files": {str(file): {"size": 3, "mtime_ns": 0, "sha256": "0" * 64}}}})
        found = status(run)
        assert (found.state, found.reasons) == ("stale", (f"{file} has changed",))

    def test_not_by_data_that_are_the_same(self, run, tmp_path):
        file = tmp_path / "rows.csv"
        file.write_text("1,2")
        digest = hashlib.sha256(b"1,2").hexdigest()
        leave(run, FITTED | {"data": DATA | {"files": {str(file): {"size": 3, "mtime_ns": 0, "sha256": digest}}}})
        assert status(run).state == "done"

    def test_by_all_at_once(self, run, tmp_path):
        file = tmp_path / "rows.csv"
        file.write_text("1,2")
        files = {str(file): {"size": 4, "mtime_ns": 0, "sha256": "0" * 64}}
        leave(run, FITTED | {"data": DATA | {"files": files}})
        write(run.outdated, "train/loss is gone\n")
        write_config(BASE, "model: {init_args: {alpha: 0.2, depth: 3, widths: [8, 4]}}")
        assert status(run).reasons == (
            f"{BASE}: model.init_args.alpha, model.init_args.depth, trainer.max_epochs",
            f"{file} has changed",
            "replayed today train/loss is gone",
        )

    @pytest.mark.parametrize("changed", [True, False])
    def test_a_stopped_run_of_other_data_makes_way(self, run, changed, monkeypatch):
        request(run)
        monkeypatch.setattr(RunFolder, "begun_with_other_data", lambda self: changed)
        kept = Worker()._prepare(run, status(run))
        assert kept == (run.folder.with_name("seed3-old") if changed else None)

    def test_a_run_that_is_not_done_is_stopped(self, run):
        request(run, {BASE: CONTENT[BASE]})
        assert status(run) == Status("stopped")


DAMAGED = {
    "empty": "",
    "cut short": json.dumps(FITTED)[:-5],
    "no JSON": "top1 = 0.5",
    "a list": "[1, 2]",
    "a number": "0.5",
    "null": "null",
    "a text": '"metrics config seconds"',
    "no metrics": json.dumps({"config": {}, "seconds": 1.0}),
    "no config": json.dumps({"metrics": {}, "seconds": 1.0}),
    "no seconds": json.dumps({"metrics": {}, "config": {}}),
}


class TestDamaged:
    @pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
    def test_result(self, done, text):
        done.result.write_text(text)
        found = status(done)
        assert found.state == "damaged"
        (reason,) = found.reasons
        assert str(done.result) in reason
        assert found.result is None

    def test_no_text(self, done):
        done.result.write_bytes(b"\xff\xfe\x00")
        found = status(done)
        assert found.state == "damaged"
        assert str(done.result) in found.reasons[0]

    def test_result_of_fit(self):
        run = leave(make("test"))
        run.fitted.write_text("{")
        assert status(run).state == "damaged"
        assert str(run.fitted) in status(run).reasons[0]

    def test_while_another_mends_it(self, done):
        done.result.write_text("{")
        with lock(done.lock):
            assert status(done).state == "running"

    @pytest.mark.parametrize("change", [{"metrics": None}, {"metrics": [0.5]}, {"seconds": None}], ids=str)
    def test_types(self, change):
        assert status(leave(make("test"), tested=TESTED | change)).state == "damaged"


class TestDifferences:
    """What the table asks for now and didn't when the run began."""

    def test_none(self, done):
        assert done.differences() == []

    def test_none_of_what_has_not_begun(self, run):
        assert run.differences() == []

    def test_of_someone_elses_run(self, run):
        write(run.folder / "config.yaml", "seed_everything: 3\n")
        assert run.differences() == ["not started by this table"]

    @pytest.mark.parametrize("text", ["", "{", json.dumps({"configs": {}})[:-1]])
    def test_a_damaged_request(self, run, text):
        write(run.request, text)
        assert run.differences() == [f"{run.request} is damaged"]

    @pytest.mark.parametrize("text", ["{}", "[]", "null", '{"configs": {}}'])
    def test_a_request_of_another_shape(self, run, text):
        write(run.request, text)
        assert run.differences() == [f"{run.request} is damaged"]

    @pytest.mark.parametrize(
        ("text", "keys"),
        [
            ('{"data": {"rate": 0.25}}', "data.rate"),
            ('{"data": {"rate": "0.5"}}', "data.rate"),
            ('{"data": {"rate": null}}', "data.rate"),
            ('{"data": {"other": 0.5}}', "data.other, data.rate"),
            ('{"data": {"rate": 0.5, "size": 8}}', "data.size"),
            ('{"data": {"rate": 0.5}, "model": {"a": {"b": [1]}}}', "model.a.b"),
            ('{"data": {"rate": {"min": 0.5}}}', "data.rate, data.rate.min"),
            ("{a: 1, b: 2, data: {rate: 0.5}, c: 3}", "a, b, c"),
            ("{a: 1, b: 2, data: {rate: 0.5}, c: 3, d: 4}", "a, b, c …"),
        ],
    )
    def test_keys(self, done, text, keys):
        write_config(HARD, text)
        assert done.differences() == [f"{HARD}: {keys}"]

    def test_a_configuration_that_says_nothing_now(self, done):
        write_config(HARD, "{}")
        assert done.differences() == [f"{HARD}: data.rate"]

    def test_an_element_of_a_list(self, done):
        changed = {"trainer": {"max_epochs": 4}, "model": {"init_args": {"alpha": 0.1, "widths": [4, 8]}}}
        write_config(BASE, json.dumps(changed))
        assert done.differences() == [f"{BASE}: model.init_args.widths"]

    @pytest.mark.parametrize(
        ("then", "now", "keys"),
        [
            ("{rate: 0.5}", "{rate: 0.5, momentum: null}", "data.momentum"),
            ("{rate: 0.5, momentum: null}", "{rate: 0.5}", "data.momentum"),
            ("{rate: 0.5, momentum: null}", "{rate: 0.5, momentum: 0}", "data.momentum"),
            ("{rate: 0.5}", "{rate: 0.5, init_args: {}}", "data.init_args"),
        ],
        ids=["null that is new", "null that is gone", "null and 0", "empty"],
    )
    def test_null_is_a_value(self, run, then, now, keys):
        """It switches off what an earlier configuration says."""
        request(run, CONTENT | {HARD: yaml.safe_load(f"data: {then}")})
        write_config(HARD, f"data: {now}")
        assert run.differences() == [f"{HARD}: {keys}"]

    @pytest.mark.parametrize(
        "text",
        [
            "model:\n  init_args: {widths: [8, 4], alpha: 0.1}\ntrainer: {max_epochs: 4}\n",
            "# a comment\ntrainer:\n  max_epochs: 4 # epochs\n\nmodel: {init_args: {alpha: 0.10, widths: [8, 4]}}\n",
            "model: &m\n  init_args:\n    'alpha': 1.0e-1\n    widths:\n    - 8\n    - 4\ntrainer: {max_epochs: 0x4}\n",
        ],
        ids=["order", "comments", "writing"],
    )
    def test_layout_is_none(self, done, text):
        write_config(BASE, text)
        assert done.differences() == []
        assert status(done).state == "done"

    def test_keys_that_are_no_texts_are_none(self, run):
        """JSON has no others."""
        write_config(HARD, "classes: {0: cat, 1: dog}")
        request(run, CONTENT | {HARD: {"classes": {"0": "cat", "1": "dog"}}})
        assert run.differences() == []

    def test_a_configuration_that_is_gone(self, done):
        Path(HARD).unlink()
        assert done.differences() == [f"{HARD} is gone"]
        assert status(done).state == "stale"

    def test_another_set_of_configurations(self, done):
        assert make(configs=(BASE,)).differences() == [f"configurations {BASE} {HARD}"]

    def test_another_order_of_configurations(self, done):
        """Later ones win."""
        assert make(configs=(HARD, BASE)).differences() == [f"configurations {BASE} {HARD}"]

    def test_a_configuration_in_place_of_another(self, done):
        write_config("configs/other.yaml", json.dumps(CONTENT[HARD]))
        assert make(configs=(BASE, "configs/other.yaml")).differences() == [f"configurations {BASE} {HARD}"]

    def test_a_configuration_that_is_no_yaml(self, done):
        write_config(HARD, "data: [")
        with pytest.raises(ValueError, match=rf"{HARD} is not YAML"):
            done.differences()

    @pytest.mark.parametrize(
        ("then", "now", "expected"),
        [
            ([], ["--a=1"], ["flags none"]),
            (["--a=1"], [], ["flags --a=1"]),
            (["--a=1", "--b=2"], ["--a=1"], ["flags --a=1 --b=2"]),
            (["--a=1"], ["--a=2"], ["flags --a=1"]),
            (["--a=1"], ["--a=1"], []),
        ],
    )
    def test_flags(self, then, now, expected):
        request(make(), flags=then)
        assert make(flags=tuple(now)).differences() == expected

    @pytest.mark.parametrize(
        "flag",
        [
            "--data.root=/mnt/data",
            "--trainer.accelerator=cpu",
            "--trainer.devices=2",
            "--trainer.strategy=ddp",
            "--data.root /mnt/data",
        ],
    )
    def test_flags_of_the_machine_are_none(self, flag):
        leave(make())
        run = make(flags=tuple(flag.split()))
        assert run.asks_for()["flags"] == []
        assert status(run).state == "done"

    def test_flags_of_the_machine_beside_others(self):
        run = make(flags=("--data.root", "/a", "--trainer.precision=bf16-mixed", "--a", "1", "--trainer.devices", "2"))
        assert run.asks_for()["flags"] == ["--trainer.precision=bf16-mixed", "--a 1"]

    def test_all_at_once(self, done):
        Path(BASE).unlink()
        write_config(HARD, "data: {rate: 0.75}")
        write_config("configs/third.yaml", "{}")
        run = make(configs=(BASE, HARD, "configs/third.yaml"), flags=("--a=1",))
        assert run.differences() == [
            f"{BASE} is gone",
            f"configurations {BASE} {HARD}",
            f"{HARD}: data.rate",
            "flags none",
        ]


def test_what_is_asked_for(tmp_path):
    """Later configurations stay later."""
    run = make(configs=(HARD, BASE), flags=("--a=1",))
    assert run.asks_for() == {"configs": CONTENT, "flags": ["--a=1"]}
    assert list(run.asks_for()["configs"]) == [HARD, BASE]
    write(run.request, run.asks_for())
    assert run.differences() == []


def test_a_configuration_is_read_again_when_it_changes():
    run = make()
    assert run.asks_for()["configs"][HARD] == {"data": {"rate": 0.5}}
    write_config(HARD, "data: {rate: 0.75}")
    assert run.asks_for()["configs"][HARD] == {"data": {"rate": 0.75}}
    Path(HARD).unlink()
    assert run.asks_for()["configs"][HARD] is None


class TestEvaluation:
    """A callback that does nothing before ``test``."""

    @pytest.fixture
    def changed(self, done):
        then = [{"class_path": "FrozenFeatures"}]
        now = [{"class_path": "lightning_renyicl.evaluation.FrozenFeatures", "init_args": {"protocols": ["B"]}}]
        request(done, {**CONTENT, BASE: {**CONTENT[BASE], "trainer": {"max_epochs": 4, "callbacks": then}}})
        write_config(BASE, json.dumps({**CONTENT[BASE], "trainer": {"max_epochs": 4, "callbacks": now}}))
        return done

    def test_has_no_part_in_the_training(self, changed):
        assert changed.differences() == []

    def test_makes_a_test_stale(self, changed):
        found = status(changed)
        if changed.training.split == "val":
            assert found.state == "done"
        else:
            assert (found.state, found.reasons) == ("stale", (f"{BASE}: trainer.callbacks",))

    def test_can_be_made_anew_with_the_checkpoint_alone(self, changed):
        assert not status(changed).trained
        write(changed.folder / "checkpoints" / "last.ckpt", "weights")
        assert status(changed).trained == (changed.training.split == "test")

    def test_not_if_the_training_is_another_too(self, changed):
        write(changed.folder / "checkpoints" / "last.ckpt", "weights")
        write_config(HARD, json.dumps({"data": {"rate": 0.75}}))
        found = status(changed)
        assert (found.state, found.trained, found.reasons) == ("stale", False, (f"{HARD}: data.rate",))

    def test_another_callback_is_the_trainings(self, done):
        probe = {"max_epochs": 4, "callbacks": [{"class_path": "OnlineProbe"}]}
        write_config(BASE, json.dumps({**CONTENT[BASE], "trainer": probe}))
        assert done.differences() == [f"{BASE}: trainer.callbacks"]

    @pytest.mark.parametrize(("name", "only"), [
        ("FrozenFeatures", True), ("lightning_renyicl.evaluation.RawColumns", True), ("OnlineProbe", False),
        ("RBFSVM", False), ("unknown.Callback", False),
    ])  # fmt: skip
    def test_a_callback_says_itself_when_it_runs(self, name, only):
        assert only_in_test({"class_path": name}) is only
