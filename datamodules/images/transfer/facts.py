"""Classes, sizes, metrics and places of the data sets of the paper's transfer tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from datamodules.base import Split
from datamodules.images.cifar import CIFAR10, CIFAR100
from datamodules.images.transfer.cifar_sources import FC100, FromCIFAR
from datamodules.images.transfer.folder_sources import CUB200, MIT67, Classes
from datamodules.images.transfer.source import Source
from datamodules.images.transfer.torchvision_sources import SUN397, VOC2007, Caltech101, Pets, Torchvision

Metric = Literal["top1", "macro_top1", "map11"]
Name = Literal[
    "cifar10",
    "cifar100",
    "food101",
    "mit67",
    "pets",
    "flowers102",
    "caltech101",
    "cars",
    "aircraft",
    "dtd",
    "sun397",
    "voc2007",
    "fc100",
    "cub200",
    "plant_disease",
]


@dataclass(frozen=True)
class Facts:
    """A data set as the paper's Table 11 has it.

    Attributes:
        source: where its images come from.
        classes: number of classes.
        train: training images.
        val: validation images, which are set aside from the training images where the data set has none.
        test: test images.
        metric: what it is reported by: accuracy over all images or the mean over the classes, or where images are of
            several classes the mean of their 11-point average precision.
    """

    source: Source | FromCIFAR
    classes: int
    train: int
    val: int
    test: int
    metric: Metric = "top1"

    @property
    def sizes(self) -> dict[Split, int]:
        """Numbers of images in each split."""
        return {"train": self.train, "val": self.val, "test": self.test}


THREE: dict[Split, dict[str, str]] = {split: {"split": split} for split in ("train", "val", "test")}
TWO: dict[Split, dict[str, str]] = {split: {"split": split} for split in ("train", "test")}
PACKED = "packed as it is, into"
VGG = "https://www.robots.ox.ac.uk/~vgg/data"

FACTS: dict[Name, Facts] = {
    "cifar10": Facts(FromCIFAR(CIFAR10), 10, 45000, 5000, 10000),
    "cifar100": Facts(FromCIFAR(CIFAR100), 100, 45000, 5000, 10000),
    "food101": Facts(
        Torchvision(
            "Food101",
            "food-101",
            ["meta", "images"],
            f"get http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz and put it, {PACKED} {{root}}",
            TWO,
        ),
        *(101, 68175, 7575, 25250),
    ),
    "mit67": Facts(
        MIT67(
            "mit67",
            ["Images", "TrainImages.txt", "TestImages.txt"],
            "get indoorCVPR_09.tar, TrainImages.txt and TestImages.txt of "
            f"https://web.mit.edu/torralba/www/indoor.html and put them, {PACKED} {{root}}/mit67",
            archive="http://groups.csail.mit.edu/vision/LabelMe/NewImages/indoorCVPR_09.tar",
            place="mit67",
            lists=[f"https://web.mit.edu/torralba/www/{part}Images.txt" for part in ("Train", "Test")],
        ),
        *(67, 4690, 670, 1340),
    ),
    "pets": Facts(
        Pets(
            "OxfordIIITPet",
            "oxford-iiit-pet",
            ["images", "annotations"],
            f"get images.tar.gz and annotations.tar.gz of {VGG}/pets and put them, {PACKED} {{root}}/oxford-iiit-pet",
            {"train": {"split": "trainval"}, "test": {"split": "test"}},
        ),
        *(37, 2940, 740, 3669),
        metric="macro_top1",  # as in the table's Metric; the caption of the paper's Table 4 has it among top-1
    ),
    "flowers102": Facts(
        Torchvision(
            "Flowers102",
            "flowers-102",
            ["jpg", "imagelabels.mat", "setid.mat"],
            f"get 102flowers.tgz, imagelabels.mat and setid.mat of {VGG}/flowers/102 and put them, {PACKED} "
            "{root}/flowers-102",
            THREE,
        ),
        *(102, 1020, 1020, 6149),
        metric="macro_top1",
    ),
    "caltech101": Facts(
        Caltech101(
            "Caltech101",
            "caltech101",
            ["101_ObjectCategories"],
            f"get caltech-101.zip of https://data.caltech.edu/records/mzrjq-6wc02 and put it, {PACKED} "
            "{root}/caltech101",
            {"train": {}},
        ),
        *(101, 2525, 505, 5647),
        metric="macro_top1",
    ),
    "cars": Facts(
        Torchvision(
            "StanfordCars",
            "stanford_cars",
            ["devkit/cars_train_annos.mat", "cars_train", "cars_test", "cars_test_annos_withlabels.mat"],
            "get cars_train.tgz, cars_test.tgz, car_devkit.tgz and cars_test_annos_withlabels.mat from a copy and "
            "unpack them into {root}/stanford_cars",
            TWO,
        ),
        *(196, 6494, 1650, 8041),
    ),
    "aircraft": Facts(
        Torchvision(
            "FGVCAircraft",
            "fgvc-aircraft-2013b",
            ["data"],
            f"get {VGG}/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz and put it, {PACKED} {{root}}",
            THREE,
        ),
        *(100, 3334, 3333, 3333),
        metric="macro_top1",
    ),
    "dtd": Facts(  # its first partition
        Torchvision(
            "DTD",
            "dtd",
            ["dtd/labels", "dtd/images"],
            f"get {VGG}/dtd/download/dtd-r1.0.1.tar.gz and put it, {PACKED} {{root}}/dtd",
            THREE,
        ),
        *(47, 1880, 1880, 1880),
    ),
    "sun397": Facts(
        SUN397(
            "SUN397",
            "SUN397",
            ["ClassName.txt", "Training_01.txt", "Testing_01.txt"],
            "get http://vision.princeton.edu/projects/2010/SUN/SUN397.tar.gz and "
            f"https://vision.princeton.edu/projects/2010/SUN/download/Partitions.zip and put them, {PACKED} {{root}}",
            {},
        ),
        *(397, 15880, 3970, 19850),
    ),
    "voc2007": Facts(
        VOC2007(
            "VOCDetection",
            "VOCdevkit/VOC2007",
            ["ImageSets/Main/train.txt", "ImageSets/Main/test.txt"],
            "get VOCtrainval_06-Nov-2007.tar and VOCtest_06-Nov-2007.tar of "
            f"http://host.robots.ox.ac.uk/pascal/VOC/voc2007 and put them, {PACKED} {{root}}",
            {split: {"year": "2007", "image_set": split} for split in ("train", "val", "test")},
        ),
        *(20, 2501, 2510, 4952),  # the table's row is rotated: 4952, 2501, 2510
        metric="map11",
    ),
    "fc100": Facts(FC100(), 20, 0, 0, 12000),
    "cub200": Facts(
        CUB200(
            "CUB_200_2011",
            ["images"],
            f"get https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz and put it, {PACKED} {{root}}",
            archive="https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",
        ),
        *(200, 0, 0, 11788),  # as its site says; the paper has 11780
    ),
    "plant_disease": Facts(
        Classes(
            "plant_disease",
            ["Apple___Apple_scab"],
            "put the folders of PlantVillage's 38 classes, raw/color of "
            "https://github.com/spMohanty/PlantVillage-Dataset, into {root}/plant_disease",
        ),
        *(38, 0, 0, 54305),
    ),
}
"""Sizes are those of Table 11 but where a line says otherwise."""
