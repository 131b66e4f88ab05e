"""What ``configs/tables/`` says: the paper's rows and columns, and configurations that exist."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from lightning_renyicl.tables import spec
from lightning_renyicl.tables.scores import collect
from lightning_renyicl.tables.training import Run
from lightning_renyicl.tables.writing.footer import metrics
from lightning_renyicl.tables.writing.latex import latex

ROOT = Path(__file__).parents[2]
SPECS = ROOT / "configs" / "tables"
LINES = list(csv.DictReader((SPECS / "paper.csv").read_text(encoding="utf-8").splitlines()))
TABLES = [f"table{number}" for number in range(1, 16)]
GAIN = ", gain"


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)
    spec.load.cache_clear()
    yield
    spec.load.cache_clear()


def paper(table, key):
    """The paper's labels in order."""
    found = dict.fromkeys(line[key] for line in LINES if f"table{line['table']}" == table)
    return [label for label in found if not label.endswith(GAIN)]


def test_order():
    others = sorted(path.stem for path in SPECS.glob("*.yaml") if path.stem not in TABLES)
    assert {"figure-gaussian-mi", "figure-mi", "table-digits"} <= set(others)
    assert spec.names() == TABLES + others


@pytest.mark.parametrize("name", sorted(path.stem for path in SPECS.glob("*.yaml")))
class TestEverySpecification:
    def test_loads(self, name):
        loaded = spec.load(name)
        assert loaded.name == name
        assert loaded.rows
        assert loaded.columns
        assert not loaded.title.endswith(".")
        assert all(note.endswith(".") for note in loaded.notes)

    def test_starts_with_its_command(self, name):
        assert (SPECS / f"{name}.yaml").read_text(encoding="utf-8").startswith(f"# make {name}: ")

    def test_scores_of_validation_have_samples(self, name):
        loaded = spec.load(name)
        without = "configs/scale/image/paper.yaml"  # which sets none aside
        trainings = [training for scale in loaded.seeds for training in loaded.trainings(scale)]
        assert loaded.split == "test" or not any(without in training.configs for training in trainings)

    def test_every_cell_has_a_training_or_a_reason(self, name):
        loaded = spec.load(name)
        for row in loaded.rows:
            for column in loaded.columns:
                if loaded.rows[row].difference or loaded.columns[column].difference:
                    assert loaded.cell(row, column, "small") == ""
                else:
                    assert loaded.cell(row, column, "small") not in ("", "no configuration yet")

    @pytest.mark.parametrize("scale", spec.SCALES)
    def test_its_configurations_exist(self, name, scale):
        trainings = spec.load(name).trainings(scale)
        named = {path for training in trainings for path in (*training.configs, training.timed_on) if path}
        assert not [path for path in named if not (ROOT / path).exists()]

    @pytest.mark.parametrize("scale", spec.SCALES)
    def test_a_folder_is_of_one_training(self, name, scale):
        trainings = spec.load(name).trainings(scale)
        folders = {(training.table, training.name) for training in trainings}
        assert len(folders) == len(trainings) == len({training.configs for training in trainings})


@pytest.mark.parametrize("name", TABLES)
class TestEveryTableOfThePaper:
    def test_has_the_papers_rows_and_columns(self, name):
        loaded = spec.load(name)
        rows, columns = paper(name, "row"), paper(name, "column")
        assert [row for row in loaded.rows if row in rows] == rows
        assert [column for column in loaded.columns if column in columns] == columns

    def test_has_the_papers_gains(self, name):
        loaded = spec.load(name)
        printed = {
            (line["row"], line["column"].removesuffix(GAIN))
            for line in LINES
            if f"table{line['table']}" == name and line["column"].endswith(GAIN)
        }
        ours = {
            (row, column)
            for row in loaded.rows
            for column in loaded.columns
            if loaded.rows[row].gain_over or loaded.columns[column].gain_over
        }
        assert ours == printed


@pytest.mark.parametrize("name", TABLES)
def test_what_runs(name):
    loaded = spec.load(name)
    running = {
        column
        for row in loaded.rows
        for column in loaded.columns
        if not isinstance(loaded.cell(row, column, "paper"), str)
    }
    images = {column for column in loaded.columns if column.startswith(("CIFAR-10", "ImageNet-100", "STL-10"))}
    rows = {column for column in loaded.columns if column.startswith(("CovType", "Higgs"))}
    whole = {table: set(loaded.columns) for table in ("table6", "table7", "table14")}
    expected = dict.fromkeys(("table9", "table10", "table15"), images) | {"table5": images | rows} | whole
    assert running == expected.get(name, set())


