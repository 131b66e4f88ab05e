"""Images in folders: layouts, splits, both engines, and what is wrong with a folder."""

from __future__ import annotations

import logging
import os

import numpy as np
import pytest
import torch
from PIL import ExifTags, Image

from datamodules import ImageFolder
from datamodules.augmentations import (
    CenterCrop,
    ColorJitter,
    Compose,
    HorizontalFlip,
    Identity,
    Normalize,
    RandomResizedCrop,
)
from datamodules.seeding import generator_at

VIEW = Compose([RandomResizedCrop(8), HorizontalFlip(), ColorJitter(0.4, 0.4, 0.4, 0.1)])
MIDDLE = CenterCrop(8, 10)


def paint(path, seed, size=(13, 11), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).convert(mode).save(path)


def folder(root, classes=("cat", "dog", "emu"), each=10, part="", size=None, start=0):
    for number, name in enumerate(classes):
        for i in range(each):
            path = root / part / name / f"{i:02}.{'png' if i % 2 else 'jpg'}"
            paint(path, start + 100 * number + i, size or (13 + i, 11), "L" if i == 3 else "RGB")
    return root


def build(root, view=VIEW, evaluation=MIDDLE, **arguments):
    defaults = {"batch_size": 8, "num_workers": 0}
    data = ImageFolder([view, view], evaluation, str(root), **(defaults | arguments))
    data.setup()
    return data


def batches(loader, data, train):
    return [(data.train_batch if train else data.eval_batch)(raw) for raw in loader]


def test_a_folder_a_class(tmp_path):
    data = build(folder(tmp_path))
    assert data.classes == ["cat", "dog", "emu"]
    assert data.describe() == {"name": tmp_path.name, "samples": {"train": 24, "val": 3, "test": 3}}
    for rows in data.samples.splits.values():
        assert len(data.samples.target[rows].unique()) == 3
    assert torch.cat(list(data.samples.splits.values())).sort().values.tolist() == list(range(30))
    assert data.names[:2] == ["cat/00.jpg", "cat/01.png"]
    views, target = batches(data.train_dataloader(), data, train=True)[0]
    assert [view.shape for view in views] == [(8, 3, 8, 8)] * 2
    assert 0 <= min(view.min() for view in views) <= max(view.max() for view in views) <= 1
    assert not torch.equal(*views)
    assert target.shape == (8,)


def test_folders_of_splits(tmp_path):
    folder(tmp_path, part="train")
    folder(tmp_path, part="test", each=4, start=50, classes=("cat", "emu", "yak"))
    data = build(tmp_path)
    assert {split: len(rows) for split, rows in data.samples.splits.items()} == {"train": 27, "test": 12, "val": 3}
    assert data.samples.target[data.samples.splits["test"]].tolist() == [0] * 4 + [2] * 4 + [-1] * 4


def test_images_without_labels(tmp_path):
    for i in range(20):
        paint(tmp_path / f"{i}.png", i)
    (tmp_path / "notes.txt").write_text("not an image")
    (tmp_path / ".hidden.png").write_text("nor this")
    data = build(tmp_path)
    assert data.num_classes == 0
    assert set(data.samples.target.tolist()) == {-1}
    assert {split: len(rows) for split, rows in data.samples.splits.items()} == {"train": 16, "test": 2, "val": 2}


def test_evaluation_is_torchvisions(tmp_path):
    from torchvision.transforms.v2 import functional as F

    data = build(folder(tmp_path))
    images = torch.cat([x for x, _ in batches(data.val_dataloader(), data, train=False)])
    for row, image in zip(data.samples.splits["val"].tolist(), images, strict=True):
        with Image.open(data.samples.inputs.items[row].name) as stored:
            expected = F.center_crop(F.resize(stored.convert("RGB"), [10], antialias=True), [8, 8])
        assert torch.equal(image, F.pil_to_tensor(expected) / 255)


def test_crops_are_torchvisions(tmp_path):
    from torchvision.transforms.v2 import functional as F

    from datamodules.images.cuts import RandomCrop

    crop = RandomResizedCrop(8)
    paint(tmp_path / "a.png", 0, (50, 40))
    with Image.open(tmp_path / "a.png") as image:
        for seed in range(20):
            top, left, height, width = (int(side) for side in crop.boxes(1, 40, 50, generator_at(seed)))
            expected = F.pil_to_tensor(F.resized_crop(image, top, left, height, width, [8, 8]))
            assert torch.equal(RandomCrop(crop)(image, generator_at(seed)), expected)


