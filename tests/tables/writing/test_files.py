"""A table as Markdown, LaTeX, CSV and a picture, each read back."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest
from PIL import Image

from lightning_renyicl.tables.scores import Cell, Score, Table
from lightning_renyicl.tables.spec import Line, Spec
from lightning_renyicl.tables.writing import files
from lightning_renyicl.tables.writing import picture as pictures
from lightning_renyicl.tables.writing.footer import footer
from lightning_renyicl.tables.writing.latex import tex

BASE, HARD, TOP = "CIFAR-10 / Base", "CIFAR-10 / Hard", "Top"
COLUMNS = [BASE, HARD, TOP]
ROWS = ["CPC", "RényiCL (γ=1.5, τ=1.0)", "α_1 & 5% #1", "Late", "Own"]
MISSING = "its data_set"
VALUES = {0: 70.25, 1: 71.5, 2: 69.0}
MEAN, STD = np.mean([70.25, 71.5, 69.0]), np.std([70.25, 71.5, 69.0], ddof=1)
RESULT = {
    "metrics": {"probe/top1": 0.7},
    "config": {"trainer": {}},
    "seconds": 5400.0,
    "versions": {"python": "3.11.7", "torch": "2.14.1"},
    "device": "cpu (x86_64, 1 threads)",
    "commit": "1234567-dirty",
    "data": {"name": "CIFAR10", "samples": {"train": 45000, "test": 10000}},
}


def score(*values):
    return Score(dict(enumerate(values)))


def cells():
    """By row and column; those that are not there are empty."""
    cpc, renyi, alpha, late, own = ROWS
    return {
        (cpc, BASE): Cell("70.10", "0.2", score=Score(VALUES), dataset="CIFAR10 (45,000 train)", best=True),
        (cpc, HARD): Cell("72.0", "", "1.9", Score(VALUES), score(2.0, 4.0), stale=True),
        (cpc, TOP): Cell("3"),
        (renyi, BASE): Cell("71.0"),
        (renyi, HARD): Cell("71.5", "", "-0.6", score(74.125), score(-0.26)),
        (renyi, TOP): Cell(not_run="nothing to run at scale small"),
        (alpha, TOP): Cell(score=score(0.0, 0.0)),
        (late, BASE): Cell("60.0", not_run=f"for want of {MISSING}"),
        (late, HARD): Cell("61.0", not_run=f"for want of {MISSING}"),
        (late, TOP): Cell(not_run=f"for want of {MISSING}"),
        (own, BASE): Cell(not_run="no configuration yet"),
        (own, HARD): Cell(not_run="no configuration yet"),
        (own, TOP): Cell(not_run="no configuration yet"),
    }


@pytest.fixture
def table():
    """A table with every kind of cell."""
    return make()


@pytest.fixture
def empty():
    """A table of which nothing has run."""
    return make({}, results=())


def make(filled=None, scale="small", results=(RESULT, RESULT), remarks=(), **arguments):
    rows = {label: Line(label, missing=MISSING if label == "Late" else None) for label in ROWS}
    columns = {label: Line(label, gain_over=BASE if label == HARD else None) for label in COLUMNS}
    keys = {"title": "Objectives & 100% of γ_1", "metric": "probe/top1", "notes": ("A note of 5%.", "Another.")}
    spec = Spec(name="table77", rows=rows, columns=columns, **(keys | arguments))
    filled = cells() if filled is None else filled
    all_cells = {(row, column): filled.get((row, column), Cell()) for row in ROWS for column in COLUMNS}
    return Table(spec, scale, all_cells, list(results), list(remarks))


def rows_of(text):
    """The cells of every line of a Markdown table after its heading."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


