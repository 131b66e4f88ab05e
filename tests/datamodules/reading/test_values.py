"""One text for one value, whatever its type."""

from __future__ import annotations

import decimal

import pyarrow as pa
import pytest

from datamodules.reading.values import places_in, text_of


def column(values, kind=None):
    return pa.chunked_array([pa.array(values, kind)])


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([True, None], None, ["True", None]),
        (["TRUE", "false", "True", "t"], None, ["True", "False", "True", "t"]),
        ([0.1, 1e-5, 1e16, 2.0, float("nan")], None, ["0.1", "1e-05", "10000000000000000", "2", None]),
        ([0.1, 0.25], pa.float32(), ["0.1", "0.25"]),
        ([decimal.Decimal("0.10"), decimal.Decimal("2.00")], None, ["0.1", "2"]),
        (["0.10", "1e-5", "2.0", "+3", "01"], None, ["0.1", "1e-05", "2", "3", "01"]),
        (["1.1", "1.10", "2.0"], None, ["1.1", "1.10", "2"]),  # of versions
        ([10**18 + 1, 7], None, ["1000000000000000001", "7"]),
        (["1e999", "9" * 30], None, ["1e999", "9" * 30]),
    ],
)
def test_texts(values, kind, expected):
    assert text_of(column(values, kind)).to_pylist() == expected


def test_categories_of_pandas_that_are_numbers_or_truth_values():
    assert text_of(column([3, 4, 3]).dictionary_encode()).to_pylist() == ["3", "4", "3"]


def test_names_keep_their_decimals():
    assert text_of(column(["0.10", "1.0"]), decimals=False).to_pylist() == ["0.10", "1"]


@pytest.mark.parametrize(
    ("values", "known", "expected"),
    [
        ([True, False, None], ["false", "true"], [1, 0, None]),  # of an earlier version
        (["x", "y"], ["y ", " x"], [1, 0]),
        (["1.10"], ["1.1", "1.10"], [1]),
        (["0.10", "0.2"], ["0.1"], [0, None]),
        ([0.1], ["0.10"], [0]),
        (["a", None], ["a", None], [0, 1]),
        ([5, 7], ["5", "7"], [0, 1]),
    ],
)
def test_places(values, known, expected):
    assert places_in(column(values), known).to_pylist() == expected
