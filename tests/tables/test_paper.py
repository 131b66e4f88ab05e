"""``paper.csv`` holds every number that the paper's 15 tables print, under its row and column."""

from __future__ import annotations

import csv
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

CSV = Path(__file__).parents[2] / "configs" / "tables" / "paper.csv"
TABLES = range(1, 16)
LINES = list(csv.DictReader(CSV.read_text(encoding="utf-8").splitlines()))
VALUES = {(int(line["table"]), line["row"], line["column"]): line["value"] for line in LINES}
# the two rows of a table of which a third is the difference
DIFFERENCES = {(7, "Gap"): ("Hard Aug.", "Base Aug."), (8, "Gain"): ("Hard", "Base")}
NUMBER = r"-?\d+(?:\.\d+)?"

# a tabular and its column types, which hold braces themselves
TABULAR = re.compile(
    r"\\begin\{tabular\}(?:\[\w\])?\{(?:[^{}]|\{[^{}]*\})*\}(.*?)\\end\{tabular\}",
    re.DOTALL,
)
# in order: what goes, what stays of a command, then its symbols
PLAIN = [
    (r"(?<!\\)%.*", ""),
    (r"\s*~?\\cite[pt]?\{[^}]*\}", ""),
    (r"\\(?:top|bottom)rule|\\cmidrule\{[^}]*\}|\\label\{[^}]*\}", ""),
    (r"\\(?:textbf|bf)(?![A-Za-z])", ""),
    (r"\\'\{?e\}?", "é"),
    (r"\^\{?\\dag\}?", "†"),
    (r"\\alpha\^\{-1\}", "1/α"),
    (r"\\gamma", "γ"),
    (r"\\tau", "τ"),
    (r"\\pm\s*", "±"),
    (r"\\([#%])", r"\1"),
    (r"~", " "),
    (r"\$", ""),
]


def tabulars(tex):
    """The tabulars of the tables, in order: rows of the heading and of the body, which are lists of cells."""
    for pattern, replacement in PLAIN:
        tex = re.sub(pattern, replacement, tex)
    tables = re.findall(r"\\begin\{table\}(.*?)\\end\{table\}", tex, re.DOTALL)
    for content in TABULAR.findall("".join(tables)):
        heading, _, body = content.partition(r"\midrule")
        yield [rows(heading), rows(body.replace(r"\midrule", ""))]


def rows(text):
    cells = [[text for cell in row.split("&") for text in spread_out(cell)] for row in text.split(r"\\")]
    return [row for row in cells if any(row)]


def spread_out(cell):
    """A cell's text, once for each column that it spans."""
    multicolumn = re.fullmatch(r"\s*\\multicolumn\{(\d+)\}\{[^}]*\}\{(.*)\}\s*", cell, re.DOTALL)
    span, text = (int(multicolumn[1]), multicolumn[2]) if multicolumn else (1, cell)
    return [" ".join(re.sub(r"[{}]", "", text).split())] * span


def column_labels(heading):
    """Of each column after the first; the empty string for those that only separate."""
    corner, *last = heading[-1]
    if corner == "1/α":
        return [f"{corner} = {label}" for label in last]
    above = [[*row[1:], *[""] * len(last)] for row in heading[:-1]]
    levels = zip(*(row[: len(last)] for row in above), last, strict=True)
    return [" / ".join(filter(None, level)) if level[-1] else "" for level in levels]


def row_labels(body):
    """Distinct: a row that adds something to the one above, and rows that differ in their epochs only."""
    count = Counter(row[0] for row in body)
    base = ""
    for label, first, *_ in body:
        if label.startswith("+"):
            yield f"{base} {label}"
        else:
            base = label
            yield f"{label}, {first} epochs" if count[label] > 1 else label


def entries(heading, body):
    """(row, column) -> (value, spread)."""
    found = {}
    for label, (_, *cells) in zip(row_labels(body), body, strict=True):
        for column, cell in zip(column_labels(heading), cells, strict=True):
            if column == "":
                assert cell == ""
            elif column != "Metric" and cell != "-":
                number = re.fullmatch(rf"\+?({NUMBER})(?:± ?({NUMBER}))?(?:\(\+?({NUMBER})\))?", cell)
                assert number, f"{label}, {column}: {cell}"
                assert (label, column) not in found
                found[label, column] = (number[1], number[2] or "")
                if number[3]:
                    found[label, f"{column}, gain"] = (number[3], "")
    return found


@pytest.fixture
def printed(data_root):
    tex = Path(data_root).parent / "paper" / "renyicl.tex"
    if not tex.exists():
        pytest.skip(f"no {tex}")
    return dict(enumerate(tabulars(tex.read_text(encoding="utf-8")), start=1))


@pytest.mark.data
def test_the_paper_has_fifteen_tables(printed):
    assert list(printed) == list(TABLES)


@pytest.mark.data
@pytest.mark.parametrize("table", TABLES)
def test_every_number_is_there_once(printed, table):
    _, body = printed[table]
    cells = " ".join(cell for _, *row in body for cell in row)
    ours = [number for line in LINES if line["table"] == str(table) for number in (line["value"], line["spread"])]
    # "Top-1 accuracy" holds none
    assert Counter(filter(None, ours)) == Counter(re.findall(r"(?<![a-z\d.-])-?\d+(?:\.\d+)?", cells))


@pytest.mark.data
@pytest.mark.parametrize("table", TABLES)
def test_every_number_is_under_its_row_and_column(printed, table):
    ours = {(x["row"], x["column"]): (x["value"], x["spread"]) for x in LINES if x["table"] == str(table)}
    theirs = entries(*printed[table])
    assert ours == theirs
    assert list(ours) == list(theirs)


def test_header():
    assert CSV.read_text(encoding="utf-8").splitlines()[0] == "table,row,column,value,spread"


def test_every_table_is_there():
    assert list(dict.fromkeys(line["table"] for line in LINES)) == [str(table) for table in TABLES]


def test_no_entry_twice():
    assert len(VALUES) == len(LINES)


def test_values_and_spreads_are_numbers():
    for line in LINES:
        assert set(line) == {"table", "row", "column", "value", "spread"}
        assert re.fullmatch(NUMBER, line["value"]), line
        assert re.fullmatch(rf"({NUMBER})?", line["spread"]), line


def test_labels_are_plain():
    for line in LINES:
        for label in (line["row"], line["column"]):
            assert label == label.strip()
            assert not re.search(r"[\\{}$~^]|  ", label), label


def pair_of(table, row, column):
    """The two entries of which an entry is the difference; None if it is none."""
    if (table, row) in DIFFERENCES:
        return [(table, one, column) for one in DIFFERENCES[table, row]]
    if not column.endswith(", gain"):
        return None
    column = column.removesuffix(", gain")
    base = (table, row.removesuffix(" +NC"), column) if table == 9 else (table, row, column.replace("Hard", "Base"))
    return [(table, row, column), base]


GAINS = {entry: pair for entry in VALUES if (pair := pair_of(*entry)) is not None}


def test_every_printed_gain_is_known():
    assert Counter(table for table, _, _ in GAINS) == {5: 15, 7: 4, 8: 3, 9: 9}


@pytest.mark.parametrize("entry", GAINS, ids=str)
def test_a_gain_is_the_difference_of_what_is_printed(entry):
    value, base = GAINS[entry]
    assert value != base
    assert Decimal(VALUES[entry]) == Decimal(VALUES[value]) - Decimal(VALUES[base])