class TestMarkdown:
    def test_rows(self, table):
        cpc, renyi, alpha, late, own = ROWS
        assert f"{MEAN:.2f} ± {STD:.2f}" == "70.25 ± 1.25"
        # digits are those of the paper in the same column, one where it has no number with a point
        assert rows_of(files.markdown(table)) == [
            [cpc, "ours", "**70.25 ± 1.25 (3)**", "70.2 ± 1.2 (3) (+3.0)‡", "—"],
            ["", "paper", "70.10 ± 0.2", "72.0 (+1.9)", "3"],
            ["", "difference", "+0.15", "-1.8", ""],
            [renyi, "ours", "—", "74.1 (1) (-0.3)", "not run"],
            ["", "paper", "71.0", "71.5 (-0.6)", ""],
            ["", "difference", "", "+2.6", ""],
            [alpha, "ours", "—", "—", "0 ± 0 (2)"],
            [late, "ours", "not run", "not run", "not run"],
            ["", "paper", "60.0", "61.0", ""],
            [own, "ours", "not run", "not run", "not run"],
        ]

    def test_made_up_data_have_no_difference_from_the_papers(self):
        kinds = [line[1] for line in rows_of(files.markdown(make(scale="smoke")))]
        assert kinds == ["ours", "paper", "ours", "paper", "ours", "ours", "paper", "ours"]

    def test_heading(self, table):
        lines = files.markdown(table).splitlines()
        assert lines[0] == "# table77: Objectives & 100% of γ_1"
        assert lines[2] == f"|  |  | {BASE} | {HARD} | {TOP} |"
        assert lines[3] == "|---|---|---|---|---|"

    def test_every_line_has_as_many_cells(self, table):
        lines = [line for line in files.markdown(table).splitlines() if line.startswith("|")]
        assert {line.count("|") for line in lines} == {6}

    def test_of_nothing(self, empty):
        assert rows_of(files.markdown(empty)) == [[row, "ours", "—", "—", "—"] for row in ROWS]

    @pytest.mark.parametrize("content", files.FORMATS.values(), ids=files.FORMATS)
    def test_no_result_is_never_0(self, table, empty, content):
        assert not re.search(r"(?<![\w.])0(?:\.0+)?(?![\w.%])", content(empty))
        assert "nan" not in content(table)
        assert all(text.endswith("\n") for text in (content(table), content(empty)))
        assert content(table) != content(empty)

    @pytest.mark.parametrize(("printed", "digits"), [([], 1), (["3"], 0), (["3", "4.25", "5.1"], 2), (["-0.5"], 1)])
    def test_digits_are_the_papers(self, printed, digits):
        filled = {(row, TOP): Cell(number) for row, number in zip(ROWS, printed, strict=False)}
        filled[ROWS[-1], TOP] = Cell(score=score(12.3456))
        (row,) = [line for line in rows_of(files.markdown(make(filled))) if line[0] == ROWS[-1]]
        assert row[-1] == f"{12.3456:.{digits}f} (1)"

    @pytest.mark.parametrize("number", ["0.0", "0", "0.00"])
    def test_a_zero_of_the_papers(self, number):
        filled = {(ROWS[0], TOP): Cell(number, "0.0", "0.0", score(0.0))}
        lines = rows_of(files.markdown(make(filled)))
        assert [line[1] for line in lines[:3]] == ["ours", "paper", "difference"]
        assert lines[1][-1] == f"{number} ± 0.0 (+0.0)"


