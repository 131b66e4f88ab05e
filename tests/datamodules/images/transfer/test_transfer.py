"""Data sets of the transfer tasks in tiny folders and archives of the original layouts, without a network."""

from __future__ import annotations

import io
import re
import tarfile
import urllib.error
import urllib.request
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from torchvision import datasets

from datamodules import CIFAR10, Transfer
from datamodules.augmentations import CenterCrop, Compose, Identity, Normalize, RandomResizedCrop
from datamodules.images.transfer.facts import FACTS
from tests.datamodules.images.transfer import layouts

CONFIGS = Path(__file__).parents[4] / "configs"
FOLDERS = (
    "food101",
    "flowers102",
    "cars",
    "aircraft",
    "dtd",
    "sun397",
    "pets",
    "voc2007",
    "mit67",
    "cub200",
    "plant_disease",
)
OWN_VAL = ("flowers102", "aircraft", "dtd", "voc2007")
FEW_SHOT = ("fc100", "cub200", "plant_disease")


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """The counts of the tiny data sets, and no checksums of the true ones."""
    c = len(layouts.CLASSES)
    for name, facts in FACTS.items():
        own = {"test": c * layouts.TEST, "train": c * layouts.TRAIN, "val": c * layouts.VAL}
        if name in FEW_SHOT:
            own |= {"train": 0, "val": 0}
        elif name not in OWN_VAL:
            own |= {"train": c * (layouts.TRAIN - 1), "val": c}
        monkeypatch.setitem(FACTS, name, replace(facts, classes=20 if name == "voc2007" else c, **own))
    for part in ("2007", "2007-test"):
        monkeypatch.setitem(datasets.voc.DATASET_YEAR_DICT[part], "md5", None)
    unchecked = {key: (name, None) for key, (name, _) in datasets.Flowers102._file_dict.items()}
    monkeypatch.setattr(datasets.Flowers102, "_file_dict", unchecked)
    for kind, checksum in (("Food101", "_MD5"), ("DTD", "_MD5"), ("SUN397", "_DATASET_MD5")):
        monkeypatch.setattr(getattr(datasets, kind), checksum, None)
    pairs = tuple((url, None) for url, _ in datasets.OxfordIIITPet._RESOURCES)
    monkeypatch.setattr(datasets.OxfordIIITPet, "_RESOURCES", pairs)


def write(root, files):
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


def tar(files, folder="", mode="w:gz"):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name.removeprefix(folder))
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def build(root, name, **arguments):
    defaults = {"batch_size": 4, "num_workers": 0, "size": 8, "resize": 9}
    return Transfer([RandomResizedCrop(8)], Identity(), name, root=str(root), **(defaults | arguments))


def found(data):
    """``{split: {path: label}}``, paths relative to the root."""
    samples = data.samples
    names = [Path(item.name).relative_to(data.root).as_posix() for item in samples.inputs.items]
    return {
        split: {names[i]: samples.target[i].tolist() for i in index.tolist()} for split, index in samples.splits.items()
    }


@pytest.mark.parametrize("name", FOLDERS)
def test_reads_the_sites_folder_in_a_read_only_root(name, tmp_path):
    files, expected = getattr(layouts, name)()
    write(tmp_path, files)
    before = sorted(tmp_path.rglob("*"))
    for path in [*before, tmp_path]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    data = build(tmp_path, name)
    data.prepare_data()
    read = found(data)
    tmp_path.chmod(0o755)
    assert sorted(tmp_path.rglob("*")) == before
    assert data.files
    assert all(file.exists() for file in data.files)
    assert read["test"] == expected["test"]
    if name in FEW_SHOT:
        assert not read["train"]
        assert not read["val"]
    elif name in OWN_VAL:
        assert read == expected
    else:
        assert not set(read["train"]) & set(read["val"])
        assert {**read["train"], **read["val"]} == expected["train"]
        assert sorted(read["val"].values()) == [0, 1]  # the classes in proportion
        assert read == found(build(tmp_path, name))
    (x, target), *_ = (data.eval_batch(raw) for raw in data.test_dataloader())
    assert x.shape == (len(target), 3, 8, 8)


