"""Tiny data sets in the layouts of their sites: files by path, and which image is of which split and class."""

from __future__ import annotations

import io
import json
import pickle

import numpy as np
from PIL import Image
from scipy.io import savemat

TRAIN, TEST, VAL = 4, 2, 2
"""Images of each class."""
CLASSES = ("ant", "bee_fly")


def jpeg(seed=0):
    buffer = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (9 + seed % 5, 12, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(buffer, "JPEG")
    return buffer.getvalue()


def mat(**content):
    buffer = io.BytesIO()
    savemat(buffer, content)
    return buffer.getvalue()


def numbered(*counts):
    """(split, class, number) of every image, numbers from 1 within each class."""
    found = []
    for label in range(len(CLASSES)):
        number = 0
        for split, count in zip(("train", "test", "val"), counts, strict=False):
            for _ in range(count):
                number += 1
                found.append((split, label, number))
    return found


def lines(found, of):
    return "".join(f"{of(*each)}\n" for each in found).encode()


def layout(images):
    """Files of images ``{path: (split, label)}``, and what is to be read: ``{split: {path: label}}``."""
    expected = {}
    for path, (split, label) in images.items():
        expected.setdefault(split, {})[path] = label
    return {path: jpeg(seed) for seed, path in enumerate(images)}, expected


def food101():
    found = numbered(TRAIN, TEST)
    files, expected = layout({f"food-101/images/{CLASSES[c]}/{n}.jpg": (s, c) for s, c, n in found})
    for split in ("train", "test"):
        listed = {name: [f"{name}/{n}" for s, k, n in found if (s, k) == (split, c)] for c, name in enumerate(CLASSES)}
        files[f"food-101/meta/{split}.json"] = json.dumps(listed).encode()
    return files, expected


def flowers102():
    found = numbered(TRAIN, TEST, VAL)
    files, expected = layout({f"flowers-102/jpg/image_{i + 1:05d}.jpg": found[i][:2] for i in range(len(found))})
    ids = {split: [i + 1 for i, each in enumerate(found) if each[0] == split] for split in ("train", "val", "test")}
    files["flowers-102/setid.mat"] = mat(trnid=ids["train"], valid=ids["val"], tstid=ids["test"])
    files["flowers-102/imagelabels.mat"] = mat(labels=[label + 1 for _, label, _ in found])
    return files, expected


def cars():
    found = [(s, c, 10 * c + n) for s, c, n in numbered(TRAIN, TEST)]
    files, expected = layout({f"stanford_cars/cars_{s}/{n:05d}.jpg": (s, c) for s, c, n in found})
    for split, place in (("train", "devkit/cars_train_annos.mat"), ("test", "cars_test_annos_withlabels.mat")):
        rows = [(f"{n:05d}.jpg", c + 1) for s, c, n in found if s == split]
        annotations = np.array(rows, dtype=[("fname", "O"), ("class", "O")])
        files[f"stanford_cars/{place}"] = mat(annotations=annotations)
    files["stanford_cars/devkit/cars_meta.mat"] = mat(class_names=np.array(CLASSES, dtype=object))
    return files, expected


def aircraft():
    found = [(s, c, 10 * c + n) for s, c, n in numbered(TRAIN, TEST, VAL)]
    place = "fgvc-aircraft-2013b/data"
    files, expected = layout({f"{place}/images/{n:07d}.jpg": (s, c) for s, c, n in found})
    names = [f"Airbus {name}" for name in CLASSES]  # variants have spaces
    files[f"{place}/variants.txt"] = "\n".join(names).encode()
    for split in ("train", "val", "test"):
        files[f"{place}/images_variant_{split}.txt"] = lines(
            [each for each in found if each[0] == split], lambda _, c, n: f"{n:07d} {names[c]}"
        )
    return files, expected


def dtd():
    found = numbered(TRAIN, TEST, VAL)
    files, expected = layout({f"dtd/dtd/images/{CLASSES[c]}/{CLASSES[c]}_{n:04d}.jpg": (s, c) for s, c, n in found})
    for split in ("train", "val", "test"):
        files[f"dtd/dtd/labels/{split}1.txt"] = lines(
            [each for each in found if each[0] == split], lambda _, c, n: f"{CLASSES[c]}/{CLASSES[c]}_{n:04d}.jpg"
        )
    return files, expected


def sun397():
    found = numbered(TRAIN, TEST)
    names = ["/a/abbey", "/a/apse/indoor"]  # some classes are two folders deep
    files, expected = layout({f"SUN397{names[c]}/sun_a{n}.jpg": (s, c) for s, c, n in found})
    files["SUN397/a/abbey/sun_unlisted.jpg"] = jpeg()
    files["SUN397/ClassName.txt"] = "\n".join(names).encode()
    for split, name in (("train", "Training_01.txt"), ("test", "Testing_01.txt")):
        files[f"SUN397/{name}"] = lines(
            [each for each in found if each[0] == split], lambda _, c, n: f"{names[c]}/sun_a{n}.jpg"
        )
    return files, expected


def pets():
    found = numbered(TRAIN, TEST)
    files, expected = layout({f"oxford-iiit-pet/images/{CLASSES[c]}_{n}.jpg": (s, c) for s, c, n in found})
    for split, name in (("train", "trainval"), ("test", "test")):
        files[f"oxford-iiit-pet/annotations/{name}.txt"] = lines(
            [each for each in found if each[0] == split], lambda _, c, n: f"{CLASSES[c]}_{n} {c + 1} 1 1"
        )
    return files, expected


def voc2007():
    """Every image is of its class and of the tenth; the dining table is always difficult, and people in the first."""
    names = [
        "aeroplane",
        "bicycle",
        "bird",
        "boat",
        "bottle",
        "bus",
        "car",
        "cat",
        "chair",
        "cow",
        "diningtable",
        "dog",
        "horse",
        "motorbike",
        "person",
        "pottedplant",
        "sheep",
        "sofa",
        "train",
        "tvmonitor",
    ]
    found = [(s, c, 10 * c + n) for s, c, n in numbered(TRAIN, TEST, VAL)]
    labels = {}
    for _, c, n in found:
        row = [0] * 20
        row[c] = row[9] = 1
        row[10], row[14] = -1, -1 if n == 1 else 0
        labels[n] = row
    place = "VOCdevkit/VOC2007"
    files, expected = layout({f"{place}/JPEGImages/{n:06d}.jpg": (s, labels[n]) for s, _, n in found})
    marks = {1: " 1", 0: "-1", -1: " 0"}  # -1 is no, and 0 difficult
    for split in ("train", "val", "test"):
        own = [each for each in found if each[0] == split]
        files[f"{place}/ImageSets/Main/{split}.txt"] = lines(own, lambda s, c, n: f"{n:06d}")
        for k, name in enumerate(names):
            listed = lines(own, lambda s, c, n, k=k: f"{n:06d} {marks[labels[n][k]]}")
            files[f"{place}/ImageSets/Main/{name}_{split}.txt"] = listed
    return files, expected


def caltech101():
    """Without a split: expected are the classes alone."""
    found = numbered(TRAIN + TEST)
    place = "caltech101/101_ObjectCategories"
    files, expected = layout({f"{place}/{CLASSES[c]}/image_{n:04d}.jpg": ("all", c) for _, c, n in found})
    files[f"{place}/BACKGROUND_Google/image_0001.jpg"] = jpeg()
    return files, expected


def mit67():
    found = numbered(TRAIN, TEST)
    files, expected = layout({f"mit67/Images/{CLASSES[c]}/{CLASSES[c]}_{n}.jpg": (s, c) for s, c, n in found})
    files[f"mit67/Images/{CLASSES[0]}/unlisted.jpg"] = jpeg()
    for split, name in (("train", "TrainImages.txt"), ("test", "TestImages.txt")):
        files[f"mit67/{name}"] = lines(
            [each for each in found if each[0] == split], lambda _, c, n: f"{CLASSES[c]}/{CLASSES[c]}_{n}.jpg"
        )
    return files, expected


def cub200():
    names = ("001.Albatross", "002.Auklet")
    files, expected = layout(
        {f"CUB_200_2011/images/{names[c]}/a_{n}.jpg": ("test", c) for _, c, n in numbered(0, TEST)}
    )
    files["CUB_200_2011/classes.txt"] = b"1 001.Albatross\n2 002.Auklet\n"
    return files, expected


def plant_disease():
    names = ("Apple___Apple_scab", "Tomato___healthy")
    return layout({f"plant_disease/{names[c]}/a {n}.JPG": ("test", c) for _, c, n in numbered(0, TEST)})


def pickled(name, labels, **more):
    """A file of CIFAR's with images of the colour of their number."""
    pixels = np.repeat(np.arange(len(labels), dtype=np.uint8)[:, None], 3072, 1)
    return pickle.dumps({"data": pixels, name: labels, **more}, protocol=2)


def cifar10():
    place, labels = "cifar-10-batches-py", [0, 1] * TRAIN
    files = {f"{place}/data_batch_{i}": pickled("labels", labels if i == 1 else [0, 1]) for i in range(1, 6)}
    return {**files, f"{place}/test_batch": pickled("labels", [0, 1] * TEST)}


def cifar100(fine=(0, 1), coarse=(0, 1)):
    parts = {"train": TRAIN, "test": TEST}
    return {
        f"cifar-100-python/{part}": pickled("fine_labels", [*fine] * each, coarse_labels=[*coarse] * each)
        for part, each in parts.items()
    }
