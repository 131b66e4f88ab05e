"""Tables in files: what is read, and what is said of files that are no tables."""

from __future__ import annotations

import bz2
import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

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
        ("a,b\n1,2\n".encode("utf-16"), "t.csv", {}, "t.csv is in UTF-16, not in UTF-8: save it as UTF-8"),
        ("a,b\n1,2\n".encode("utf-16-le"), "t.csv", {}, "t.csv is in UTF-16"),
        ("n\xe4me,b\n1,2\n".encode("latin-1"), "t.csv", {}, "t.csv is not in UTF-8, see line 1"),
        (b"a,b\n" + b"1,2\n" * 20_000 + b"1,\xe9\n", "t.csv", {}, "In b: Row #20002: CSV conversion error to string"),
        (b"a,b\n" + b"1,2\n" * 20_000 + b"1,\xe9\n", "t.csv", {}, "not in UTF-8, but perhaps in Latin-1"),
        ("sep=,\na,b\n1,2\n", "t.csv", {}, "its first line, 'sep=,', is for spreadsheets: delete it"),
        ("sep=;\na;b\n1;2\n", "t.csv", {}, "delete it, and set delimiter to ';'"),
        ("a;b\n1,5;2\n", "t.csv", {}, "semicolons between its values: set delimiter to ';' and decimal to ','"),
        ("a;b (x,y)\n1;2\n", "t.csv", {}, "seems to have no commas, but semicolons"),
        (b"PAR1....", "t.csv", {}, "t.csv is a Parquet file: name it .parquet"),
        (b"PK\x03\x04....", "t.csv", {}, "t.csv is a zip archive or a spreadsheet"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "t.csv", {}, "t.csv is compressed by gzip: name it .gz"),
        ('a,b\n1,"' + "x\n" * 2**20, "t.csv", {}, "perhaps since a quotation mark isn't closed"),
        (",\n1,2\n", "t.csv", {}, "t.csv has no columns beside the index of its rows"),
        (b"a,b\n1,2\n", "t.csv.gz", {}, "no table of text or damaged"),
        (
            gzip.compress(b"a,b\n1,2\n" * 1000, mtime=0)[:-20],
            "t.csv.gz",
            {},
            "no table of text or damaged: Truncated",
        ),
        (b"a,b\n1,2\n" * 9, "t.parquet", {}, "no Parquet file or damaged"),
    ],
)
def test_what_is_no_table(complaint, content, name, arguments, expected):
    assert expected in complaint(content, name, **arguments)


def test_a_late_line_is_named(complaint):
    lines = "1,2\n" * 400_000
    assert "Row #400002: Expected 2 columns, got 3" in complaint(f"a,b\n{lines}1,2,3\n")


def test_a_parquet_file_with_columns_of_one_name(tmp_path):
    parquet.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a "]), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="several columns of the same name: a"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize(("name", "what"), [("", "is a folder"), ("no.csv", "no such file")])
def test_no_file(tmp_path, name, what):
    with pytest.raises(FileNotFoundError, match=what):
        read_table(tmp_path / name)


class TestIndex:
    """What pandas writes as the index of rows is no feature."""

    FRAME = pd.DataFrame({"a": [1, 2, 3]}, index=[7, 5, 9])

    @pytest.mark.parametrize("name", ["t.csv", "t.parquet", "unnamed.csv"])
    def test_is_left_out_with_a_line(self, tmp_path, caplog, name):
        path = tmp_path / name
        if path.suffix == ".parquet":
            self.FRAME.to_parquet(path)
        elif name == "t.csv":
            self.FRAME.to_csv(path)
        else:
            pd.read_csv(io.StringIO(self.FRAME.to_csv())).to_csv(path, index=False)
        columns, left_out = read_table(path)
        assert list(columns) == ["a"]
        (line,) = caplog.messages
        shown = {"t.csv": "''", "t.parquet": "__index_level_0__", "unnamed.csv": "Unnamed: 0"}[name]
        assert line == f"{path}: left out as the index of its rows: {shown} (another name would keep it)"
        assert left_out == [shown.strip("'")]

    def test_with_a_name_is_left_out_unless_it_is_wanted(self, tmp_path):
        self.FRAME.rename_axis("key").to_parquet(tmp_path / "t.parquet")
        assert list(read_table(tmp_path / "t.parquet")[0]) == ["a"]
        assert set(read_table(tmp_path / "t.parquet", named=["key"])[0]) == {"a", "key"}

    def test_other_columns_stay(self, read):
        assert list(read("index,a\n1,2\n")) == ["index", "a"]

    def test_metadata_that_is_damaged(self, tmp_path):
        table = pa.table({"a": [1]}).replace_schema_metadata({"pandas": "{"})
        parquet.write_table(table, tmp_path / "t.parquet")
        with pytest.raises(ValueError, match=r"t\.parquet is no Parquet file or damaged"):
            read_table(tmp_path / "t.parquet")


def test_missing_values_are_told(read, caplog):
    read("label,a\nNone,?\nx,1\n,2\n")
    (line,) = caplog.messages
    assert line.endswith(
        "t.csv: texts that stand for missing values: 'None' in label, '?' in a (missing says which do)"
    )


LONG = {"bytes": b"x" * 2**14, "lists": ["x" * 2**14], "structs": {"k": "x" * 2**14}}


@pytest.mark.parametrize("kind", ["csv.gz", "zeros", "text", "categories", *LONG])
def test_what_is_too_large_when_it_is_unpacked(tmp_path, kind):
    """Files of some kB that would take a GiB; the limit is 16 MiB."""
    path = tmp_path / ("t.csv.gz" if kind == "csv.gz" else "t.parquet")
    if kind == "csv.gz":
        path.write_bytes(gzip.compress(b"a,b\n" + b"0,0\n" * 2**20, 1))
    elif kind == "zeros":
        parquet.write_table(pa.table({"a": np.zeros(2**22)}), path)
    elif kind in LONG:
        parquet.write_table(pa.table({"a": [LONG[kind]] * 2**11, "b": range(2**11)}), path)
    else:
        values = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, "int32")), ["x" * 2**20])
        parquet.write_table(pa.table({"a": values}), path, store_schema=kind == "categories")
    assert path.stat().st_size < 2**18
    with pytest.raises(ValueError, match=r"GiB or more when it is unpacked, for which max_gib allows 0\.02") as error:
        read_table(path, Layout(max_gib=1 / 64))
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize("metadata", ["[1]", "3", '{"index_columns": 3}', '{"index_columns": null}', "{}"])
def test_metadata_that_pandas_would_not_write(tmp_path, metadata):
    table = pa.table({"a": [1.5, 2.5]}).replace_schema_metadata({"pandas": metadata})
    parquet.write_table(table, tmp_path / "t.parquet")
    columns, left_out = read_table(tmp_path / "t.parquet")
    assert (columns["a"].to_pylist(), left_out) == ([1.5, 2.5], [])


def test_a_larger_limit_reads_it(tmp_path):
    parquet.write_table(pa.table({"a": np.zeros(2**12), "b": ["x"] * 2**12}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="max_gib allows"):
        read_table(tmp_path / "t.parquet", Layout(max_gib=2**-20))
    columns, _ = read_table(tmp_path / "t.parquet", Layout(max_gib=2**-12))
    assert columns["b"].to_pylist() == ["x"] * 2**12