def test_caltech_trains_on_thirty_of_a_class_and_tests_on_the_others(tmp_path, monkeypatch):
    files, expected = layouts.caltech101()
    write(tmp_path, files)
    monkeypatch.setattr(type(FACTS["caltech101"].source), "TRAINING", layouts.TRAIN)
    read = found(build(tmp_path, "caltech101"))
    assert {path: label for part in read.values() for path, label in part.items()} == expected["all"]
    for split, each in (("train", layouts.TRAIN - 1), ("val", 1), ("test", layouts.TEST)):
        assert np.bincount(list(read[split].values())).tolist() == [each, each]
    assert read == found(build(tmp_path, "caltech101"))


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_cifar_is_split_as_it_is_for_training(name, tmp_path, monkeypatch):
    write(tmp_path, getattr(layouts, name)())
    extra = 8 if name == "cifar10" else 0  # the four other files
    total = 2 * layouts.TRAIN + extra
    facts = replace(FACTS[name], train=total - 4, val=4)
    monkeypatch.setitem(FACTS, name, facts)
    data = build(tmp_path, name)
    samples = data.samples
    assert {split: len(index) for split, index in samples.splits.items()} == facts.sizes
    assert samples.inputs.shape[1:] == (3, 32, 32)
    if name == "cifar10":
        whole = CIFAR10([Identity()], Identity(), root=str(tmp_path), val_fraction=4 / total).samples
        assert torch.equal(whole.target, samples.target)
        assert all(torch.equal(index, samples.splits[split]) for split, index in whole.splits.items())
    (x, target), *_ = (data.eval_batch(raw) for raw in data.test_dataloader())
    assert x.shape == (len(target), 3, 8, 8)
    assert torch.equal(target, samples.target[samples.splits["test"]][: len(target)])


def test_fc100_has_the_classes_of_four_superclasses_from_training_and_test_images(tmp_path, monkeypatch):
    """Mammals of the sea, insects, mammals of medium size and people; of people (14) here two, of fish (1) none."""
    write(tmp_path, layouts.cifar100(fine=(2, 32, 98, 4), coarse=(14, 1, 14, 0)))
    monkeypatch.setitem(FACTS, "fc100", replace(FACTS["fc100"], classes=3, test=3 * (layouts.TRAIN + layouts.TEST)))
    samples = build(tmp_path, "fc100").samples
    order = [0, 2, 1]  # baby, woman, beaver in the order of CIFAR-100's numbers
    assert samples.target.tolist() == order * (layouts.TRAIN + layouts.TEST)
    assert samples.inputs[:3, 0, 0, 0].tolist() == [0, 2, 3]
    assert {split: len(index) for split, index in samples.splits.items()} == {"train": 0, "val": 0, "test": 18}


PACKED = {
    "food101": {"food-101.tar.gz": ""},
    "flowers102": {"flowers-102/102flowers.tgz": "flowers-102/jpg"},
    "aircraft": {"fgvc-aircraft-2013b.tar.gz": ""},
    "dtd": {"dtd/dtd-r1.0.1.tar.gz": "dtd/dtd"},
    "pets": {
        "oxford-iiit-pet/images.tar.gz": "oxford-iiit-pet/images",
        "oxford-iiit-pet/annotations.tar.gz": "oxford-iiit-pet/annotations",
    },
    "sun397": {"SUN397.tar.gz": "SUN397/a/", "Partitions.zip": "SUN397/"},
    "voc2007": {"VOCtest_06-Nov-2007.tar": "test.txt", "VOCtrainval_06-Nov-2007.tar": ""},
    "mit67": {"mit67/indoorCVPR_09.tar": "mit67/Images"},
    "cub200": {"CUB_200_2011.tgz": ""},
}
"""Where archives are to be put, and how the unpacked files in them begin or end; others are put as they are."""


@pytest.mark.parametrize("name", PACKED)
def test_an_archive_in_the_root_is_unpacked_once(name, tmp_path):
    files, expected = getattr(layouts, name)()
    rest = dict(files)
    for archive, prefix in PACKED[name].items():
        inside = {path: rest.pop(path) for path in list(rest) if path.startswith(prefix) or path.endswith(prefix)}
        parent = {"flowers-102": "flowers-102/", "dtd": "dtd/", "mit67": "mit67/"}.get(archive.split("/")[0], "")
        parent = "oxford-iiit-pet/" if name == "pets" else parent
        if archive.endswith(".zip"):
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w") as packed:
                for path, content in inside.items():
                    packed.writestr(path.removeprefix(prefix), content)
            content = buffer.getvalue()
        else:
            if archive == "SUN397.tar.gz":
                inside["SUN397/ClassName.txt"] = files["SUN397/ClassName.txt"]
            content = tar(inside, parent, "w" if archive.endswith(".tar") else "w:gz")
        write(tmp_path, {archive: content})
    write(tmp_path, rest)
    read = found(build(tmp_path, name))
    assert read["test"] == expected["test"]
    for archive in PACKED[name]:
        (tmp_path / archive).unlink()
    assert found(build(tmp_path, name)) == read


