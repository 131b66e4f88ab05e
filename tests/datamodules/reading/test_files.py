"""Tables in files: what is read, and what is said of files that are no tables."""

from __future__ import annotations

import bz2
import gzip

import pandas as pd
import pytest

from datamodules.reading.files import read_table
from datamodules.reading.layout import MISSING, Layout


@pytest.fixture
def read(tmp_path):
    """The columns of a file with this content."""

    def _read(content, name="t.csv", **arguments):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        columns, _ = read_table(path, Layout(**arguments))
        return {name: column.to_pylist() for name, column in columns.items()}

    return _read


@pytest.fixture
def complaint(read, tmp_path):
    """The one line that a file with this content brings, without its folder."""

    def _complaint(content, name="t.csv", **arguments):
        with pytest.raises(ValueError, match=r".") as error:
            read(content, name, **arguments)
        message = str(error.value)
        assert "\n" not in message
        assert str(tmp_path / name) in message
        return message.replace(str(tmp_path / name), name)

    return _complaint


EXPECTED = {"a": ["1", "2"], "b": ["x y", None]}


@pytest.mark.parametrize(
    ("content", "name", "arguments"),
    [
        ("a,b\n1,x y\n2,\n", "t.csv", {}),
        ("a, b\n 1, x y \n2, ?\n", "t.csv", {}),
        ("a,b\r\n1,x y\r\n2,NA\r\n", "t.csv", {}),
        ("\ufeffa,b\n1,x y\n\n2,nan\n\n", "t.csv", {}),
        ('"a","b"\n"1","x y"\n"2",""\n', "t.csv", {}),
        ("a\tb\n1\tx y\n2\t\n", "t.tsv", {}),
        ("a\tb\n1\tx y\n2\t\n", "t.TAB", {}),
        ("a;b\n1;x y\n2;\n", "t.csv", {"delimiter": ";"}),
        (gzip.compress(b"a,b\n1,x y\n2,\n", mtime=0), "t.csv.gz", {}),
        (bz2.compress(b"a\tb\n1\tx y\n2\t\n"), "t.tsv.bz2", {}),
    ],
)
def test_ways_to_write_the_same(read, content, name, arguments):
    assert read(content, name, **arguments) == EXPECTED


@pytest.mark.parametrize("mark", MISSING)
def test_missing_values(read, mark):
    assert read(f"a,b\n{mark},{mark} \n1,2\n") == {"a": [None, "1"], "b": [None, "2"]}


def test_a_column_without_a_value(read):
    assert read("a,b\n,1\n,2\n") == {"a": [None, None], "b": ["1", "2"]}


def test_a_file_without_names(read):
    assert read("1,x\n1,y\n", header=False) == {"column_1": ["1", "1"], "column_2": ["x", "y"]}


def test_values_are_not_guessed_from_the_first_lines(read):
    lines = "".join(f"{number},0\n" for number in range(200_000))  # more than a block
    found = read(f"a,b\n{lines}1.5,x\n")
    assert found["a"][-2:] == ["199999", "1.5"]
    assert found["b"][-2:] == ["0", "x"]


def test_a_value_of_two_lines(read):
    assert read('a,b\n1,"x\ny"\n') == {"a": ["1"], "b": ["x\ny"]}


def test_parquet_keeps_its_types(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], " b ": [0.5, None], "c": ["x", "y"], "d": pd.Categorical(["u", "u"])})
    frame.to_parquet(tmp_path / "t.parquet")
    table, _ = read_table(tmp_path / "t.parquet")
    assert {name: column.to_pylist() for name, column in table.items()} == {
        "a": [1, 2],
        "b": [0.5, None],
        "c": ["x", "y"],
        "d": ["u", "u"],
    }


@pytest.mark.parametrize(
    ("content", "name", "arguments", "expected"),
    [
        ("a,b\n1,2\n3\n", "t.csv", {}, "Row #3: Expected 2 columns, got 1"),
        ("a,b\n1,2\n3,4,5\n", "t.csv", {}, "Row #3: Expected 2 columns, got 3"),
        ("", "t.csv", {}, "Empty CSV file"),
        ("a,b, a\n1,2,3\n", "t.csv", {}, "t.csv has several columns of the same name: a"),
        ("a;b\n1;2\n", "t.csv", {}, "t.csv has no commas, but semicolons between its values: set delimiter to ';'"),
        ("a\tb\n1\t2\n", "t.csv", {}, "no commas, but tabs between its values: set delimiter to '\\t'"),
        ("a,b\n1,2\n", "t.tsv", {}, "no tabs, but commas between its values: set delimiter to ','"),
        ("a,b\n1,2\n", "t.csv", {"delimiter": "|"}, "no bars, but commas between"),
        ("1,2\n3,4\n", "t.csv", {}, "the first line has numbers for names: set header to false"),
        (b"a,b\n1,\xe9\n" + b"1,2\n" * 9, "t.csv", {}, "t.csv is not in UTF-8, see line 2: save it as UTF-8"),
        (b"a,b\n1,2\n", "t.csv.gz", {}, "no table of text or damaged"),
        (gzip.compress(b"a,b\n1,2\n" * 1000, mtime=0)[:-20], "t.csv.gz", {}, "no table of text or damaged: Truncated"),
        (b"a,b\n1,2\n" * 9, "t.parquet", {}, "no Parquet file or damaged"),
    ],
)
def test_what_is_no_table(complaint, content, name, arguments, expected):
    assert expected in complaint(content, name, **arguments)


def test_a_late_line_is_named(complaint):
    lines = "1,2\n" * 400_000
    assert "Row #400002: Expected 2 columns, got 3" in complaint(f"a,b\n{lines}1,2,3\n")


def test_a_parquet_file_with_columns_of_one_name(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a "]), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="several columns of the same name: a"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize(("name", "what"), [("", "is a folder"), ("no.csv", "no such file")])
def test_no_file(tmp_path, name, what):
    with pytest.raises(FileNotFoundError, match=what):
        read_table(tmp_path / name)