@pytest.mark.parametrize("scale", spec.SCALES)
class TestSharing:
    def test_table14_trains_what_table5_has_not(self, scale):
        table5 = spec.load("table5").trainings(scale)
        table14 = spec.load("table14").trainings(scale)
        floors = [training.name for training in table14 if training.name.endswith(("raw", "untrained"))]
        assert floors == ["covtype_none+raw", "higgs_none+raw", "covtype_none+untrained", "higgs_none+untrained"]
        methods = [training.name for training in table14 if "imix" in training.name or "scarf" in training.name]
        assert len(methods) == 3 * 8 + 2
        assert len(table14) == 32 + len(floors) + len(methods)
        assert [training.name for training in table14 if training in table5] == [
            f"{column}+{objective}"
            for objective in ("cpc", "mlcpc")
            for column in ("covtype_none", "covtype_fc", "higgs_none", "higgs_rm")
        ]

    def test_table9_trains_the_noisy_crop_alone(self, scale):
        table5 = spec.load("table5").trainings(scale)
        table9 = spec.load("table9")
        data_sets = 2 if scale == "small" else 3
        assert len(table9.trainings(scale)) == 6 * data_sets
        for row in table9.rows:
            for column in table9.columns:
                cell = table9.cell(row, column, scale)
                if isinstance(cell, str):
                    assert column == "ImageNet-100"
                    continue
                (training,) = cell
                noisy = row.endswith("+NC")
                assert (training in table5) is not noisy
                assert training.name.split("+")[0].endswith("_noisy" if noisy else "_base")

    def test_table15_trains_other_temperatures_and_gammas_only(self, scale):
        table5 = spec.load("table5").trainings(scale)
        table15 = spec.load("table15")
        trainings = table15.trainings(scale)
        assert len(trainings) == 32
        for row in table15.rows:
            for column in table15.columns:
                ours = row == "RMLCPC (γ=1.5)" or "τ=1.0" in column
                (training,) = table15.cell(row, column, scale)
                assert (training.table == "table15") is ours
                assert (training in table5) is not ours


def test_a_cell_with_a_choice_has_a_training_for_each():
    table6 = spec.load("table6")
    trainings = table6.cell("RényiCL", "MUTAG", "paper")
    assert [training.name for training in trainings] == ["mutag+gamma1.5", "mutag+gamma2.0", "mutag+gamma3.0"]
    assert trainings[2].configs == ("configs/mutag.yaml", "configs/grids/gamma3.0.yaml")
    assert set(trainings) <= set(table6.trainings("paper"))


def test_a_training_is_named_after_all_that_it_trains():
    (training,) = spec.load("table15").cell("RMLCPC (γ=1.5)", "CIFAR-100 / τ=1.0 / Hard", "small")
    assert training.name == "cifar100_hard+gamma1.5+temperature1.0"
    assert training.configs[:3] == tuple(
        f"configs/{path}.yaml" for path in ("cifar100_hard", "grids/gamma1.5", "grids/temperature1.0")
    )


def test_what_another_table_scores_otherwise_is_trained_once():
    (training,) = spec.load("figure-mi").cell("CIFAR-10 / RMLCPC / Hard", "top-1", "small")
    (other,) = spec.load("table5").cell("RMLCPC", "CIFAR-10 / Hard", "small")
    assert (training.split, other.split) == ("val", "test")
    assert Run(training, 0, Path("runs")).folder == Run(other, 0, Path("runs")).folder


def test_units_of_columns():
    mixed, one = spec.load("figure-mi"), spec.load("table5")
    assert [mixed.unit_of(column) for column in mixed.columns] == ["nats", "per cent"]
    assert mixed.units == "nats (mutual information), per cent (top-1)"
    assert one.units == "per cent"
    assert spec.load("figure-gaussian-mi").units == "nats (bias), nats² (variance, MSE), per cent (invalid)"


def test_many_metrics_are_not_named_one_by_one():
    many, few = spec.load("figure-gaussian-mi"), spec.load("figure-mi")
    assert metrics(many) == "`information_error/2/estimate/bias` to `information_error/16/invalid`, a column each,"
    assert metrics(few) == "`mutual_information/by_anchor` (mutual information), `online_probe/top1` (top-1)"


def test_a_part_of_a_label_is_a_whole_part():
    table5 = spec.load("table5")
    trainings = table5.trainings("paper", "CIFAR-10")
    assert {training.name.split("+")[0] for training in trainings} == {"cifar10_base", "cifar10_hard"}
    assert len(table5.trainings("paper", "CIFAR-10 / Hard")) == 3
    assert len(table5.trainings("paper", "Hard")) == 3 * 5
    with pytest.raises(ValueError, match="table5 has no column CIFAR"):
        table5.trainings("paper", "CIFAR")