class TestFooter:
    def footer(self, table):
        return files.markdown(table).split("\n\n", 2)[2]

    def test_facts(self, table):
        text = self.footer(table)
        assert "`probe/top1` in per cent on the test split at the last epoch, mean ± standard deviation (seeds)" in text
        assert "Scale: small. Runs: 2, 3.0 hours.\n" in text
        assert "Data: CIFAR10 (45,000 train, 10,000 test).\n" in text
        assert "Versions: python 3.11.7, torch 2.14.1.\n" in text
        assert "Device: cpu (x86_64, 1 threads).\n" in text
        assert "Commit: 1234567-dirty.\n" in text
        assert text.index("A note of 5%.\n") < text.index("Another.\n")

    def test_every_different_fact_once_and_in_order(self):
        other = RESULT | {"device": "GPU", "commit": None, "versions": {"torch": "2.15"}, "data": {"name": "Fake"}}
        text = self.footer(make(results=(RESULT, other, RESULT)))
        assert "Data: CIFAR10 (45,000 train, 10,000 test); Fake.\n" in text
        assert "Versions: python 3.11.7, torch 2.14.1; torch 2.15.\n" in text
        assert "Device: cpu (x86_64, 1 threads); GPU.\n" in text
        assert "Commit: 1234567-dirty; none.\n" in text
        assert "Runs: 3, 4.5 hours" in text

    def test_of_nothing(self, empty):
        text = self.footer(empty)
        assert "Scale: small. No runs yet.\n" in text
        assert not re.search("Data:|Versions:|Device:|Commit:|‡", text)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"split": "val"}, "as `fit` reports it at the last epoch"),
            ({"best_of": "columns"}, "every other one of its column by more than the spread"),
            ({"best_of": "rows"}, "every other one of its row by more than the spread"),
        ],
    )
    def test_of_other_tables(self, arguments, words):
        assert words in self.footer(make(**arguments))

    def test_what_a_dagger_means(self, table):
        assert "‡: what it was made of has changed since" in self.footer(table)
        for cell in table.cells.values():
            cell.stale = False
        assert "‡" not in files.markdown(table)

    def test_remarks(self):
        text = self.footer(make(remarks=["Stale: tiny (configs/a.yaml is gone)", "tiny, seed 1, has no finite probe"]))
        assert "Stale: tiny (configs/a.yaml is gone).\n" in text
        assert "tiny, seed 1, has no finite probe.\n" in text

    def test_reasons(self, table):
        """Of a row as a whole, else cell by cell."""
        text = self.footer(table)
        assert f"Not run, for want of {MISSING}: Late.\n" in text
        assert f"Not run, nothing to run at scale small: {ROWS[1]} × {TOP}.\n" in text
        assert f"Not run, no configuration yet: {', '.join(f'Own × {column}' for column in COLUMNS)}.\n" in text
        assert "Late ×" not in text

    def test_reasons_of_several_lines(self, table):
        table.spec.columns[TOP] = Line(TOP, missing=MISSING)
        assert f"Not run, for want of {MISSING}: Late, Top.\n" in self.footer(table)


def parsed(text):
    return list(csv.DictReader(io.StringIO(text)))


class TestCSV:
    def test_header(self, table):
        assert files.comma_separated(table).splitlines()[0] == "row,column,paper,mean,std,n,scale,dataset"

    def test_every_cell_is_a_line_in_order(self, table):
        lines = parsed(files.comma_separated(table))
        assert [(line["row"], line["column"]) for line in lines] == [
            (row, column) for row in ROWS for column in COLUMNS
        ]
        assert {line["scale"] for line in lines} == {"small"}

    def test_numbers(self, table):
        for line in parsed(files.comma_separated(table)):
            cell = table.cells[line["row"], line["column"]]
            numbers = list(cell.score.values.values())
            assert line["paper"] == cell.paper  # as printed
            assert line["dataset"] == cell.dataset
            assert line["n"] == (str(len(numbers)) if numbers else "")
            assert (float(line["mean"]) == pytest.approx(np.mean(numbers), abs=5e-5)) if numbers else not line["mean"]
            deviation = line["std"]
            assert (
                float(deviation) == pytest.approx(np.std(numbers, ddof=1), abs=5e-5)
                if len(numbers) > 1
                else (deviation == "")
            )

    def test_of_nothing(self, empty):
        for line in parsed(files.comma_separated(empty)):
            assert [line[key] for key in ("paper", "mean", "std", "n", "dataset")] == [""] * 5

    def test_labels_with_commas_and_quotes(self):
        filled = {(ROWS[0], BASE): Cell("1", dataset='Rows "own", 5 train')}
        assert parsed(files.comma_separated(make(filled)))[0]["dataset"] == 'Rows "own", 5 train'

    def test_lines_end_as_text_does(self, table):
        assert "\r" not in files.comma_separated(table)
        assert files.comma_separated(table).endswith("\n")


