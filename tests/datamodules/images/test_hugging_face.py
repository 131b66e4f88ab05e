"""Parquet files in the hub's layout."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import ExifTags, Image

from datamodules import HuggingFaceImages
from datamodules.augmentations import Identity, RandomResizedCrop
from datamodules.images.decoding import decode


@pytest.fixture(autouse=True)
def caches(tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "hf"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    datasets.disable_progress_bars()


def stored(seed, size=(8, 8)):
    buffer = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(buffer, "PNG")
    return {"bytes": buffer.getvalue(), "path": f"{seed}.png"}


def write(folder, split, count, image="img", label="label", start=0, labels=(3, 7)):
    folder.mkdir(exist_ok=True)
    columns = {image: [stored(start + i) for i in range(count)]}
    if label:
        columns[label] = [labels[i % len(labels)] for i in range(count)]
    pd.DataFrame(columns).to_parquet(folder / f"{split}-00000-of-00001.parquet")
    return folder


def build(folder, **arguments):
    crop = RandomResizedCrop(8)
    data = HuggingFaceImages([crop, crop], Identity(), str(folder), **({"batch_size": 8, "num_workers": 0} | arguments))
    data.setup()
    return data


def everything(data, split):
    parts = [data.eval_batch(raw) for raw in data.feature_dataloader(split)]
    return torch.cat([x for x, _ in parts]), torch.cat([target for _, target in parts])


@pytest.mark.parametrize("in_memory", [False, True])
def test_images_and_labels(tmp_path, in_memory):
    folder = write(tmp_path / "own", "train", 20)
    write(folder, "test", 6, start=100)
    data = build(folder, in_memory=in_memory)
    assert data.classes == ["3", "7"]
    assert data.describe() == {"name": "own, PNG", "samples": {"train": 18, "val": 2, "test": 6}}
    images, target = everything(data, "test")
    assert target.tolist() == [0, 1] * 3
    for i, image in enumerate(images):
        expected = Image.open(io.BytesIO(stored(100 + i)["bytes"]))
        assert torch.equal(image, torch.from_numpy(np.array(expected)).permute(2, 0, 1) / 255)
    views, _ = data.train_batch(next(iter(data.train_dataloader())))
    assert [view.shape for view in views] == [(8, 3, 8, 8)] * 2


def test_a_validation_split_and_names_of_columns(tmp_path):
    folder = write(tmp_path / "own", "train", 12, image="photo", label="kind", labels=("b", "a", "c"))
    write(folder, "validation", 3, image="photo", label="kind", labels=("b", "a", "c"))
    with pytest.raises(ValueError, match=r"no column of images among photo, kind: say which, data\.image"):
        build(folder)
    data = build(folder, image="photo", label="kind", held_out=0.25)
    assert data.classes == ["a", "b", "c"]
    assert {split: len(rows) for split, rows in data.samples.splits.items()} == {"train": 9, "val": 3, "test": 3}
    assert everything(data, "val")[1].tolist() == [1, 0, 2]


@pytest.mark.parametrize("in_memory", [False, True])
def test_fewer_training_images(tmp_path, in_memory):
    folder = write(tmp_path / "own", "train", 60)
    data, all_of_them = build(folder, train_size=10, in_memory=in_memory), build(folder)
    assert {split: len(rows) for split, rows in data.samples.splits.items()} == {"train": 10, "val": 6, "test": 6}
    assert data.samples.target[data.samples.splits["train"]].sort().values.tolist() == [0] * 5 + [1] * 5
    for split in ("val", "test"):
        assert torch.equal(everything(data, split)[0], everything(all_of_them, split)[0])


def test_no_labels(tmp_path):
    data = build(write(tmp_path / "own", "train", 20, label=None))
    assert data.num_classes == 0
    assert set(data.samples.target.tolist()) == {-1}


def test_a_row_without_an_image(tmp_path):
    folder = write(tmp_path / "own", "train", 20)
    frame = pd.read_parquet(folder / "train-00000-of-00001.parquet")
    frame.at[7, "img"] = {"bytes": None, "path": None}
    frame.at[9, "img"] = {"bytes": b"text", "path": "9.png"}
    frame.to_parquet(folder / "train-00000-of-00001.parquet")
    data = build(folder)
    with pytest.raises(ValueError, match=r"own, row (7: there is no image|9 is not an image)"):
        [list(data.feature_dataloader(split)) for split in ("train", "val", "test")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": "kind"}, r"own has no column kind, which data\.label names; it has img, label"),
        ({"train_size": 100}, "train_size 100 is more than the 16 training images"),
        ({"train_size": 1}, "train_size must be at least 2"),
        ({"held_out": 0.5}, "held_out"),
    ],
)
def test_errors(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        build(write(tmp_path / "own", "train", 20), **arguments)


def test_no_training_split(tmp_path):
    with pytest.raises(ValueError, match="own has no split train; it has test"):
        build(write(tmp_path / "own", "test", 20))


def test_a_file_cut_short(tmp_path):
    folder = write(tmp_path / "own", "train", 20)
    file = folder / "train-00000-of-00001.parquet"
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(FileNotFoundError, match=r"own cannot be read: .*[Pp]arquet"):
        build(folder)


def test_an_empty_folder(tmp_path):
    (tmp_path / "own").mkdir()
    with pytest.raises(FileNotFoundError, match="own cannot be read"):
        build(tmp_path / "own")


def test_no_library(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ModuleNotFoundError, match="needs the library datasets: pip install datasets"):
        HuggingFaceImages([Identity(), Identity()], Identity(), str(tmp_path))


def test_classes_are_the_checkpoints(tmp_path):
    first = build(write(tmp_path / "all", "train", 30, labels=("blue", "green", "red")))
    other = build(write(tmp_path / "some", "train", 30, labels=("red", "green")))
    other.load_state_dict(first.state_dict())
    assert other.classes == ["blue", "green", "red"]
    assert other.num_classes == 3
    rows = torch.cat(list(other.samples.splits.values())).sort().values
    assert other.samples.target[rows].tolist() == [2, 1] * 15
    third = build(
        write(tmp_path / "more", "train", 30, labels=("red", "yellow", "green")), in_memory=True, train_size=6
    )
    fourth = build(write(tmp_path / "else", "train", 30, labels=("cyan", "lime")))
    fourth.load_state_dict(first.state_dict())
    assert fourth.classes == ["cyan", "lime"]
    third.load_state_dict(first.state_dict())
    assert set(third.samples.target.tolist()) == {-1, 1, 2}
    assert len(third.samples.target) == len(third.samples.inputs)


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("in_memory", [False, True])
def test_predict_sees_every_image(tmp_path, split, in_memory):
    folder = write(tmp_path / "own", split, 5)
    data = HuggingFaceImages([Identity(), Identity()], Identity(), str(folder), num_workers=0, in_memory=in_memory)
    data.setup("predict")
    assert sum(len(target) for _, target in map(data.eval_batch, data.predict_dataloader())) == 5


def test_unknown_labels(tmp_path):
    folder = write(tmp_path / "own", "train", 20, labels=(0.0, 1.0))
    frame = pd.read_parquet(folder / "train-00000-of-00001.parquet")
    frame.loc[3, "label"] = float("nan")
    frame.loc[4, "label"] = None
    frame.to_parquet(folder / "train-00000-of-00001.parquet")
    data = build(folder)
    assert data.classes == ["0.0", "1.0"]
    assert (data.samples.target < 0).nonzero().flatten().tolist() == [3, 4]


def test_a_column_of_no_images(tmp_path):
    with pytest.raises(ValueError, match=r"own: column label has int64 and no images: say which has, data\.image"):
        build(write(tmp_path / "own", "train", 20), image="label")


def test_a_file_that_a_row_names(tmp_path):
    folder = write(tmp_path / "own", "train", 20)
    frame = pd.read_parquet(folder / "train-00000-of-00001.parquet")
    frame.at[0, "img"] = {"bytes": None, "path": "some/x.jpg"}
    frame.to_parquet(folder / "train-00000-of-00001.parquet")
    with pytest.raises(ValueError, match=r"own, row 0: there is no file some/x\.jpg"):
        build(folder).samples.inputs.items[0]


def test_one_image_of_a_class(tmp_path):
    folder = write(tmp_path / "own", "train", 21, labels=["a", "b"] * 10 + ["c"])
    with pytest.raises(ValueError, match=r"own: 0.1 of 21 images cannot be set aside.*there is one image of c"):
        build(folder)


def test_photographs_are_upright(tmp_path):
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    folder = write(tmp_path / "own", "train", 20)
    frame = pd.read_parquet(folder / "train-00000-of-00001.parquet")
    buffer = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    Image.fromarray(pixels).transpose(Image.Transpose.ROTATE_90).save(buffer, "PNG", exif=exif)
    frame.at[0, "img"] = {"bytes": buffer.getvalue(), "path": "0.png"}
    frame.to_parquet(folder / "train-00000-of-00001.parquet")
    data = HuggingFaceImages([Identity(), Identity()], Identity(), str(folder), num_workers=0)
    data.setup("predict")
    assert np.array_equal(decode(data.samples.inputs.items[0]), pixels)


@pytest.mark.parametrize("name", ["../../elsewhere", "/no/such/folder", "a/b/c", "-x", "x--y", "a\0b"])
def test_a_name_that_is_none_of_the_hub(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.load_dataset", lambda *_: pytest.fail("asked for it"))
    message = "is no folder here, and no data set of the hub that can be read: its names are NAME or OWNER/NAME"
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        HuggingFaceImages([Identity(), Identity()], Identity(), name)


def test_a_folder_of_save_to_disk(tmp_path):
    import datasets

    table = datasets.load_dataset(str(write(tmp_path / "own", "train", 20)))
    table["train"].save_to_disk(tmp_path / "one")
    table.save_to_disk(tmp_path / "all")
    expected = everything(build(tmp_path / "own"), "train")
    for place in ("one", "all"):
        found = everything(build(tmp_path / place), "train")
        assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_several_subsets(tmp_path):
    for name in ("first", "second"):
        write(tmp_path / "own", f"{name}", 20)
    files = [{"config_name": one, "data_files": f"{one}-*.parquet"} for one in ("first", "second")]
    (tmp_path / "own" / "README.md").write_text(f"---\nconfigs: {json.dumps(files)}\n---\n")
    with pytest.raises(ValueError, match=r"own has several subsets, say which, data\.subset: \['first', 'second'\]$"):
        build(tmp_path / "own")
    assert len(build(tmp_path / "own", subset="second").samples.target) == 20


@pytest.mark.parametrize("in_memory", [False, True])
def test_few_labels(tmp_path, in_memory):
    data = build(write(tmp_path / "own", "train", 30), in_memory=in_memory, train_size=20, labels=0.2)
    assert data.describe()["samples"]["train"] == 4
    assert data.samples.target[data.samples.splits["train"]].bincount().tolist() == [2, 2]
    assert len(everything(data, "train")[0]) == 4