GOOD = "title: t\nrows: {a: {}, b: {}, c: {}}\ncolumns: {x: {}}\n"
# a specification, part of the message
MISTAKES = {
    "key of a table": (
        GOOD + "metrics: top1\n",
        "unknown metrics; there are best_of, choose_by, columns, curves, known, lines, metric,",
    ),
    "points of one column": (GOOD + "points: [x]\n", "points names two columns, got x"),
    "points of an unknown column": (GOOD + "points: [x, z]\n", "points names two columns, got x, z"),
    "curve without a list": (GOOD + "curves: {bound: train/bound}\n", "curves are names, each with a list"),
    "unit of a row": ("title: t\nrows: {a: {unit: nats}}\ncolumns: {x: {}}\n", "only columns have a unit"),
    "key of a row": (
        "title: t\nrows: {a: {overlay: [b]}}\ncolumns: {x: {}}\n",
        "unknown overlay; there are by_column, config,",
    ),
    "label of a row": ("title: t\nrows: {a: {label: b}}\ncolumns: {x: {}}\n", "unknown label"),
    "name": (GOOD + "name: other\n", "unknown name"),
    "scale of seeds": (GOOD + "seeds: {smoke: 1, large: 3}\n", "unknown scale large; there are smoke, small, paper"),
    "scale of a column": ("title: t\nrows: {a: {}}\ncolumns: {x: {scales: {tiny: []}}}\n", "unknown scale tiny"),
    "gain": ("title: t\nrows: {a: {gain_over: z}}\ncolumns: {x: {}}\n", "a names z, which is none of the rows"),
    "gain over a line of the other kind": (
        "title: t\nrows: {a: {}}\ncolumns: {x: {gain_over: a}}\n",
        "x names a, which is none of the columns",
    ),
    "difference of an unknown line": (
        "title: t\nrows: {a: {difference: [b, z]}, b: {}}\ncolumns: {x: {}}\n",
        "a names z, which is none of the rows",
    ),
    "difference of three": (
        "title: t\nrows: {a: {}, b: {}, c: {difference: [a, b, a]}}\ncolumns: {x: {}}\n",
        "c: difference names two lines",
    ),
    "only of an unknown column": (
        "title: t\nrows: {a: {only: [x, z]}}\ncolumns: {x: {}}\n",
        "a: only, without and by_column are for rows, and name columns, got z",
    ),
    "only of a column": (
        "title: t\nrows: {a: {}}\ncolumns: {x: {only: [x]}}\n",
        "x: only, without and by_column are for rows",
    ),
    "only of an unknown column in a row that is called as a column is": (
        "title: t\nrows: {x: {only: [z]}}\ncolumns: {x: {}}\n",
        "x: only, without and by_column are for rows, and name columns, got z",
    ),
    "without an unknown column": (
        "title: t\nrows: {a: {without: {z: too large}}}\ncolumns: {x: {}}\n",
        "a: only, without and by_column are for rows, and name columns, got z",
    ),
    "without a reason": (
        "title: t\nrows: {a: {without: [x]}}\ncolumns: {x: {}}\n",
        "a: without gives columns a reason each, got ['x']",
    ),
    "overlays of other columns": (
        "title: t\nrows: {a: {by_column: {z: [o]}}}\ncolumns: {x: {}}\n",
        "a: only, without and by_column are for rows, and name columns, got z",
    ),
    "overlays by no column": (
        "title: t\nrows: {a: {by_column: [x]}}\ncolumns: {x: {}}\n",
        "a: by_column gives columns a list of overlays each, got ['x']",
    ),
    "one overlay of a column": (
        "title: t\nrows: {a: {by_column: {x: o}}}\ncolumns: {x: {}}\n",
        "a: x must be a list, got 'o'",
    ),
    "lines of rows of one part": (
        "title: t\nlines: labels\nrows: {a / b: {}, c: {}}\ncolumns: {x: {}}\n",
        "lines needs rows called A / B, got a / b, c",
    ),
    "nothing to fill": (
        "title: t\nrows: {a: {fills: b}}\ncolumns: {x: {config: c}}\n",
        "a {} in columns needs all rows to say what fills it",
    ),
    "nothing that fills": ("title: t\nrows: {a: {}}\ncolumns: {x: {config: 'c_{}'}}\n", "needs all rows to say"),
    "a row that does not fill": (
        "title: t\nrows: {a: {fills: d}, b: {}}\ncolumns: {x: {config: 'c_{}'}}\n",
        "needs all rows to say what fills it",
    ),
    "split": (GOOD + "split: train\n", "split is test or val"),
    "choice without a way to choose": (
        "title: t\nrows: {a: {one_of: [b, c]}}\ncolumns: {x: {}}\n",
        "one_of needs choose_by",
    ),
    "choices of rows and of columns": (
        "title: t\nchoose_by: v\nrows: {a: {one_of: [b, c]}}\ncolumns: {x: {one_of: [d]}}\n",
        "either rows or columns have one_of",
    ),
    "choice of one": ("title: t\nrows: {a: {one_of: b}}\ncolumns: {x: {}}\n", "a: one_of must be a list"),
    "best": (GOOD + "best_of: cells\n", "best_of is columns, rows or none"),
    "no rows": ("title: t\ncolumns: {x: {}}\n", "rows must be labels"),
    "rows as a list": ("title: t\nrows: [a]\ncolumns: {x: {}}\n", "rows must be labels"),
    "row with text": ("title: t\nrows: {a: text}\ncolumns: {x: {}}\n", "expected keys with values, got 'text'"),
    "no title": ("rows: {a: {}}\ncolumns: {x: {}}\n", "title"),
    "a list": ("- a\n", "expected keys with values"),
    "empty": ("", "expected keys with values"),
    "no YAML": ("rows: [", "is not YAML"),
    "no text": (b"\xff\xfe", "is not YAML"),
}


