"""Facts of the transfer tasks' data sets against the paper's Table 11."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pandas as pd
import pytest

from datamodules.images.transfer.facts import FACTS, Name

ROWS = {
    "cifar10": "CIFAR10",
    "cifar100": "CIFAR100",
    "food101": "Food",
    "mit67": "MIT67",
    "pets": "Pets",
    "flowers102": "Flowers",
    "caltech101": "Caltech101",
    "cars": "Cars",
    "aircraft": "Aircraft",
    "dtd": "DTD (split 1)",
    "sun397": "SUN397 (split 1)",
    "voc2007": "VOC2007",
    "fc100": "FC100",
    "cub200": "CUB200",
    "plant_disease": "Plant Disease",
}
CLASS_MEANS = {"pets", "flowers102", "caltech101", "aircraft"}


def test_all_are_there():
    assert set(FACTS) == set(get_args(Name)) == set(ROWS)


@pytest.mark.parametrize("name", FACTS)
def test_numbers_and_metric_are_the_papers(name):
    table = pd.read_csv(Path(__file__).parents[4] / "configs/tables/paper.csv", dtype={"table": str})
    paper = table[(table["table"] == "11") & (table["row"] == ROWS[name])].set_index("column")["value"].to_dict()
    facts = FACTS[name]
    own = {"# of classes": facts.classes, "Training": facts.train, "Validation": facts.val, "Test": facts.test}
    if name == "voc2007":  # the paper's row is rotated
        rotated = paper["Training"], paper["Validation"], paper["Test"]
        paper["Test"], paper["Training"], paper["Validation"] = rotated
    if name == "cub200":
        assert (paper.pop("Test"), own.pop("Test")) == (11780, 11788)  # the data set's own number
    assert {column: number for column, number in own.items() if number} == paper
    assert facts.metric == ("macro_top1" if name in CLASS_MEANS else "map11" if name == "voc2007" else "top1")


def test_caltech_has_thirty_training_and_validation_images_of_a_class():
    facts = FACTS["caltech101"]
    assert facts.train + facts.val == facts.source.TRAINING * facts.classes
