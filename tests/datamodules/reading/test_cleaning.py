"""Text columns in one form: numbers with other marks, and values that are missing."""

from __future__ import annotations

import pyarrow as pa
import pytest

from datamodules.reading.cleaning import cleaned
from datamodules.reading.layout import Layout


def clean(values, **arguments):
    return cleaned(pa.chunked_array([values]), Layout(**arguments), "a", "t.csv")


@pytest.mark.parametrize(
    ("arguments", "values", "expected"),
    [
        ({"thousands": ","}, ["1,163", "1,163,000.5", "-12", "1,2", "x,y"], ["1163", "1163000.5", "-12", "1,2", "x,y"]),
        ({"thousands": ","}, ["1,23,456", "1,1634"], ["123456", "1,1634"]),
        ({"decimal": ","}, ["1,5", "-,5", "2", "a,b", "1,5,2"], ["1.5", "-.5", "2", "a,b", "1,5,2"]),
        ({"decimal": ",", "thousands": "."}, ["1.163", "1.163,25"], ["1163", "1163.25"]),
        ({"thousands": " "}, ["1 163"], ["1163"]),
        ({"thousands": "."} | {"decimal": ","}, ["v1.5", "17.03.2016"], ["v1.5", "17.03.2016"]),
        ({}, ["1,5", "1.5"], ["1,5", "1.5"]),
    ],
)
def test_numbers_with_other_marks(arguments, values, expected):
    assert clean(values, **arguments)[0].to_pylist() == expected


def test_points_and_commas_in_one_column():
    with pytest.raises(ValueError, match=r"t\.csv, row 2: a is '1\.5', which has a point where decimal is ','"):
        clean(["1,5", "1.5"], decimal=",")


@pytest.mark.parametrize("values", [["NA", " x ", ""], pa.array(["NA", "x", ""]).dictionary_encode()])
@pytest.mark.parametrize(
    ("missing", "expected", "marks"),
    [(None, [None, "x", None], ["NA"]), ([], ["NA", "x", None], []), (["x"], ["NA", None, None], ["x"])],
)
def test_texts_that_stand_for_missing_values(values, missing, expected, marks):
    column, found = clean(values, missing=missing)
    assert column.to_pylist() == expected
    assert found == marks


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"decimal": ",", "thousands": ","}, "decimal and thousands must be different"),
        ({"delimiter": ";;"}, "delimiter must be one character, got ';;'"),
        ({"thousands": ""}, "thousands must be one character"),
        ({"max_gib": 0}, "max_gib must be above 0"),
    ],
)
def test_arguments(arguments, expected):
    with pytest.raises(ValueError, match=expected):
        Layout(**arguments)
