"""STL-10 from small files of the original layout, without a network."""

from __future__ import annotations

import io
import tarfile
import urllib.error
import urllib.request

import numpy as np
import pytest
import torch

from datamodules import STL10
from datamodules.augmentations import Identity

COUNTS = {"unlabeled": 30, "train": 100, "test": 20}
RANDOM = np.random.default_rng(0)
PICTURES = {name: RANDOM.integers(0, 256, (count, 3, 96, 96), dtype=np.uint8) for name, count in COUNTS.items()}
LABELS = {name: (np.arange(COUNTS[name]) % 10 + 1).astype(np.uint8) for name in ("train", "test")}


def contents():
    files = {f"{name}_X.bin": pictures.transpose(0, 1, 3, 2).tobytes() for name, pictures in PICTURES.items()}
    return {**files, **{f"{name}_y.bin": labels.tobytes() for name, labels in LABELS.items()}}


def unpack(root, files=None):
    (root / "stl10_binary").mkdir(parents=True)
    for name, content in (files or contents()).items():
        (root / "stl10_binary" / name).write_bytes(content)


def pack(root, files=None):
    root.mkdir(parents=True)
    with tarfile.open(root / "stl10_binary.tar.gz", "w:gz") as archive:
        for name, content in (files or contents()).items():
            info = tarfile.TarInfo(f"stl10_binary/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)


def build(root):
    return STL10([Identity(), Identity()], Identity(), batch_size=10, root=str(root))


def test_an_archive_that_is_larger_than_memory(tmp_path, monkeypatch):
    pack(tmp_path / "data")
    monkeypatch.setattr("datamodules.room.memory_limit", lambda: 2**20)
    message = (
        r"stl10_binary/train_X\.bin in .*stl10_binary\.tar\.gz would take 3\.4 MiB of memory, more than the 1\.0 MiB "
        rf"that data may take on this machine: if it is meant so, unpack it in {tmp_path / 'data'}$"
    )
    with pytest.raises(ValueError, match=message):
        build(tmp_path / "data").setup()
    monkeypatch.setattr("datamodules.room.memory_limit", lambda: 2**23)
    build(tmp_path / "data").setup()


@pytest.mark.parametrize("place", [pack, unpack])
def test_images_labels_and_splits(tmp_path, place):
    place(tmp_path / "data")
    before = sorted(tmp_path.rglob("*"))
    for path in before:
        path.chmod(0o555 if path.is_dir() else 0o444)
    data = build(tmp_path / "data")
    samples = data.samples
    assert sorted(tmp_path.rglob("*")) == before
    expected = np.concatenate([PICTURES[name] for name in ("unlabeled", "train", "test")])
    assert np.array_equal(samples.inputs.numpy(), expected)
    assert samples.target[:30].tolist() == [-1] * 30
    assert samples.target[30:].tolist() == [label - 1 for name in ("train", "test") for label in LABELS[name]]
    assert {split: len(rows) for split, rows in samples.splits.items()} == {"train": 120, "val": 10, "test": 20}
    assert torch.cat(list(samples.splits.values())).sort().values.tolist() == list(range(150))
    assert set(range(30)) < set(samples.splits["train"].tolist())


def test_protocols_see_labelled_images_alone(tmp_path):
    unpack(tmp_path / "data")
    data = build(tmp_path / "data")
    targets = torch.cat([data.eval_batch(raw)[1] for raw in data.feature_dataloader("train")])
    assert len(targets) == 90
    assert targets.min() == 0


def test_nothing_there(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"no stl10_binary\.tar\.gz or stl10_binary in .*put stl10_binary\.tar\.gz"
    ):
        build(tmp_path).prepare_data()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train_X.bin": b"\0" * 100}, r"train_X\.bin of .* is cut short"),
        ({"test_X.bin": b""}, r"test_X\.bin of .* is cut short"),
        ({"train_y.bin": b"\x0b" * 100}, "labels of .* are damaged"),
        ({"test_y.bin": b"\x01" * 3}, "labels of .* are damaged"),
    ],
)
@pytest.mark.parametrize("place", [pack, unpack])
def test_damaged_files(tmp_path, place, change, message):
    place(tmp_path / "data", contents() | change)
    with pytest.raises(ValueError, match=message):
        build(tmp_path / "data").load()


def test_an_archive_cut_short(tmp_path):
    pack(tmp_path / "data")
    path = tmp_path / "data" / "stl10_binary.tar.gz"
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(ValueError, match=r"stl10_binary\.tar\.gz is damaged or cut short"):
        build(tmp_path / "data").load()


def test_a_file_that_the_archive_lacks(tmp_path):
    pack(tmp_path / "data", {name: content for name, content in contents().items() if name != "test_y.bin"})
    with pytest.raises(ValueError, match=r"it has no stl10_binary/test_y\.bin"):
        build(tmp_path / "data").load()


def test_errors(tmp_path):
    for share in (0, 1):
        with pytest.raises(ValueError, match=r"val_fraction must be in \(0, 1\)"):
            STL10([Identity(), Identity()], Identity(), root=str(tmp_path), val_fraction=share)
