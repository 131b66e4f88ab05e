"""What is meant as numbers, amounts, dates or times is told from categories."""

from __future__ import annotations

import pyarrow as pa
import pytest

from datamodules.reading.dress import dress_of


def dress(values):
    return dress_of(pa.chunked_array([pa.array(values, pa.string())]))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1,163", "12"], "numbers with marks between thousands such as '1,163': set thousands to ','"),
        (["1'163"], """such as "1'163": set thousands to "'\""""),
        (["1.163,50"], "such as '1.163,50': set thousands to '.' and decimal to ','"),
        (["1,163", "2,5"], "numbers with a decimal comma such as '2,5': set decimal to ','"),
        (["45%", "3 %"], "amounts such as '45%', '3 %': leave out what stands beside the numbers"),
        (["$12.50", "€ 3", "7 EUR"], "amounts such as"),
        (["17.03.2016", "01/05/2020"], "dates such as '17.03.2016', '01/05/2020': make numbers of them"),
        (
            ["2020-01-02"] * 4000 + ["n.d."],
            "dates such as '2020-01-02', but also 'n.d.': list what stands for no value",
        ),
        (["3 Mar 2020", "Mar 3, 2020", "2020-01"], "dates such as"),
        (["14:05", "2:05 pm", "23:59:59.5"], "times such as"),
        ([*map(str, range(30)), *["-"] * 30], "numbers, but also '-': list what stands for no value in missing"),
        ([*map(str, range(30)), *["#N/A"] * 9, *["."] * 9, *["missing"] * 9], "'#N/A', '.', 'missing'"),
        ([*map(str, range(30)), *["absent"] * 30], "numbers, but also 'absent'"),
        (["1", "-"], "numbers, but also '-'"),
        (["\u221212", "3"], "negative numbers written otherwise such as '\u221212': write them with '-' in front"),
        (["(12)", "3.5", "(1.5)"], "negative numbers written otherwise such as '(12)', '(1.5)'"),
        (["2020-W07", "2021-W52"], "dates such as '2020-W07'"),
        ([f"{i} kg" for i in range(12)], "numbers with a unit such as '0 kg', '1 kg', '2 kg': leave out what stands"),
        ([f"{i}k" for i in range(12)], "numbers with a unit"),
        ([f"{i / 2}\u00b0" for i in range(12)], "numbers with a unit"),
        ([*(f"{i} m/s" for i in range(12)), *map(str, range(40))], "numbers with a unit such as '0 m/s'"),
        ([f"{i}/100" for i in range(12)], "ratios such as '0/100', '1/100', '2/100': make numbers of them"),
    ],
)
def test_what_is_refused(values, expected):
    assert expected in dress(values)


@pytest.mark.parametrize(
    "values",
    [
        ["red", "12"],
        ["1", "2", "3", "other"] * 5,
        ["4x4", "2WD"],
        [f"{i}wd" for i in range(9)],
        ["1st", "2nd", "3rd"],
        ["2/4", "3/4", "6/8"],
        [f"{i}th floor" for i in range(20)],
        [f"n{i}" for i in range(20)],
        ["25-34", "35-44"],
        ["<=50K", ">50K"],
        ["A1", "B2"],
        ["-", "n.d."],
        ["", "May be"],
    ],
)
def test_categories(values):
    assert dress(values) is None
