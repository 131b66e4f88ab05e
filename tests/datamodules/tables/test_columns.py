"""How columns become numbers, against scikit-learn and by hand."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest
import torch
from sklearn.preprocessing import StandardScaler

from datamodules.tables.columns import Columns
from datamodules.tables.schema import fit_columns


def table_of(**columns):
    return {name: pa.chunked_array([values]) for name, values in columns.items()}


def fit(train=None, categorical=(), impute=False, **columns):
    table = table_of(**columns)
    rows = np.arange(len(next(iter(table.values())))) if train is None else np.array(train)
    return fit_columns(table, rows, categorical, impute, "t.csv")


def complaint(function, *args, **arguments):
    with pytest.raises(ValueError, match=r".") as error:
        function(*args, **arguments)
    return str(error.value)


def test_numbers_against_scikit_learn():
    generator = np.random.default_rng(0)
    values = generator.normal(5.0, 3.0, (50, 3)) * [1, 1e-6, 1e9]
    train = generator.permutation(50)[:30]
    table = table_of(**{f"c{i}": column for i, column in enumerate(values.T)})
    rows = fit_columns(table, train, (), False, "t.csv").encode(table, "t.csv")
    expected = StandardScaler().fit(values[train]).transform(values)
    torch.testing.assert_close(rows, torch.from_numpy(expected).float(), rtol=1e-5, atol=1e-6)


def test_by_hand():
    columns = fit(a=["1", "3"], b=["y", "x"], c=[True, False])
    assert columns == Columns(["a"], [2.0], [1.0], [], ["b", "c"], [["x", "y"], ["False", "True"]], False)
    assert (columns.in_features, columns.cardinalities) == (3, (4, 4))
    table = table_of(extra=[1, 2, 3], c=[False, None, True], b=["x", "z", "y"], a=[2, 0, 3.5])
    assert fit(impute=True, a=["1", "3"], b=["y", "x"], c=[True, False]).encode(table, "n.csv").tolist() == [
        [0.0, 2.0, 2.0],
        [-2.0, 1.0, 1.0],
        [1.5, 3.0, 3.0],
    ]


def test_missing_values_that_are_imputed():
    columns = fit(impute=True, a=["1", None, "3"], b=["x", None, "y"], c=[5, 6, 7])
    assert (columns.indicators, columns.categories) == (["a"], [["x", "y", None]])
    rows = columns.encode(table_of(a=["1", None, "2"], b=[None, "x", "y"], c=[6, None, 6]), "n.csv")
    assert rows.tolist() == [[-1, 0, 0, 4], [0, 0, 1, 2], [0, 0, 0, 3]]


def test_statistics_are_of_training_rows():
    one = fit(train=[0, 1], a=["1", "3", "5"], b=["x", "y", "x"])
    other = fit(train=[0, 1], a=["1", "3", "-1e9"], b=["x", "y", "z"])
    assert one == other


@pytest.mark.parametrize("values", [["0.1"] * 3, ["7"], [1e-320] * 4, ["0"] * 5])
def test_a_constant_column_is_centred(values):
    columns = fit(a=values)
    assert columns.encode(table_of(a=values), "t.csv").tolist() == [[0.0]] * len(values)
    assert columns.deviations == [1.0]


def test_spellings_of_a_category_are_one():
    columns = fit(categorical=["a"], a=["1", "2.0", "2", "01", "-3.00"])
    assert columns.categories == [["-3", "01", "1", "2"]]
    assert columns.encode(table_of(a=[1.0, 2.0, -3.0, 4.0]), "n").flatten().tolist() == [4, 5, 2, 1]
    assert columns.encode(table_of(a=[1, 2]), "n").flatten().tolist() == [4, 5]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 4], pa.int8()),
        pa.array([1, 2, 4], pa.uint64()),
        pa.array([1, 2, 4], pa.float32()),
        pa.array([decimal.Decimal("1.0"), decimal.Decimal("2.0"), decimal.Decimal("4.0")]),
        pa.array(["1", "2.0", "+4e0"]),
        pa.array(["1", "2", "4"], pa.large_string()),
    ],
)
def test_types_of_numbers(values):
    assert fit(a=values) == fit(a=[1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["1", "2", "1"]).dictionary_encode(),
        pa.array(["1", "2", "1"], pa.large_string()).dictionary_encode(),
    ],
)
def test_categories_of_pandas(values):
    assert fit(a=values).categories == [["1", "2"]]


def test_few_names_are_categories_and_many_are_not():
    assert len(fit(a=[f"n{i}" for i in range(100)]).categories[0]) == 100
    names = [f"n{i}" for i in range(101)]
    message = complaint(fit, a=names)
    assert message == ("t.csv: a has 101 different values in 101 training rows: drop it, or name it among categorical")
    assert len(fit(categorical=["a"], a=names).categories[0]) == 101


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            ["2020-01-02", "2021-03-04 05:06"],
            "t.csv: a has dates such as '2020-01-02', '2021-03-04 05:06': make numbers of them, drop it, or name it "
            "among categorical",
        ),
        ([datetime.date(2020, 1, 1)], "a has dates or times"),
        (pa.array([1], pa.timestamp("s")), "a has dates or times"),
        (pa.array([[1, 2]]), "a has values of type list<item: int64>, neither numbers nor categories: drop it"),
        (pa.array([{"x": 1}]), "a has values of type struct<x: int64>"),
        (pa.array([b"x"]), "a has values of type binary"),
        (["1", None], "t.csv has missing values in a: set impute to true, or drop them"),
        ([1.0, float("nan")], "t.csv has missing values in a"),
        ([1.0, float("-inf")], "t.csv, row 2: a is -inf, infinite or too large"),
        (["1e400", "1"], "t.csv, row 1: a is 1e400, infinite or too large"),
        (["1e308", "-1e308"], "a has values up to 1e+308, too large to standardise"),
        (
            ["1"] * 19 + ["x"],
            "a has numbers, but also 'x': list what stands for no value in missing, mend it, drop it, or name it "
            "among categorical",
        ),
    ],
)
def test_what_is_no_feature(values, expected):
    assert expected in complaint(fit, a=values)


def test_columns_without_a_value():
    assert "a has no value in any training row: drop it" in complaint(fit, impute=True, a=pa.array([None, None]))
    assert "a has no value" in complaint(fit, impute=True, a=pa.array([None, None], pa.float64()))
    assert "a has no value" in complaint(fit, impute=True, train=[0, 2], a=[None, "1", None])


def test_categorical_columns_that_are_not_there():
    assert complaint(fit, categorical=["z"], a=["1"]) == "t.csv has no columns z, which are to be categorical"


def test_no_columns():
    assert complaint(fit_columns, {}, np.arange(2), (), False, "t.csv") == "t.csv has no columns for features"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"b": ["x"]}, "n.csv lacks columns that training had: a"),
        ({"a": ["1", None], "b": ["x", "x"]}, "n.csv, row 2: a is missing, as none was in training"),
        ({"a": ["1", "2"], "b": ["x", None]}, "n.csv, row 2: b is missing, as none was in training"),
        ({"a": ["q"], "b": ["x"]}, "n.csv, row 1: a is 'q', no number"),
        ({"a": ["1", "1e300"], "b": ["x", "x"]}, "n.csv, row 2: a is 1e+300, too far from training's 2"),
    ],
)
def test_other_files_that_do_not_fit(columns, expected):
    fitted = fit(a=["1", "2", "3"], b=["x", "y", "x"])
    assert complaint(fitted.encode, table_of(**columns), "n.csv") == expected
