"""Data modules and augmentations by the names that configurations have."""

from __future__ import annotations

import pytest
from jsonargparse import ArgumentParser
from lightning.pytorch import LightningDataModule

import datamodules
from datamodules import augmentations
from datamodules.augmentations import Augmentation, Compose


@pytest.mark.parametrize("home", ["", "datamodules.augmentations."])
def test_augmentations_by_bare_name_and_from_the_package_of_all(home):
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument("--view", type=Augmentation)
    abstract = {"Augmentation", "Compose", "RandomChoice"}
    for name in set(augmentations.__all__) - abstract:
        needed = {
            "CenterCrop": {"size": 8, "resize": 9},
            "RandomResizedCrop": {"size": 8},
            "GraphCL": {"choice": "dnodes"},
        }
        needed |= {"Normalize": {"mean": [0.5], "std": [0.5]}}
        needed["ColorJitter"] = dict.fromkeys(("brightness", "contrast", "saturation", "hue"), 0.1)
        part = {"class_path": home + name, "init_args": needed.get(name, {})}
        config = {"class_path": f"{home}Compose", "init_args": {"augmentations": [part]}}
        view = parser.instantiate(parser.parse_object({"view": config})).view
        assert type(view) is Compose
        assert type(view.augmentations[0]) is getattr(augmentations, name)


def test_data_modules_from_the_package():
    found = [getattr(datamodules, name) for name in datamodules.__all__]
    assert all(issubclass(data, LightningDataModule) for data in found if data is not datamodules.Samples)
    assert len({data.__name__ for data in found}) == len(found)