@pytest.mark.parametrize("engine", ["device", "worker"])
def test_workers_change_nothing(tmp_path, engine):
    folder(tmp_path)
    view = Compose([VIEW, Normalize([0.5] * 3, [0.5] * 3)])
    runs = []
    for workers in (0, 2):
        data = build(tmp_path, view, engine=engine, num_workers=workers)
        state = torch.get_rng_state(), np.random.get_state()[1].copy()
        loader = data.train_dataloader()
        epochs = []
        for epoch in (0, 1):
            loader.sampler.set_epoch(epoch)
            epochs.append(batches(loader, data, train=True))
        assert torch.equal(torch.get_rng_state(), state[0])
        assert np.array_equal(np.random.get_state()[1], state[1])
        runs.append(epochs)
    for first, second in zip(*runs, strict=True):
        for (views, target), (others, other_target) in zip(first, second, strict=True):
            assert torch.equal(target, other_target)
            assert all(torch.equal(view, other) for view, other in zip(views, others, strict=True))
    assert not torch.equal(runs[0][0][0][0][0], runs[0][1][0][0][0])  # epochs differ


def test_crops_and_what_follows_draw_from_different_streams(tmp_path, monkeypatch):
    seen = {"crop": [], "batch": []}

    def record(name):
        return lambda *position, **device: (seen[name].append(position), generator_at(*position, **device))[1]

    data = build(folder(tmp_path))
    loader = data.train_dataloader()
    monkeypatch.setattr("datamodules.images.stream.generator_at", record("crop"))
    monkeypatch.setattr("datamodules.base.generator_at", record("batch"))
    batches(loader, data, train=True)
    assert len(set(seen["crop"])) == 48  # 24 images of two views
    assert {len(position) for position in seen["crop"]}.isdisjoint(len(position) for position in seen["batch"])


def test_a_resumed_epoch_goes_on(tmp_path):
    folder(tmp_path)
    data = build(tmp_path)
    whole = [target for _, target in data.train_dataloader()]
    data.load_state_dict({**data.state_dict(), "position": 2})
    loader = data.train_dataloader()
    rest = [target for _, target in loader]
    assert [t.tolist() for t in rest] == [t.tolist() for t in whole[2:]]
    assert len([None for _ in loader]) == len(whole)  # the epoch after it is whole


def test_in_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder(tmp_path / "images", size=(8, 8))
    streamed = build(tmp_path / "images", evaluation=Identity())
    for _ in range(2):  # decoded, and from the cache
        held = build(tmp_path / "images", evaluation=Identity(), in_memory=True)
        for split in ("train", "val", "test"):
            ours = torch.cat([x for x, _ in batches(held.feature_dataloader(split), held, train=False)])
            theirs = torch.cat([x for x, _ in batches(streamed.feature_dataloader(split), streamed, train=False)])
            assert torch.equal(ours, theirs)
    (cached,) = (tmp_path / "cache").rglob("*.npy")
    before = cached.read_bytes()
    paint(tmp_path / "images" / "cat" / "00.jpg", 999, (8, 8))
    build(tmp_path / "images", evaluation=Identity(), in_memory=True)
    assert len(list((tmp_path / "cache").rglob("*.npy"))) == 2  # made anew from what it is made of
    assert cached.read_bytes() == before


