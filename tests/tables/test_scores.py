"""The numbers of a table, from folders made by hand."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from lightning_renyicl.lock import lock
from lightning_renyicl.tables import scores, spec
from lightning_renyicl.tables.scores import Score, collect, dataset_of
from lightning_renyicl.tables.training import status
from lightning_renyicl.tables.writing.footer import footer

NAME = "table77"
SPEC = """
title: A table
metric: probe/top1
rows:
  A: {config: a}
  B: {config: b}
  Gap: {difference: [A, B]}
  Late: {missing: its data}
  None:
columns:
  Base: {}
  Hard: {overlays: [hard], gain_over: Base}
  Again: {overlays: [hard]}
  Big: {overlays: [big], scales: {paper: []}}
"""
PAPER = [
    ("77", "A", "Base", "70.1", "0.2"),
    ("77", "A", "Hard", "72.0", ""),
    ("77", "A", "Hard, gain", "1.9", ""),
    ("77", "Gap", "Base", "-0.50", ""),
    ("7", "B", "Base", "99", ""),
    ("777", "B", "Hard", "98", ""),
]
CONFIGS = {"a": {"model": {"depth": 10}}, "b": {"model": {"depth": 18}}, "hard": {"data": {"rate": 0.5}}, "big": {}}
# by training and seed, as shares; the paper prints per cent
VALUES = {
    "a": [0.71, 0.69, 0.735],
    "b": [0.5, 0.51, 0.505],
    "a+hard": [0.74, 0.70, 0.765],
    "b+hard": [0.49, 0.52, 0.515],
}


@pytest.fixture(autouse=True)
def _in_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec.load.cache_clear()
    Path("configs/tables").mkdir(parents=True)
    for name, content in CONFIGS.items():
        Path(f"configs/{name}.yaml").write_text(yaml.safe_dump(content))
    with Path("configs/tables/paper.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("table", "row", "column", "value", "spread"), *PAPER])
    yield
    spec.load.cache_clear()


@pytest.fixture
def filled():
    """All runs of the table are done."""
    for name, values in VALUES.items():
        for seed, value in enumerate(values):
            leave(name, seed, value)


@pytest.fixture
def table():
    """Reads the results; the text of the specification is an argument."""

    def _table(text=SPEC, scale="small", **arguments):
        Path(f"configs/tables/{NAME}.yaml").write_text(text)
        spec.load.cache_clear()
        return collect(spec.load(NAME), scale, Path("runs"), **arguments)

    return _table


def folder_of(name, seed, scale="small"):
    return Path("runs") / NAME / scale / name / f"seed{seed}"


def leave(name, seed, value, scale="small", configs=None, flags=(), **more):
    """What a finished run leaves; its training has 10 seconds, its test 2."""
    folder = folder_of(name, seed, scale)
    (folder / "test").mkdir(parents=True)
    paths = [f"configs/{part}.yaml" for part in name.split("+")]
    configs = configs or {path: yaml.safe_load(Path(path).read_text()) for path in paths}
    (folder / "cell.json").write_text(json.dumps({"configs": configs, "flags": list(flags)}))
    data = {"name": f"Data of {name}", "samples": {"train": 1000, "val": 0, "test": 20}}
    fitted = {"metrics": {"probe/top1": 0.01}, "config": {}, "seconds": 10.0, "data": data, "seed": seed} | more
    (folder / "result.json").write_text(json.dumps(fitted))
    metrics = value if isinstance(value, dict) else {"probe/top1": value, "probe/other": 0.02}
    (folder / "test" / "result.json").write_text(json.dumps(fitted | {"metrics": metrics, "seconds": 2.0}))
    return folder


def percent(name):
    return 100 * np.array(VALUES[name])


def values(score):
    return [score.values[seed] for seed in sorted(score.values)]


class TestScore:
    @pytest.mark.parametrize("numbers", [[3.0, 4.5], [70.1, 69.9, 71.3, 68.0], [5.0, 5.0, 5.0]])
    def test_mean_and_deviation(self, numbers):
        score = Score(dict(enumerate(numbers)))
        assert score.mean == pytest.approx(np.mean(numbers), rel=1e-14)
        assert score.std == pytest.approx(np.std(numbers, ddof=1), rel=1e-12)

    def test_of_one(self):
        assert Score({2: 70.0}).mean == 70.0
        assert np.isnan(Score({2: 70.0}).std)

    def test_of_none(self):
        assert np.isnan(Score({}).mean)
        assert np.isnan(Score({}).std)

    def test_is_true_if_there_is_any(self):
        assert not Score({})
        assert Score({0: 0.0})

    def test_difference_is_of_the_same_seeds(self):
        first, second = Score({0: 70.0, 1: 72.0, 3: 1.0}), Score({1: 60.0, 0: 65.0, 2: 2.0})
        assert (first - second).values == {0: 5.0, 1: 12.0}
        # of pairs: not the root of the summed variances
        assert (first - second).std == pytest.approx(np.std([5.0, 12.0], ddof=1))

    def test_difference_of_other_seeds_is_none(self):
        assert not Score({0: 1.0}) - Score({1: 1.0})

    @pytest.mark.parametrize(("gap", "ahead"), [(1.0, False), (1.3, False), (1.5, True), (-5.0, False), (0.0, False)])
    def test_ahead_by_the_spread(self, gap, ahead):
        """Both have a deviation of 1, so that the spread is the root of 2."""
        ours, theirs = Score({0: gap - 1, 1: gap, 2: gap + 1}), Score({0: -1.0, 1: 0.0, 2: 1.0})
        assert ours.ahead_of(theirs) is ahead
        assert not theirs.ahead_of(ours) or gap < 0

    def test_ahead_of_equal_ones(self):
        assert Score({0: 2.0, 1: 2.0}).ahead_of(Score({0: 1.0, 1: 1.0}))
        assert not Score({0: 2.0, 1: 2.0}).ahead_of(Score({0: 2.0, 1: 2.0}))

    @pytest.mark.parametrize("other", [Score({0: 1.0}), Score({0: 1.0, 1: 1.0}), Score({})])
    def test_one_seed_is_never_ahead(self, other):
        assert not Score({0: 99.0}).ahead_of(other)
        assert not Score({0: 99.0, 1: 99.0}).ahead_of(Score({0: 1.0}))
        assert not Score({}).ahead_of(other)


@pytest.mark.usefixtures("filled")
class TestValues:
    @pytest.mark.parametrize(("row", "column"), [(row, column) for row in "AB" for column in ("Base", "Hard", "Again")])
    def test_of_a_cell(self, table, row, column):
        name = row.lower() + ("" if column == "Base" else "+hard")
        cell = table().cells[row, column]
        assert values(cell.score) == pytest.approx(list(percent(name)))
        assert cell.score.mean == pytest.approx(percent(name).mean())
        assert cell.score.std == pytest.approx(percent(name).std(ddof=1))
        assert cell.not_run is None
        assert cell.dataset == f"Data of {name} (1,000 train, 20 test)"
        assert not cell.stale

    def test_of_every_cell_in_order(self, table):
        rows, columns = ["A", "B", "Gap", "Late", "None"], ["Base", "Hard", "Again", "Big"]
        assert list(table().cells) == [(row, column) for row in rows for column in columns]

    def test_paper(self, table):
        cells = table().cells
        printed = {key: (cell.paper, cell.spread, cell.paper_gain) for key, cell in cells.items()}
        assert printed.pop(("A", "Base")) == ("70.1", "0.2", "")
        assert printed.pop(("A", "Hard")) == ("72.0", "", "1.9")
        assert printed.pop(("Gap", "Base")) == ("-0.50", "", "")
        assert set(printed.values()) == {("", "", "")}  # nothing of tables 7 and 777

    @pytest.mark.parametrize("row", ["A", "B"])
    def test_gain(self, table, row):
        cells = table().cells
        gains = percent(f"{row.lower()}+hard") - percent(row.lower())
        assert values(cells[row, "Hard"].gain) == pytest.approx(list(gains))
        assert cells[row, "Hard"].gain.std == pytest.approx(gains.std(ddof=1))
        assert not cells[row, "Base"].gain
        assert not cells[row, "Again"].gain

    def test_gain_over_a_row(self, table):
        text = SPEC.replace("B: {config: b}", "B: {config: b, gain_over: A}").replace(", gain_over: Base", "")
        cells = table(text).cells
        for column, name in (("Base", ""), ("Hard", "+hard")):
            assert values(cells["B", column].gain) == pytest.approx(list(percent("b" + name) - percent("a" + name)))
            assert not cells["A", column].gain

    def test_no_gain_while_seeds_differ(self, table):
        (folder_of("a", 1) / "test/result.json").unlink()
        cell = table().cells["A", "Hard"]
        assert len(cell.score.values) == 3
        assert not cell.gain

    @pytest.mark.parametrize(("column", "name"), [("Base", ""), ("Hard", "+hard"), ("Again", "+hard")])
    def test_difference(self, table, column, name):
        cell = table().cells["Gap", column]
        assert values(cell.score) == pytest.approx(list(percent("a" + name) - percent("b" + name)))
        assert cell.not_run is None
        assert cell.dataset == f"Data of a{name} (1,000 train, 20 test)"

    def test_difference_of_columns(self, table):
        cells = table(SPEC + "  Harder: {difference: [Again, Base]}\n").cells
        for row in "AB":
            gaps = percent(f"{row.lower()}+hard") - percent(row.lower())
            assert values(cells[row, "Harder"].score) == pytest.approx(list(gaps))
        assert cells["Late", "Harder"].not_run == "for want of its data"

    @pytest.mark.parametrize("pair", ["A, Late", "Late, A"])
    def test_difference_of_what_is_not_run(self, table, pair):
        cell = table(SPEC.replace("[A, B]", f"[{pair}]")).cells["Gap", "Base"]
        assert (cell.not_run, cell.score.values) == ("for want of its data", {})

    def test_gain_of_a_difference(self, table):
        expected = percent("a+hard") - percent("b+hard") - percent("a") + percent("b")
        assert values(table().cells["Gap", "Hard"].gain) == pytest.approx(list(expected))

    def test_not_run(self, table):
        cells = table().cells
        for column in ("Base", "Hard", "Again", "Big"):
            assert cells["Late", column].not_run == "for want of its data"
            assert cells["None", column].not_run == "no configuration yet"
        for row in ("A", "B", "Gap"):
            assert cells[row, "Big"].not_run == "nothing to run at scale small"
        assert all(not cell.score and not cell.dataset for cell in cells.values() if cell.not_run)

    def test_results_are_read_once(self, table):
        """Hard and Again are one training."""
        results = table().results
        assert len(results) == 12
        assert sum(result["seconds"] for result in results) == 12 * 12.0

    def test_results_of_several_metrics_are_read_once(self, table, monkeypatch):
        read = []
        monkeypatch.setattr(scores, "status", lambda run: read.append(run) or status(run))
        found = table(SPEC.replace("Again: {overlays: [hard]}", "Again: {overlays: [hard], metric: probe/other}"))
        assert values(found.cells["A", "Again"].score) == [2.0, 2.0, 2.0]
        assert len(found.results) == len(found.runs) == len(read) == 12
        assert sum(result["seconds"] for result in found.results) == 12 * 12.0

    def test_other_units(self, table):
        found = table(SPEC + "unit: nats\n").cells["A", "Base"].score
        assert values(found) == VALUES["a"]

    def test_seeds_beyond_the_tables_are_not_read(self, table):
        leave("a", 3, 0.0)
        assert sorted(table().cells["A", "Base"].score.values) == [0, 1, 2]
        assert sorted(table(SPEC + "seeds: {small: 2}\n").cells["A", "Base"].score.values) == [0, 1]

    def test_other_scales_are_other_runs(self, table):
        found = table(scale="paper")
        assert (found.scale, found.results) == ("paper", [])
        assert found.cells["A", "Big"].not_run is None
        leave("a+big", 0, 0.8, scale="paper")
        assert table(scale="paper").cells["A", "Big"].score.values == {0: pytest.approx(80.0)}
        assert not table().cells["A", "Big"].score

    def test_of_the_validation_split_are_those_of_fit(self, table):
        assert values(table(SPEC + "split: val\n").cells["A", "Base"].score) == [1.0, 1.0, 1.0]

    def test_no_remarks(self, table):
        assert table().remarks == []


class TestRowForSomeColumns:
    def test_others_are_not_run(self, table, filled):
        found = table(SPEC.replace("B: {", "B: {only: [Hard], "))
        assert values(found.cells["B", "Hard"].score) == pytest.approx(percent("b+hard"))
        assert not found.cells["B", "Base"].score
        assert found.cells["B", "Base"].not_run == "the same as in Hard"
        assert values(found.cells["A", "Base"].score) == pytest.approx(percent("a"))

    def test_its_runs_alone_are_made(self, table):
        trainings = table(SPEC.replace("B: {", "B: {only: [Hard], ")).spec.trainings("small")
        assert [training.name for training in trainings] == ["a", "a+hard", "b+hard"]


class TestMetricOfALine:
    def test_another_one(self, table, filled):
        found = table(SPEC.replace("Hard: {", "Hard: {metric: probe/other, ").replace("gain_over: Base", ""))
        assert values(found.cells["A", "Base"].score) == pytest.approx(percent("a"))
        assert values(found.cells["A", "Hard"].score) == pytest.approx([2.0] * 3)
        assert values(found.cells["A", "Again"].score) == pytest.approx(percent("a+hard"))  # the same runs

    def test_a_rows_wins(self, table, filled):
        text = SPEC.replace("B: {", "B: {metric: probe/other, ").replace("Base: {}", "Base: {metric: nothing}")
        assert values(table(text).cells["B", "Base"].score) == pytest.approx([2.0] * 3)

    def test_is_said(self, table):
        text = SPEC.replace("Hard: {", "Hard: {metric: probe/other, ")
        assert "Ours: `probe/top1` (Base, Again, Big), `probe/other` (Hard) in per cent" in "\n".join(
            footer(table(text))
        )
        assert "Ours: `probe/top1` in per cent" in "\n".join(footer(table()))


@pytest.mark.usefixtures("filled")
class TestMissing:
    @pytest.mark.parametrize("file", ["result.json", "test/result.json"])
    def test_a_seed_without_result(self, table, file):
        (folder_of("a", 1) / file).unlink()
        found = table()
        assert sorted(found.cells["A", "Base"].score.values) == [0, 2]
        assert len(found.results) == 11
        assert found.remarks == []

    @pytest.mark.parametrize("text", ["{", "[]"])
    def test_a_seed_whose_result_is_damaged(self, table, text):
        (folder_of("a", 1) / "test/result.json").write_text(text)
        assert sorted(table().cells["A", "Base"].score.values) == [0, 2]

    def test_a_run_that_is_under_way(self, table):
        (folder_of("a", 1) / "test/result.json").unlink()
        with lock(folder_of("a", 1).with_name("seed1.lock")):
            assert sorted(table().cells["A", "Base"].score.values) == [0, 2]

    def test_no_seed(self, table):
        for seed in range(3):
            (folder_of("a", seed) / "test/result.json").unlink()
        cells = table().cells
        for key in (("A", "Base"), ("Gap", "Base")):
            assert not cells[key].score
            assert cells[key].dataset == ""
            assert cells[key].not_run is None  # it could run
        assert not cells["A", "Hard"].gain
        assert cells["A", "Hard"].score


class TestMetric:
    @pytest.mark.parametrize(
        ("metrics", "lacks"),
        [({"probe/top1": None}, "finite probe/top1"), ({}, "probe/top1"), ({"probe/top5": 0.9}, "probe/top1")],
        ids=str,
    )
    def test_that_is_not_there_or_not_finite(self, table, metrics, lacks):
        leave("a", 0, 0.7)
        leave("a", 1, metrics)
        found = table()
        assert found.cells["A", "Base"].score.values == {0: 70.0}
        assert found.remarks == [f"a, seed 1, has no {lacks}"]
        assert len(found.results) == 2  # its hours count

    def test_of_no_seed(self, table):
        leave("a", 0, {"probe/top1": None})
        cell = table().cells["A", "Base"]
        assert (cell.score.values, cell.dataset, cell.not_run) == ({}, "", None)

    def test_zero_is_a_score(self, table):
        leave("a", 0, 0.0)
        found = table()
        assert found.cells["A", "Base"].score.values == {0: 0.0}
        assert found.remarks == []

    def test_another_one(self, table):
        leave("a", 0, 0.7)
        assert table(SPEC.replace("probe/top1", "probe/other")).cells["A", "Base"].score.values == {0: 2.0}


@pytest.mark.usefixtures("filled")
class TestStale:
    def test_cells_of_what_has_changed(self, table):
        Path("configs/hard.yaml").write_text("data: {rate: 0.75}\n")
        found = table()
        stale = {key for key, cell in found.cells.items() if cell.stale}
        assert stale == {(row, column) for row in ("A", "B", "Gap") for column in ("Hard", "Again")}
        assert found.remarks == [f"Stale: {name} (configs/hard.yaml: data.rate)" for name in ("a+hard", "b+hard")]
        assert len(found.cells["A", "Hard"].score.values) == 3  # it still says what it was

    @pytest.mark.parametrize("row", ["A", "B"])
    def test_a_difference_if_either_is(self, table, row):
        (leave(f"{row.lower()}+big", 0, 0.5, scale="paper") / "outdated.txt").write_text("train/loss is gone\n")
        leave("b+big" if row == "A" else "a+big", 0, 0.5, scale="paper")
        cells = table(scale="paper").cells
        assert {name for name in ("A", "B", "Gap") if cells[name, "Big"].stale} == {row, "Gap"}

    def test_reasons_are_named_once(self, table):
        for seed in range(3):
            folder = leave("a+big", seed, 0.5, scale="paper", flags=["--x=1"] * (seed < 2))
            (folder / "outdated.txt").write_text("train/loss is gone\n")
        assert table(scale="paper").remarks == ["Stale: a+big (flags --x=1; replayed today train/loss is gone)"]

    def test_not_seen_without_a_replay(self, table):
        leave("a+big", 0, 0.5, scale="paper")
        (leave("b+big", 0, 0.5, scale="paper") / "replay.json").write_text("{}")
        assert table(scale="paper").unreplayed == ["a+big"]

    def test_flags(self, table):
        found = table(flags=("--trainer.max_epochs=1",))
        assert all(cell.stale for (row, _), cell in found.cells.items() if row in "AB" and cell.score)
        assert not any(cell.stale for cell in table(flags=("--data.root=/mnt",)).cells.values())


BEST = """
title: A table
metric: probe/top1
best_of: {best_of}
rows:
  A: {{config: a}}
  B: {{config: b}}
  Gap: {{difference: [A, B]}}
  Late: {{missing: its data}}