@pytest.mark.parametrize("name", FACTS)
def test_without_data_a_line_says_what_to_put_where(name, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        build(tmp_path / "data", name).prepare_data()
    message = str(caught.value)
    assert "\n" not in message
    assert f"{tmp_path}/data" in message
    assert re.search(r"get \S+|put the folders", message)
    assert "{" not in message
    assert "cannot be downloaded" in message


class TestAddresses:
    """Messages name what torchvision would download."""

    @pytest.mark.parametrize(
        ("name", "address"),
        [
            ("food101", lambda: datasets.Food101._URL),
            ("aircraft", lambda: datasets.FGVCAircraft._URL),
            ("dtd", lambda: datasets.DTD._URL),
            ("sun397", lambda: datasets.SUN397._DATASET_URL),
        ],
    )
    def test_of_the_archive(self, name, address):
        assert address() in FACTS[name].source.remedy

    @pytest.mark.parametrize("name", ["flowers102", "pets"])
    def test_of_the_files(self, name):
        kind = datasets.Flowers102 if name == "flowers102" else datasets.OxfordIIITPet
        files = [f for f, _ in kind._file_dict.values()] if name == "flowers102" else [u for u, _ in kind._RESOURCES]
        assert all(file.rpartition("/")[2] in FACTS[name].source.remedy for file in files)


class TestCounts:
    """They are the table's, or one line says which aren't."""

    def refused(self, tmp_path, monkeypatch, name="food101", **facts):
        write(tmp_path, getattr(layouts, name)()[0])
        monkeypatch.setitem(FACTS, name, replace(FACTS[name], **facts))
        with pytest.raises(ValueError, match=f"{name} in {tmp_path} has ") as caught:
            build(tmp_path, name).setup()
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def test_of_training_images_that_validation_images_are_set_aside_from(self, tmp_path, monkeypatch):
        assert "8 training and validation images, and 9 are" in self.refused(tmp_path, monkeypatch, train=7)

    def test_of_test_images(self, tmp_path, monkeypatch):
        assert "4 images of the split test, and 1,000 are" in self.refused(tmp_path, monkeypatch, test=1000)

    def test_of_validation_images_that_the_data_set_has(self, tmp_path, monkeypatch):
        message = self.refused(tmp_path, monkeypatch, "flowers102", val=5)
        assert "4 images of the split val, and 5 are" in message

    def test_of_classes(self, tmp_path, monkeypatch):
        assert "2 classes, and of 101 are" in self.refused(tmp_path, monkeypatch, classes=101)


def test_an_image_that_is_missing_is_named(tmp_path):
    files, expected = layouts.mit67()
    (lost, *_) = expected["train"]
    del files[lost]
    write(tmp_path, files)
    with pytest.raises(
        ValueError, match=r"lacks 1 of 12 images, such as \S*ant_1.jpg: delete what is damaged, and get"
    ):
        build(tmp_path, "mit67").setup()


@pytest.mark.parametrize(("name", "gone"), [("aircraft", "variants.txt"), ("food101", "test.json")])
def test_a_list_that_is_missing_is_named(tmp_path, name, gone):
    files, _ = getattr(layouts, name)()
    write(tmp_path, {path: content for path, content in files.items() if not path.endswith(gone)})
    with pytest.raises(ValueError, match=rf"is not as its site has it .*{gone}.*: delete what is damaged, and get"):
        build(tmp_path, name).setup()


def test_an_archive_that_is_cut_short_is_named(tmp_path):
    files, _ = layouts.food101()
    write(tmp_path, {"food-101.tar.gz": tar(files)[:-500]})
    with pytest.raises(ValueError, match=r"archive of food-101 in .* is damaged or cut short .*: delete it, and get"):
        build(tmp_path, "food101").prepare_data()


class TestEvaluation:
    def crops(self, evaluation, **arguments):
        data = Transfer([RandomResizedCrop(8)], evaluation, "dtd", root="data", **arguments)
        return data.reader.eval_cut.crop, data.reader.eval_view

    def test_is_as_on_imagenet(self):
        crop, rest = self.crops(Compose([CenterCrop(32, 40), Normalize([0.5] * 3, [0.25] * 3)]))
        assert (crop.size, crop.resize) == (224, 256)
        image = torch.rand(1, 3, 5, 5)
        assert torch.allclose(rest(image, None), (image - 0.5) / 0.25)  # what the encoder was trained with stays

    def test_is_of_another_size_by_an_argument(self):
        assert self.crops(Identity(), size=32)[0].resize == 37
        assert self.crops(Identity(), size=32, resize=32)[0].resize == 32


def test_images_of_several_classes_are_of_none_alone(tmp_path):
    data = build(tmp_path, "voc2007")
    assert (data.num_classes, data.metric) == (0, "map11")  # protocols for one label say that they need two classes
    with pytest.raises(ValueError, match=r"voc2007 has several labels an image, and data\.labels draws"):
        build(tmp_path, "voc2007", labels=3)


def test_a_data_set_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match=r"name must be one of cifar10, .*, got mnist"):
        build("data", "mnist")


@pytest.mark.parametrize("name", FACTS)
def test_its_configuration_chooses_by_its_metric(name):
    config = yaml.safe_load((CONFIGS / f"transfer/{name}.yaml").read_text())
    assert config["data"]["init_args"]["name"] == name
    (callback,) = config["trainer"]["callbacks"]
    if name in FEW_SHOT:
        assert callback["class_path"] == "FewShot"
    else:
        assert build("data", name).metric == FACTS[name].metric
    if FACTS[name].metric == "map11":
        assert callback["class_path"] == "OneAgainstRest"
    elif name not in FEW_SHOT:
        (protocol,) = callback["init_args"]["protocols"]
        assert protocol["init_args"]["metric"] == FACTS[name].metric
