"""ImageNet from folders and from small archives of the original layout."""

from __future__ import annotations

import io
import tarfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat
from torchvision.datasets import imagenet

from datamodules import ImageNet, ImageNet100
from datamodules.augmentations import CenterCrop, RandomResizedCrop
from datamodules.images.imagenet import synsets

NAMES = [f"n{number:08}" for number in (7, 3, 12)]  # in the order of the development kit


class Small(ImageNet):
    CLASSES = 3


def jpeg(seed):
    buffer = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (9 + seed % 5, 12, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(buffer, "JPEG")
    return buffer.getvalue()


def tar(files, mode="w"):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def archives(tmp_path, monkeypatch):
    """The three archives, 20 training images and 2 others a class; their checksums are not the site's."""
    monkeypatch.setattr(imagenet, "_verify_archive", lambda *_: None)
    meta = io.BytesIO()
    kinds = np.array(
        [(i + 1, name, f"word{i}", "gloss", 0, 0, 0, 20) for i, name in enumerate(NAMES)],
        dtype=[
            (k, "O") for k in ("ILSVRC2012_ID", "WNID", "words", "gloss", "num_children", "children", "height", "n")
        ],
    )
    savemat(meta, {"synsets": kinds})
    truth = "".join(f"{i % 3 + 1}\n" for i in range(6))
    kit = "ILSVRC2012_devkit_t12/data/"
    files = {f"{kit}meta.mat": meta.getvalue(), f"{kit}ILSVRC2012_validation_ground_truth.txt": truth.encode()}
    (tmp_path / "ILSVRC2012_devkit_t12.tar.gz").write_bytes(tar(files, "w:gz"))
    classes = {
        f"{name}.tar": tar({f"{name}_{i}.JPEG": jpeg(100 * k + i) for i in range(20)}) for k, name in enumerate(NAMES)
    }
    (tmp_path / "ILSVRC2012_img_train.tar").write_bytes(tar(classes))
    val = {f"ILSVRC2012_val_{i:08}.JPEG": jpeg(1000 + i) for i in range(6)}
    (tmp_path / "ILSVRC2012_img_val.tar").write_bytes(tar(val))
    return tmp_path


def build(root, cls=Small, **arguments):
    crop = RandomResizedCrop(8)
    defaults = {"batch_size": 8, "num_workers": 0, "val_fraction": 0.1}
    return cls([crop, crop], CenterCrop(8, 10), root=str(root), **(defaults | arguments))


def test_archives_are_unpacked_once(archives):
    data = build(archives)
    data.prepare_data()
    assert sorted(path.name for path in (archives / "train").iterdir()) == sorted(NAMES)
    assert not list(archives.glob("*.part"))
    (archives / "ILSVRC2012_img_train.tar").unlink()
    samples = build(archives).samples
    assert {split: len(rows) for split, rows in samples.splits.items()} == {"train": 54, "val": 6, "test": 6}
    assert samples.target[samples.splits["test"]].tolist() == [0, 0, 1, 1, 2, 2]
    first = samples.inputs.items[int(samples.splits["test"][0])]
    assert "n00000003" in first.name  # of the second class in the kit, the first by name
    views, target = data.train_batch(next(iter(data.train_dataloader())))
    assert [view.shape for view in views] == [(8, 3, 8, 8)] * 2
    assert set(target.tolist()) <= {0, 1, 2}


def test_an_unpacking_cut_short_is_begun_anew(archives):
    (archives / "train.part" / "rubbish").mkdir(parents=True)
    build(archives).prepare_data()
    assert sorted(path.name for path in (archives / "train").iterdir()) == sorted(NAMES)


def test_two_runs_unpack_once(archives, monkeypatch):
    from torchvision.datasets import imagenet

    unpacked, parse = [], imagenet.parse_train_archive

    def count(*args, **kwargs):
        unpacked.append(1)
        parse(*args, **kwargs)

    monkeypatch.setattr(imagenet, "parse_train_archive", count)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: build(archives).prepare_data(), range(4)))
    assert len(unpacked) == 1
    assert {split: len(rows) for split, rows in build(archives).samples.splits.items()}["test"] == 6


def test_all_images_can_train(archives):
    samples = build(archives, val_fraction=0).samples
    assert len(samples.splits["train"]) == 60
    assert len(samples.splits["val"]) == 0


def test_nothing_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder train or val in .*img_train\.tar.* packed as they are"):
        build(tmp_path).prepare_data()


def test_damaged_archives(tmp_path):
    for name in ("ILSVRC2012_devkit_t12.tar.gz", "ILSVRC2012_img_train.tar", "ILSVRC2012_img_val.tar"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(ValueError, match=r"ILSVRC2012_devkit_t12\.tar\.gz is not present .* or is corrupted"):
        build(tmp_path).prepare_data()


def test_classes_that_do_not_fit(archives):
    build(archives).prepare_data()
    with pytest.raises(ValueError, match="has folders of 3 of the 1,000 classes"):
        build(archives, ImageNet).load()
    (archives / "val" / NAMES[0]).rename(archives / "val" / "n99")
    with pytest.raises(ValueError, match="has images of n99, which"):
        build(archives).load()


def test_a_hundred_classes(tmp_path):
    assert len(synsets()) == 100
    for part, count in (("train", 2), ("val", 1)):
        for name in [*synsets(), "n00000001"]:
            folder = tmp_path / part / name
            folder.mkdir(parents=True)
            for i in range(count):
                (folder / f"{i}.JPEG").write_bytes(b"")
    samples = build(tmp_path, ImageNet100, val_fraction=0.5).samples
    assert {split: len(rows) for split, rows in samples.splits.items()} == {"train": 100, "val": 100, "test": 100}
    assert torch.equal(samples.target[samples.splits["test"]], torch.arange(100))
    assert not any("n00000001" in item.name for item in samples.inputs.items)


def test_errors(tmp_path):
    with pytest.raises(ValueError, match=r"val_fraction must be in \[0, 1\), got 1"):
        build(tmp_path, val_fraction=1)