columns:
  Base: {{}}
  Hard: {{overlays: [hard]}}
  Gap: {{difference: [Hard, Base]}}
"""
CLOSE = [0.70, 0.72, 0.74]  # deviation 2


class TestBest:
    """Bold is what is ahead of each other one by more than the root of the summed variances."""

    def best(self, table, best_of):
        return {key for key, cell in table(BEST.format(best_of=best_of)).cells.items() if cell.best}

    def fill(self, **trainings):
        for name, shares in trainings.items():
            for seed, share in enumerate(shares):
                leave(name.replace("_", "+"), seed, share)

    @pytest.mark.usefixtures("filled")
    def test_of_columns(self, table):
        assert self.best(table, "columns") == {("A", "Base"), ("A", "Hard")}

    def test_of_columns_the_second_row(self, table):
        self.fill(a=[0.1, 0.12, 0.11], b=[0.5, 0.51, 0.52])
        assert self.best(table, "columns") == {("B", "Base")}

    def test_of_rows(self, table):
        self.fill(a=[0.1, 0.12, 0.11], a_hard=[0.5, 0.51, 0.52], b=[0.6, 0.61, 0.62], b_hard=[0.3, 0.31, 0.32])
        assert self.best(table, "rows") == {("A", "Hard"), ("B", "Base")}

    @pytest.mark.parametrize("best_of", ["columns", "rows"])
    def test_never_with_one_seed(self, table, best_of):
        self.fill(a=[0.9], b=[0.1], a_hard=[0.5], b_hard=[0.2])
        assert self.best(table, best_of) == set()

    def test_not_of_one_seed_over_several(self, table):
        self.fill(a=[0.9], b=[0.1, 0.11, 0.12])
        assert self.best(table, "columns") == set()

    def test_not_over_one_seed(self, table):
        self.fill(a=[0.9, 0.91, 0.92], b=[0.1])
        assert self.best(table, "columns") == set()

    @pytest.mark.parametrize(("gap", "best"), [(0.027, set()), (0.03, {("A", "Base")})])
    def test_by_more_than_the_spread(self, table, gap, best):
        """The spread is 2.83, the root of two variances of 4."""
        self.fill(a=[share + gap for share in CLOSE], b=CLOSE)
        assert self.best(table, "columns") == best

    def test_of_every_other_one(self, table):
        rows = "  A: {{config: a}}\n  B: {{config: b}}\n"
        text = BEST.replace(rows, rows + "  C: {{config: hard}}\n")
        self.fill(a=[0.9, 0.91, 0.92], b=[0.1, 0.11, 0.12], hard=[0.91, 0.9, 0.92])
        found = table(text.format(best_of="columns"))
        assert not any(cell.best for cell in found.cells.values())

    @pytest.mark.parametrize("best_of", ["columns", "rows"])
    def test_not_the_only_one(self, table, best_of):
        self.fill(a=[0.9, 0.91, 0.92])
        assert self.best(table, best_of) == set()

    @pytest.mark.parametrize("best_of", ["columns", "rows"])
    @pytest.mark.usefixtures("filled")
    def test_never_a_difference(self, table, best_of):
        assert not {key for key in self.best(table, best_of) if "Gap" in key}

    def test_over_no_difference(self, table):
        """One of the rows is far ahead of the other, so that their difference is near it."""
        self.fill(a=[0.9, 0.7, 0.8], b=[0.01, 0.02, 0.03])
        assert self.best(table, "columns") == {("A", "Base")}


class TestDataset:
    RESULT = {  # noqa: RUF012
        "data": {"name": "CIFAR10", "samples": {"train": 45000, "val": 5000, "test": 10000}},
        "config": {"trainer": {"limit_train_batches": None, "limit_test_batches": None}},
    }
    WHOLE = "45,000 train, 5,000 val, 10,000 test"

    def limited(self, **limits):
        return dataset_of(self.RESULT | {"config": {"trainer": limits}})

    def test_whole(self):
        assert dataset_of(self.RESULT) == f"CIFAR10 ({self.WHOLE})"
        assert self.limited() == f"CIFAR10 ({self.WHOLE})"
        assert self.limited(limit_train_batches=1.0, limit_test_batches=1.0) == f"CIFAR10 ({self.WHOLE})"

    @pytest.mark.parametrize("split", ["train", "test"])
    @pytest.mark.parametrize(
        ("limit", "text"),
        [
            (8, "8 batches"),
            (2, "2 batches"),
            (0.5, "0.5 of its batches"),
            (0, "0 batches"),
            pytest.param(1, "1 batch"),
        ],
    )
    def test_limited(self, split, limit, text):
        found = self.limited(**{f"limit_{split}_batches": limit})
        assert found == f"CIFAR10 ({self.WHOLE}, {split} limited to {text})"

    def test_both_limited(self):
        found = self.limited(limit_train_batches=8, limit_test_batches=4)
        assert found == f"CIFAR10 ({self.WHOLE}, train limited to 8 batches, test limited to 4 batches)"

    def test_a_split_that_is_empty(self):
        samples = {"train": 50000, "val": 0, "test": 10000}
        found = dataset_of({"data": {"name": "CIFAR10", "samples": samples}, "config": None})
        assert found == "CIFAR10 (50,000 train, 10,000 test)"

    def test_that_says_only_its_name(self):
        assert dataset_of({"data": {"name": "Rows"}, "config": {}}) == "Rows"

    @pytest.mark.parametrize("result", [{"config": None}, {"config": {}, "data": None}])
    def test_of_an_old_result(self, result):
        assert dataset_of(result) == "unknown"

    def test_of_several_in_a_cell(self, table):
        leave("a", 0, 0.7)
        leave("a", 1, 0.7, data={"name": "Other"})
        leave("a", 2, 0.7, config={"trainer": {"limit_train_batches": 3}})
        assert table().cells["A", "Base"].dataset == (
            "Data of a (1,000 train, 20 test); Other; Data of a (1,000 train, 20 test, train limited to 3 batches)"
        )


CHOICE = """
title: A table
metric: svm/accuracy
choose_by: svm/validation
split: val
seeds: {small: 2}
rows:
  Best: {config: a, one_of: [hard, big]}