def test_a_cache_of_other_files_of_the_same_size_and_time(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for i in range(10):
        Image.new("RGB", (8, 8), (i, 0, 0)).save(tmp_path / f"{i}.bmp")
    assert build(tmp_path, evaluation=Identity(), in_memory=True).samples.inputs[3].amax() == 3
    path = tmp_path / "3.bmp"
    before = path.stat()
    Image.new("RGB", (8, 8), (200, 0, 0)).save(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as a program that copies files keeps it
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert build(tmp_path, evaluation=Identity(), in_memory=True).samples.inputs[3].amax() == 200


@pytest.mark.parametrize("in_memory", [False, True])
def test_equal_photographs_of_which_some_lie_on_their_side(tmp_path, monkeypatch, in_memory):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    upright = Image.fromarray(np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8))
    for i in range(10):
        lies = {"exif": exif} if i % 2 else {}
        (upright.transpose(Image.Transpose.ROTATE_90) if lies else upright).save(tmp_path / f"{i}.png", **lies)
    data = build(tmp_path, evaluation=Identity(), in_memory=in_memory)
    images = torch.cat([x for x, _ in batches(data.predict_dataloader(), data, train=False)])
    assert images.shape == (10, 3, 30, 40)
    assert (images == images[:1]).all()


@pytest.mark.parametrize("stage", ["fit", "predict"])
def test_formats_that_are_read_and_files_that_are_left_out(tmp_path, caplog, stage):
    for i in range(12):
        for ending in ("jpg", "gif", "avif"):
            paint(tmp_path / "ab"[i % 2] / f"{i}.{ending}", i)
        (tmp_path / "ab"[i % 2] / f"{i}.heic").write_bytes(b"heic")
    (tmp_path / "a" / "list.txt").write_text("12")
    (tmp_path / "b" / ".DS_Store").write_text("hidden")
    data = ImageFolder([VIEW, VIEW], MIDDLE, str(tmp_path), num_workers=0)
    data.setup(stage)
    assert sum(len(target) for _, target in data.predict_dataloader()) == 36
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == f"{tmp_path}: 13 files are no images and are left out: 12 .heic, 1 .txt"


def test_more_images_than_memory_has_room_for(tmp_path, monkeypatch):
    folder(tmp_path, size=(8, 8))

    class Full:
        def empty(self, *_, **__):
            raise MemoryError("Unable to allocate")

        def __getattr__(self, name):
            return getattr(np, name)

    monkeypatch.setattr("datamodules.images.cache.np", Full())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(ValueError, match=r"30 images as large as .*00\.jpg take 0\.0 MiB, .*: set in_memory false"):
        build(tmp_path, evaluation=Identity(), in_memory=True)


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    data = build(folder(tmp_path / "images", size=(8, 8)), evaluation=Identity(), in_memory=True)
    assert data.samples.inputs.shape == (30, 3, 8, 8)


@pytest.mark.parametrize("content", [b"", b"garbage", b"half"])
def test_a_damaged_cache_is_made_anew(tmp_path, monkeypatch, content):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder(tmp_path / "images", size=(8, 8))
    first = build(tmp_path / "images", evaluation=Identity(), in_memory=True).samples.inputs
    (cached,) = (tmp_path / "cache").rglob("*.npy")
    whole = cached.read_bytes()
    cached.write_bytes(whole[: len(whole) // 2] if content == b"half" else content)
    assert torch.equal(build(tmp_path / "images", evaluation=Identity(), in_memory=True).samples.inputs, first)
    assert cached.read_bytes() == whole


def test_a_user_without_a_home(tmp_path, monkeypatch):
    def fail():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", fail)
    folder(tmp_path, size=(8, 8))
    assert build(tmp_path, evaluation=Identity(), in_memory=True).samples.inputs.shape == (30, 3, 8, 8)


def test_broken_images(tmp_path, caplog):
    folder(tmp_path)
    (tmp_path / "cat" / "05.png").write_bytes(b"")
    (tmp_path / "dog" / "04.jpg").write_text("text")
    data = build(tmp_path)
    everything = [loader() for loader in (data.train_dataloader, data.val_dataloader, data.test_dataloader)]
    with pytest.raises(ValueError, match=r"(cat/05\.png is empty|dog/04\.jpg is not an image)"):
        [list(loader) for loader in everything]
    with caplog.at_level(logging.WARNING):
        data = build(tmp_path, skip_broken=True)
    assert "2 of 30 images are broken and left out: " in caplog.text
    assert "cat/05.png" in caplog.text
    assert data.describe()["name"] == f"{tmp_path.name} without 2 broken images"
    assert len(data.samples.inputs) == 28
    for split in ("train", "val", "test"):
        batches(data.feature_dataloader(split), data, train=False)


def test_classes_come_with_a_checkpoint(tmp_path):
    state = build(folder(tmp_path / "a")).state_dict()
    other = build(folder(tmp_path / "b", classes=("dog", "yak")))
    other.load_state_dict(state)
    assert other.num_classes == 3
    assert other.samples.target.unique().tolist() == [-1, 1]


@pytest.mark.parametrize("classes", [(), ("ant", "bee")], ids=["unlabelled", "others"])
def test_labels_that_training_had_none_of_count(tmp_path, caplog, classes):
    if classes:
        state = build(folder(tmp_path / "a", classes)).state_dict()
    else:
        for i in range(20):
            paint(tmp_path / f"a/{i:02}.png", i)
        state = build(tmp_path / "a").state_dict()
    other = build(folder(tmp_path / "b"))
    other.load_state_dict(state)
    assert other.classes == ["cat", "dog", "emu"]
    assert other.samples.target.bincount().tolist() == [10, 10, 10]
    assert ("none of the training's labels (ant, bee)" in caplog.text) == bool(classes)
    assert "trained on may be set aside" not in caplog.text
    embedded = build(tmp_path / "b")
    embedded.setup("predict")
    embedded.load_state_dict(state)
    assert embedded.classes == list(classes)  # as unknown as they are to a classifier of these


def test_labels_of_evaluation_that_training_lacks(tmp_path, caplog):
    folder(tmp_path, part="train")
    folder(tmp_path, part="val", each=4, classes=("Cat", "DOG", "emu"))
    data = build(tmp_path)
    assert data.samples.target[data.samples.splits["val"]].tolist() == [-1] * 8 + [2] * 4
    assert f"{tmp_path} has labels that are none of the training's and count as unknown: Cat, DOG" in caplog.text


def test_none_set_aside(tmp_path):
    data = build(folder(tmp_path), held_out=0)
    assert data.describe()["samples"] == {"train": 30, "val": 0, "test": 0}
    assert batches(data.val_dataloader(), data, train=False) == []


def test_predict_sees_every_image(tmp_path):
    paint(tmp_path / "only.png", 0)
    data = ImageFolder([VIEW, VIEW], MIDDLE, str(tmp_path), num_workers=0)
    data.setup("predict")
    assert [len(target) for _, target in data.predict_dataloader()] == [1]
    assert data.names == ["only.png"]


@pytest.mark.parametrize("in_memory", [False, True])
def test_sizes_that_differ(tmp_path, in_memory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder(tmp_path / "images")
    wanted = "set in_memory false" if in_memory else "eval_augmentation with CenterCrop"
    with pytest.raises(ValueError, match=rf"\.(jpg|png) is not as large as .* pixels: .*{wanted}"):
        batches(
            build(tmp_path / "images", evaluation=Identity(), in_memory=in_memory).val_dataloader(), None, train=False
        )


def empty(root):
    root.mkdir()


def only_text(root):
    root.mkdir()
    (root / "readme.txt").write_text("none")


def mixed(root):
    folder(root)
    paint(root / "stray.png", 0)


def lonely(root):
    folder(root)
    paint(root / "yak" / "one.png", 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda root: None, r"own does not exist: expected FOLDER/CLASS/image\.jpg"),
        (lambda root: root.write_text("x"), "own is a file: expected"),
        (empty, "own has no image"),
        (only_text, r"own has no image \(JPEG, .*\); it has 1 \.txt: expected"),
        (mixed, r"own has images in itself, such as stray\.png, and in cat: expected"),
        (lonely, r"own: 0\.1 of 31 images cannot be set aside, as each split needs images of every class"),
    ],
)
def test_complaints(tmp_path, make, message):
    make(tmp_path / "own")
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        build(tmp_path / "own")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"held_out": 0.5}, r"held_out .* in \[0, 0\.5\), got 0\.5"),
        ({"num_workers": -1}, "num_workers must not be negative, got -1"),
        ({"engine": "gpu"}, "engine must be device or worker, got gpu"),
    ],
)
def test_errors(tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        build(folder(tmp_path), **wrong)


class TestLayouts:
    @pytest.mark.parametrize("name", ["valid", "validation", "Val"])
    def test_other_names_of_validation(self, tmp_path, name):
        folder(tmp_path, part="Train")
        folder(tmp_path, part=name, each=4, start=50)
        data = build(tmp_path)
        assert len(data.samples.splits["val"]) == 12

    def test_a_split_twice(self, tmp_path):
        for part in ("train", "val", "valid"):
            folder(tmp_path, part=part, each=2)
        with pytest.raises(ValueError, match="has val and valid, which are the same split"):
            build(tmp_path)

    def test_a_class_called_train(self, tmp_path):
        folder(tmp_path, classes=("plane", "train"))
        with pytest.raises(ValueError, match=r"has images in plane beside train: .* FOLDER/train/CLASS"):
            build(tmp_path)

    def test_other_folders_beside_train(self, tmp_path):
        folder(tmp_path, part="train")
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "readme.txt").write_text("no image")
        assert build(tmp_path).classes == ["cat", "dog", "emu"]

    def test_splits_without_train(self, tmp_path):
        folder(tmp_path, part="test", each=4)
        with pytest.raises(ValueError, match="has test and no train"):
            build(tmp_path)
        data = ImageFolder([VIEW, VIEW], MIDDLE, str(tmp_path), num_workers=0)
        data.setup("predict")
        assert sum(len(target) for _, target in data.predict_dataloader()) == 12

    def test_hidden_folders(self, tmp_path):
        folder(tmp_path)
        paint(tmp_path / "cat" / ".thumbnails" / "x.png", 1)
        assert len(build(tmp_path).names) == 30

    def test_links(self, tmp_path):
        folder(tmp_path / "images")
        (tmp_path / "linked").mkdir()
        for name in ("cat", "dog"):
            (tmp_path / "linked" / name).mkdir()
            (tmp_path / "linked" / name / "there").symlink_to(tmp_path / "images" / name)
            (tmp_path / "linked" / name / "loop").symlink_to(tmp_path / "linked" / name)
        assert len(build(tmp_path / "linked").names) == 20

    def test_a_folder_that_cannot_be_read(self, tmp_path, monkeypatch):
        import os

        def refuse(path, **arguments):
            arguments["onerror"](PermissionError(13, "Permission denied", str(path)))
            return iter(())

        folder(tmp_path)
        monkeypatch.setattr(os, "walk", refuse)
        with pytest.raises(PermissionError, match="Permission denied"):
            build(tmp_path)

    def test_a_name_that_is_no_text(self, tmp_path):
        folder(tmp_path)
        (tmp_path / "cat" / "\udcff.jpg").write_bytes(b"")
        with pytest.raises(ValueError, match="its name is not UTF-8"):
            build(tmp_path)