class TestMistakes:
    @pytest.fixture(autouse=True)
    def _elsewhere(self, tmp_path, monkeypatch, _in_the_project):
        monkeypatch.chdir(tmp_path)

    def write(self, folder, text):
        """A specification under a name that no other test has, since what was read is remembered."""
        path = folder / "configs" / "tables" / f"{folder.name}.yaml"
        path.parent.mkdir(parents=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path.stem

    def test_none(self, tmp_path):
        loaded = spec.load(self.write(tmp_path, GOOD))
        assert list(loaded.rows) == ["a", "b", "c"]
        assert loaded.cell("a", "x", "small") == "no configuration yet"

    def test_what_a_row_fills(self, tmp_path):
        """It fills a column's overlays and its metric; a row without such a column's number says why."""
        rows = "{a: {config: c, fills: few}, b: {config: c, fills: all, without: {y: too slow}}}"
        columns = "{x: {metric: 'm_{}/top1'}, y: {metric: 'm_{}/top1', overlays: [o, 'labels_{}']}}"
        loaded = spec.load(self.write(tmp_path, f"title: t\nrows: {rows}\ncolumns: {columns}\n"))
        assert [loaded.metric_of(row, "x") for row in "ab"] == ["m_few/top1", "m_all/top1"]
        assert loaded.cell("a", "x", "small") == loaded.cell("b", "x", "small")
        (training,) = loaded.cell("a", "y", "small")
        assert training.name == "c+o+labels_few"
        assert training.configs == ("configs/c.yaml", "configs/o.yaml", "configs/labels_few.yaml")
        assert loaded.cell("b", "y", "small") == "too slow"

    def test_what_a_row_has_in_a_single_column(self, tmp_path):
        rows, columns = (
            "{a: {overlays: [m], by_column: {y: [rate]}}}",
            "{x: {config: c}, y: {config: d, overlays: [o]}}",
        )
        loaded = spec.load(self.write(tmp_path, f"title: t\nrows: {rows}\ncolumns: {columns}\n"))
        names = [[training.name for training in loaded.cell("a", column, "small")] for column in "xy"]
        assert names == [["c+m"], ["d+m+o+rate"]]

    @pytest.mark.parametrize("mistake", MISTAKES)
    def test_names_the_file_and_what_is_wrong(self, tmp_path, mistake):
        text, message = MISTAKES[mistake]
        name = self.write(tmp_path, text)
        with pytest.raises(ValueError, match=re.escape(message)) as error:
            spec.load(name)
        assert f"configs/tables/{name}.yaml" in str(error.value)

    def test_unknown_table(self, tmp_path):
        name = self.write(tmp_path, GOOD)
        with pytest.raises(ValueError, match=f"there is no table table99; there are {name}"):
            spec.load("table99")

    def test_another_folder(self):
        with pytest.raises(FileNotFoundError, match="there is no folder configs/tables here"):
            spec.names()


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "configs/tables").glob("*.yaml")))
def test_its_latex_has_whole_rows(name, monkeypatch, tmp_path):
    """Headings of one level and of several."""
    monkeypatch.chdir(ROOT)
    text = latex(collect(spec.load(name), "small", tmp_path))
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    columns = len(spec.load(name).columns) + 2
    for line in re.findall(r"^(?!\\).+\\\\$", body, re.MULTILINE):
        spans = sum(int(span) - 1 for span in re.findall(r"\\multicolumn\{(\d+)\}", line))
        assert len(re.findall(r"(?<!\\)&", line)) + spans == columns - 1
    assert "('" not in body
    assert text.isascii()