def body_of(text):
    """The lines of a tabular between its second rule and its last."""
    _, _, body = text.partition("\\midrule\n")
    return body.partition("\\bottomrule")[0].splitlines()


def separators(line):
    return len(re.findall(r"(?<!\\)&", line))


SPECIAL = "& % $ # _ { } ~ ^ \\"


class TestLaTeX:
    @pytest.fixture(params=["full", "empty", "one level"])
    def text(self, request):
        if request.param == "full":
            return files.latex(make(remarks=[f"Stale: a_b ({SPECIAL} …)"]))
        if request.param == "empty":
            return files.latex(make({}, results=()))
        spec = Spec("table77", "One & all", {"A": Line("A")}, {"x": Line("x"), "y": Line("y")})
        return files.latex(Table(spec, "paper", {("A", "x"): Cell("1.0"), ("A", "y"): Cell()}, [], []))

    def test_environments_are_balanced(self, text):
        opened = []
        for kind, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", text):
            if kind == "begin":
                opened.append(name)
            else:
                assert opened.pop() == name
        assert opened == []
        assert text.count(r"\begin{table}") == text.count(r"\begin{tabular}") == 1

    def test_braces_are_balanced(self, text):
        plain = re.sub(r"\\[{}]", "", text)
        depth = np.cumsum([{"{": 1, "}": -1}.get(sign, 0) for sign in plain])
        assert depth.min() == depth[-1] == 0

    def test_rules(self, text):
        places = [text.index(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")]
        assert places == sorted(places)
        assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
        assert r"\hline" not in text

    def test_rows_have_as_many_cells_as_the_tabular_has_columns(self, text):
        (columns,) = re.findall(r"\\begin\{tabular\}\{([lcr]+)\}", text)
        body = body_of(text)
        assert body
        assert {separators(line) for line in body} == {len(columns) - 1}
        assert all(line.endswith(r"\\") for line in body)

    def test_headings_span_the_columns(self, text):
        (columns,) = re.findall(r"\\begin\{tabular\}\{([lcr]+)\}", text)
        heading = text.partition("\\toprule\n")[2].partition("\\midrule")[0].splitlines()
        for line in heading:
            spans = sum(int(number) - 1 for number in re.findall(r"\\multicolumn\{(\d+)\}", line))
            assert separators(line) + spans == len(columns) - 1

    def test_no_sign_is_left_that_means_something(self, text):
        text = re.sub(r"\\(?:label|begin|end)\{[^}]*\}(?:\{[lcr]+\}|\[t\])?", "", text)  # ours, not the table's
        assert not re.search(r"(?<!\\)[%#~^_]", text.replace(r"$^\ddag$", ""))
        assert len(re.findall(r"(?<!\\)\$", text)) % 2 == 0
        outside = text.replace(text[text.index(r"\toprule") : text.index(r"\bottomrule")], "")
        assert separators(outside) == 0

    def test_no_letter_or_sign_that_needs_a_package(self, text):
        assert not re.search(r"[α-ωΑ-Ω±×†—−]", text)

    @pytest.mark.parametrize(
        ("sign", "command"),
        [
            ("α", r"$\alpha$"),
            ("γ", r"$\gamma$"),
            ("τ", r"$\tau$"),
            ("±", r"$\pm$"),
            ("×", r"$\times$"),
            ("†", r"$^\dag$"),
            ("—", "---"),
            ("%", r"\%"),
            ("&", r"\&"),
            ("_", r"\_"),
            ("#", r"\#"),
            ("$", r"\$"),
            ("{}", r"\{\}"),
            ("~", r"\textasciitilde{}"),
            ("^", r"\textasciicircum{}"),
            ("\\", r"\textbackslash{}"),
            ("\\{", r"\textbackslash{}\{"),
            ("plain", "plain"),
        ],
    )
    def test_signs(self, sign, command):
        assert tex(f"a{sign}b") == f"a{command}b"

    def test_signs_beyond_ascii(self):
        assert tex("RényiCL …").isascii()

    def test_cells(self, table):
        body = [
            [cell.strip() for cell in line.removesuffix(r"\\").split(" & ")] for line in body_of(files.latex(table))
        ]
        first, paper, gap = body[:3]
        assert first == ["CPC", "ours", r"\textbf{70.25 $\pm$ 1.25 (3)}", r"70.2 $\pm$ 1.2 (3) (+3.0)$^\ddag$", "---"]
        assert paper == ["", "paper", r"70.10 $\pm$ 0.2", "72.0 (+1.9)", "3"]
        assert gap == ["", "difference", "+0.15", "-1.8", ""]
        assert len(body) == len(rows_of(files.markdown(table)))
        assert any(line[0] == r"$\alpha$\_1 \& 5\% \#1" for line in body)

    def test_heading(self, table):
        text = files.latex(table)
        assert r"\multicolumn{2}{c}{CIFAR-10}" in text
        assert r"&  & Base & Hard & Top \\" in text
        assert r"\caption{Objectives \& 100\% of $\gamma$\_1}" in text
        assert r"\label{tab:table77}" in text

    def test_footer(self, table):
        text = files.latex(table)
        inside = text[text.index(r"\end{tabular}") : text.index(r"\end{table}")]
        for line in footer(table):
            assert rf"\par\footnotesize {tex(line)}" in inside


class TestPicture:
    @pytest.mark.parametrize("kind", ["full", "empty", "one column", "many columns"])
    def test_is_an_image(self, tmp_path, kind):
        table = make() if kind == "full" else make({}, results=())
        if kind.endswith("columns") or kind.endswith("column"):
            labels = [f"x{i} $ _" for i in range(1 if kind == "one column" else 9)]
            spec = Spec("table77", "T", {"A": Line("A")}, {label: Line(label) for label in labels})
            table = Table(spec, "paper", {("A", label): Cell("1.0", score=score(1.5, 2.0)) for label in labels}, [], [])
        pictures.picture(table, tmp_path / "table.png")
        assert [path.name for path in tmp_path.iterdir()] == ["table.png"]
        with Image.open(tmp_path / "table.png") as image:
            image.load()
            assert image.format == "PNG"
            assert min(image.size) > 100
            assert len(image.convert("RGB").getcolors(2**24)) > 2  # it is not blank

    def test_shows_the_numbers(self, table, tmp_path, monkeypatch):
        from matplotlib.axes import Axes

        drawn = []

        def plot(self, xs, ys, *_, label, **__):
            drawn.append((self, label, list(xs), list(ys), None))

        def errorbar(self, xs, ys, *, xerr, label, **__):
            drawn.append((self, label, list(xs), list(ys), list(xerr)))

        monkeypatch.setattr(Axes, "plot", plot)
        monkeypatch.setattr(Axes, "errorbar", errorbar)
        pictures.picture(table, tmp_path / "table.png")
        found = {(axis.get_title(), label): (xs, ys, bars) for axis, label, xs, ys, bars in drawn}
        assert len(found) == len(drawn)
        assert found == {
            (BASE, "paper"): ([70.1, 71.0, 60.0], [0, 1, 3], None),
            (BASE, "ours"): ([pytest.approx(MEAN)], [0], [pytest.approx(STD)]),
            (HARD, "paper"): ([72.0, 71.5, 61.0], [0, 1, 3], None),
            (HARD, "ours"): ([pytest.approx(MEAN), 74.125], [0, 1], [pytest.approx(STD), 0.0]),
            (TOP, "paper"): ([3.0], [0], None),
            (TOP, "ours"): ([0.0], [2], [0.0]),
        }
        axis = drawn[0][0]
        assert [label.get_text() for label in axis.get_yticklabels()] == ROWS
        assert axis.get_ylim()[0] > axis.get_ylim()[1]  # the first row is on top


class TestWrite:
    @pytest.fixture
    def no_picture(self, monkeypatch):
        """A picture that takes no time."""
        monkeypatch.setattr(pictures, "picture", lambda table, path: path.write_text(f"{len(table.results)} results"))

    @pytest.mark.usefixtures("no_picture")
    @pytest.mark.parametrize(
        ("scale", "stem"), [("paper", "table77"), ("small", "table77-small"), ("smoke", "table77-smoke")]
    )
    def test_names(self, tmp_path, scale, stem):
        folder = tmp_path / "results" / "new"
        written = files.write(make(scale=scale), folder)
        assert written == [folder / f"{stem}{suffix}" for suffix in (".md", ".tex", ".csv", ".png")]
        assert sorted(folder.iterdir()) == sorted(written)

    def test_contents(self, table, tmp_path):
        markdown, latex, values, image = files.write(table, tmp_path)
        assert markdown.read_text(encoding="utf-8") == files.markdown(table)
        assert latex.read_text(encoding="utf-8") == files.latex(table)
        assert values.read_text(encoding="utf-8") == files.comma_separated(table)
        with Image.open(image) as opened:
            opened.verify()

    @pytest.mark.usefixtures("no_picture")
    def test_scales_stand_beside_each_other(self, tmp_path):
        for scale in ("paper", "small"):
            files.write(make(scale=scale), tmp_path)
        assert len(list(tmp_path.iterdir())) == 8
        assert "Scale: paper." in (tmp_path / "table77.md").read_text(encoding="utf-8")
        assert "Scale: small." in (tmp_path / "table77-small.md").read_text(encoding="utf-8")

    @pytest.mark.usefixtures("no_picture")
    def test_again(self, table, empty, tmp_path):
        files.write(table, tmp_path)
        again = files.write(empty, tmp_path)
        assert again[0].read_text(encoding="utf-8") == files.markdown(empty)
        assert sorted(tmp_path.iterdir()) == sorted(again)

    @pytest.mark.parametrize("suffix", files.FORMATS)
    @pytest.mark.usefixtures("no_picture")
    def test_a_format_that_fails_leaves_whole_files(self, table, empty, tmp_path, monkeypatch, suffix):
        written = files.write(table, tmp_path)
        before = {path: path.read_bytes() for path in written}

        def fail(_):
            raise RuntimeError("a bug")

        monkeypatch.setitem(files.FORMATS, suffix, fail)
        with pytest.raises(RuntimeError, match="a bug"):
            files.write(empty, tmp_path)
        assert sorted(tmp_path.iterdir()) == sorted(written)
        done = list(files.FORMATS).index(suffix)
        contents = [files.markdown, files.latex]
        for path, content in zip(written[:done], contents, strict=False):
            assert path.read_text(encoding="utf-8") == content(empty)
        for path in written[done:]:
            assert path.read_bytes() == before[path]

    def test_a_picture_that_fails_leaves_the_one_of_before(self, empty, tmp_path, monkeypatch):
        def half(self, path, **_):
            path.write_bytes(b"\x89PNG")
            raise RuntimeError("a bug")

        path = tmp_path / "table77-small.png"
        path.write_bytes(b"before")
        monkeypatch.setattr("matplotlib.figure.Figure.savefig", half)
        with pytest.raises(RuntimeError, match="a bug"):
            files.write(empty, tmp_path)
        assert path.read_bytes() == b"before"
        assert len(list(tmp_path.iterdir())) == 4