def test_one_image_of_a_class(tmp_path):
    folder(tmp_path)
    paint(tmp_path / "yak" / "0.png", 0)
    with pytest.raises(ValueError, match="each split needs images of every class: there is one image of yak"):
        build(tmp_path)


def test_no_image_can_be_decoded(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.jpg").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"none of 2 images can be decoded, the first is .*a/0.jpg"):
        build(tmp_path, skip_broken=True)


def test_images_that_were_added_since_training(tmp_path, caplog):
    data = build(folder(tmp_path))
    state = data.state_dict()
    build(tmp_path).load_state_dict(state)
    assert not caplog.records
    paint(tmp_path / "cat" / "new.png", 7)
    build(tmp_path).load_state_dict(state)
    assert "the images are not those of the training" in caplog.text
    caplog.clear()
    for part in ("train", "val", "test"):
        folder(tmp_path / "parts", part=part, each=4)
    state = {**build(tmp_path / "parts").state_dict(), "images": "others"}
    build(tmp_path / "parts").load_state_dict(state)
    assert not caplog.records


@pytest.mark.parametrize("engine", ["device", "worker"])
def test_a_broken_image_in_a_process_of_its_own_is_one_line(tmp_path, engine):
    folder(tmp_path)
    (tmp_path / "cat" / "00.jpg").write_bytes(b"")
    data = build(tmp_path, num_workers=1, engine=engine)
    with pytest.raises(ValueError, match=r"^[^\n]*cat/00\.jpg is empty$"):
        batches(data.in_order(torch.arange(30)), data, train=False)


@pytest.mark.parametrize("engine", ["device", "worker"])
@pytest.mark.parametrize("in_memory", [False, True])
def test_the_sampler_of_an_evaluation_says_which_images(tmp_path, monkeypatch, in_memory, engine):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder(tmp_path / "images", size=(8, 8))
    data = build(tmp_path / "images", evaluation=Identity(), in_memory=in_memory, engine=engine, num_workers=0)
    index = torch.randperm(30, generator=torch.Generator().manual_seed(0))
    loader = data.in_order(index)
    assert torch.equal(torch.cat(list(loader.sampler)), index)
    assert torch.equal(
        torch.cat([target for _, target in batches(loader, data, train=False)]), data.samples.target[index]
    )


def test_few_labels(tmp_path):
    data = build(folder(tmp_path), batch_size=64, labels=2)
    assert data.describe()["samples"] == {"train": 6, "val": 3, "test": 3}
    ((_, target),) = batches(data.train_dataloader(), data, train=True)
    assert target.bincount().tolist() == [2, 2, 2]