columns:
  Base: {}
"""


class TestChoice:
    """The best of several trainings, by validation alone."""

    def leave(self, name, seed, accuracy, validation, folds=()):
        metrics = {"svm/accuracy": accuracy, "svm/validation": validation}
        for k, (fold_accuracy, fold_validation) in enumerate(folds):
            metrics |= {f"svm/fold{k}/accuracy": fold_accuracy, f"svm/fold{k}/validation": fold_validation}
        leave(name, seed, {}, metrics=metrics)

    def test_each_seed_takes_the_best_by_validation(self, table):
        self.leave("a+hard", 0, 0.1, 0.9)
        self.leave("a+big", 0, 0.8, 0.7)
        self.leave("a+hard", 1, 0.2, 0.6)
        self.leave("a+big", 1, 0.3, 0.7)
        assert values(table(CHOICE).cells["Best", "Base"].score) == pytest.approx([10, 30])

    def test_each_fold_takes_the_best_by_its_own_validation(self, table):
        # by the means alone it would be a+hard, and by the test folds 0.9 and 0.8
        self.leave("a+hard", 0, 0.5, 0.9, [(0.1, 0.99), (0.8, 0.5)])
        self.leave("a+big", 0, 0.6, 0.1, [(0.9, 0.98), (0.3, 0.6)])
        assert values(table(CHOICE).cells["Best", "Base"].score) == pytest.approx([20])

    def test_the_first_of_equals(self, table):
        self.leave("a+hard", 0, 0.5, 0.9, [(0.1, 0.5)])
        self.leave("a+big", 0, 0.6, 0.9, [(0.9, 0.5)])
        assert values(table(CHOICE).cells["Best", "Base"].score) == pytest.approx([10])

    def test_waits_for_all(self, table):
        self.leave("a+hard", 0, 0.5, 0.9)
        cell = table(CHOICE).cells["Best", "Base"]
        assert not cell.score
        assert cell.not_run is None

    def test_a_validation_that_is_not_finite_loses(self, table):
        self.leave("a+hard", 0, 0.5, None)
        self.leave("a+big", 0, 0.6, 0.1)
        assert values(table(CHOICE).cells["Best", "Base"].score) == pytest.approx([60])

    def test_an_accuracy_that_is_not_finite_is_a_remark(self, table):
        self.leave("a+hard", 0, None, 0.9)
        self.leave("a+big", 0, 0.6, 0.1)
        found = table(CHOICE)
        assert not found.cells["Best", "Base"].score
        assert found.remarks == ["a+hard, seed 0, has no finite svm/accuracy"]

    def test_stale_if_one_of_them_is(self, table):
        self.leave("a+hard", 0, 0.5, 0.9)
        self.leave("a+big", 0, 0.6, 0.1)
        Path("configs/big.yaml").write_text("model: {depth: 5}")
        found = table(CHOICE)
        assert found.cells["Best", "Base"].stale
        assert found.remarks == ["Stale: a+big (configs/big.yaml: model.depth)"]
