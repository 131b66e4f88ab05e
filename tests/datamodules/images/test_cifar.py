"""CIFAR from small archives of the original layout, without a network."""

from __future__ import annotations

import io
import pickle
import tarfile
import urllib.error
import urllib.request

import numpy as np
import pytest
import torch

from datamodules.augmentations import Identity, Normalize
from datamodules.images.cifar import CIFAR10, CIFAR100

VIEWS, EVAL = [Identity(), Identity()], Normalize([0.5] * 3, [0.25] * 3)
FOLDER = {CIFAR10: "cifar-10-batches-py", CIFAR100: "cifar-100-python"}
ARCHIVE = {CIFAR10: "cifar-10-python.tar.gz", CIFAR100: "cifar-100-python.tar.gz"}


def entries(cls, each=40):
    """What each file holds: ``each`` images a file, four times that in CIFAR-100's training file."""
    random = np.random.RandomState(0)
    names = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"] if cls is CIFAR10 else ["train", "test"]
    result = {}
    for name in names:
        n = each if cls is CIFAR10 else 4 * each
        labels = random.permutation(np.arange(n) % 10).tolist()
        data = random.randint(0, 256, (n, 3072), dtype=np.uint8)
        if cls is CIFAR10:
            result[name] = {"data": data, "labels": labels, "filenames": ["a.png"] * n}
        else:
            result[name] = {"data": data, "fine_labels": [9 * i for i in labels], "coarse_labels": labels}
    return result


def pack(cls, root, content=None):
    """Writes the archive, its pickles in protocol 2 as the site's."""
    root.mkdir(parents=True, exist_ok=True)
    with tarfile.open(root / ARCHIVE[cls], "w:gz") as archive:
        for name, entry in (content or entries(cls)).items():
            blob = entry if isinstance(entry, bytes) else pickle.dumps(entry, protocol=2)
            info = tarfile.TarInfo(f"{FOLDER[cls]}/{name}")
            info.size = len(blob)
            archive.addfile(info, io.BytesIO(blob))
    return root / ARCHIVE[cls]


def unpack(cls, root):
    with tarfile.open(pack(cls, root)) as archive:
        archive.extractall(root, filter="data")
    (root / ARCHIVE[cls]).unlink()


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)


@pytest.mark.parametrize("cls", [CIFAR10, CIFAR100])
@pytest.mark.parametrize("place", [pack, unpack])
def test_reads_archive_and_folder_in_a_read_only_root(cls, place, tmp_path):
    place(cls, tmp_path / "data")
    before = sorted(tmp_path.rglob("*"))
    for path in before:
        path.chmod(0o555 if path.is_dir() else 0o444)
    data = cls(VIEWS, EVAL, batch_size=10, root=str(tmp_path / "data"))
    data.prepare_data()
    samples = data.samples
    assert sorted(tmp_path.rglob("*")) == before

    content = entries(cls)
    key = "labels" if cls is CIFAR10 else "fine_labels"
    images = np.concatenate([entry["data"] for entry in content.values()]).reshape(-1, 3, 32, 32)
    assert samples.inputs.dtype == torch.uint8
    assert torch.equal(samples.inputs, torch.from_numpy(images))
    assert samples.target.tolist() == [label for entry in content.values() for label in entry[key]]
    x, _ = data.eval_batch(torch.arange(10))
    torch.testing.assert_close(x, (torch.from_numpy(images[:10]) / 255 - 0.5) / 0.25)
    held_out = len(content[list(content)[-1]]["data"])
    assert samples.splits["test"].tolist() == list(range(len(images) - held_out, len(images)))


@pytest.mark.parametrize(("cls", "classes"), [(CIFAR10, 10), (CIFAR100, 100)])
def test_classes_are_known_before_the_data(cls, classes):
    assert cls(VIEWS, EVAL).num_classes == classes


class TestValidationSplit:
    def splits(self, tmp_path, **arguments):
        if not (tmp_path / ARCHIVE[CIFAR10]).exists():
            pack(CIFAR10, tmp_path)
        samples = CIFAR10(VIEWS, EVAL, root=str(tmp_path), **arguments).samples
        return samples, samples.splits

    def test_stratified_and_apart(self, tmp_path):
        samples, splits = self.splits(tmp_path)
        assert {split: len(rows) for split, rows in splits.items()} == {"train": 180, "val": 20, "test": 40}
        assert torch.equal(torch.cat(list(splits.values())).sort().values, torch.arange(240))
        assert samples.target[splits["val"]].bincount().tolist() == [2] * 10

    def test_the_same_whatever_the_seed(self, tmp_path):
        torch.manual_seed(1)
        first = self.splits(tmp_path)[1]["val"]
        torch.manual_seed(2)
        assert torch.equal(first, self.splits(tmp_path)[1]["val"])

    def test_share_0_trains_on_all(self, tmp_path):
        _, splits = self.splits(tmp_path, val_fraction=0)
        assert {split: len(rows) for split, rows in splits.items()} == {"train": 200, "val": 0, "test": 40}

    @pytest.mark.parametrize("share", [-0.1, 1.0])
    def test_errors(self, share):
        with pytest.raises(ValueError, match=r"val_fraction must be in \[0, 1\)"):
            CIFAR10(VIEWS, EVAL, val_fraction=share)


class TestMissing:
    @pytest.mark.parametrize("cls", [CIFAR10, CIFAR100])
    @pytest.mark.parametrize("method", ["prepare_data", "setup"])
    def test_one_line_says_what_to_get_and_where_to_put_it(self, cls, method, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(OSError, match="no network") as caught:
            getattr(cls(VIEWS, EVAL), method)()
        message = str(caught.value)
        assert f"https://www.cs.toronto.edu/~kriz/{ARCHIVE[cls]}" in message
        assert f"put {ARCHIVE[cls]}, packed as it is, into {tmp_path / 'data'}" in message
        assert "\n" not in message

    def test_a_root_that_is_a_file(self, tmp_path):
        (tmp_path / "data").write_text("")
        with pytest.raises(OSError, match=r"put cifar-10-python.tar.gz"):
            CIFAR10(VIEWS, EVAL, root=str(tmp_path / "data")).prepare_data()

    def test_a_download_cut_short_leaves_nothing_behind(self, tmp_path, monkeypatch):
        def cut_short(url, root, filename, md5):
            with open(f"{root}/{filename}", "wb") as file:
                file.write(b"half")
            raise RuntimeError("File not found or corrupted.")

        monkeypatch.setattr("torchvision.datasets.utils.download_url", cut_short)
        with pytest.raises(OSError, match="cannot be downloaded"):
            CIFAR10(VIEWS, EVAL, root=str(tmp_path)).prepare_data()
        assert list(tmp_path.iterdir()) == []

    def test_a_download_is_put_in_place(self, tmp_path, monkeypatch):
        from torchvision.datasets import CIFAR100 as SOURCE

        def deliver(url, root, filename, md5):
            assert (url, md5) == (SOURCE.url, SOURCE.tgz_md5)
            pack(CIFAR100, tmp_path / "elsewhere").rename(f"{root}/{filename}")

        monkeypatch.setattr("torchvision.datasets.utils.download_url", deliver)
        data = CIFAR100(VIEWS, EVAL, root=str(tmp_path / "data"))
        data.prepare_data()
        assert [path.name for path in (tmp_path / "data").iterdir()] == [ARCHIVE[CIFAR100]]
        assert len(data.samples.inputs) == 320


class TestDamaged:
    def load(self, root, cls=CIFAR10):
        cls(VIEWS, EVAL, root=str(root)).load()

    @pytest.mark.parametrize("kept", [0, 40, 0.3, 0.999])
    def test_archive_cut_short(self, kept, tmp_path):
        path = pack(CIFAR10, tmp_path)
        content = path.read_bytes()
        path.write_bytes(content[: kept if isinstance(kept, int) else int(kept * len(content))])
        with pytest.raises(ValueError, match=r"cifar-10-python\.tar\.gz is damaged or cut short") as caught:
            self.load(tmp_path)
        assert str(path) in str(caught.value)
        assert "delete it and get https://" in str(caught.value)

    def test_flipped_bits(self, tmp_path):
        path = pack(CIFAR10, tmp_path)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"cifar-10-python\.tar\.gz"):
            self.load(tmp_path)

    def test_not_an_archive(self, tmp_path):
        (tmp_path / ARCHIVE[CIFAR100]).write_text("<html>404</html>")
        with pytest.raises(ValueError, match=r"cifar-100-python\.tar\.gz is damaged"):
            self.load(tmp_path, CIFAR100)

    def test_archive_of_something_else(self, tmp_path):
        pack(CIFAR10, tmp_path, {"readme": b"hello"})
        with pytest.raises(ValueError, match=r"it has no cifar-10-batches-py/data_batch_1, .*test_batch"):
            self.load(tmp_path)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"labels": [0] * 3}, "40 images, 3 labels"),
            ({"labels": [10] * 40}, r"in 10\.\.10"),
            ({"data": np.zeros((40, 3000), dtype=np.uint8)}, "reshape"),
            ({"labels": None}, "damaged"),
        ],
    )
    def test_content(self, change, message, tmp_path):
        content = entries(CIFAR10)
        content["data_batch_2"].update(change)
        pack(CIFAR10, tmp_path, content)
        with pytest.raises(ValueError, match=r"cifar-10-batches-py/data_batch_2 in .* is damaged") as caught:
            self.load(tmp_path)
        assert caught.match(message)

    def test_file_of_the_folder(self, tmp_path):
        unpack(CIFAR10, tmp_path)
        path = tmp_path / FOLDER[CIFAR10] / "test_batch"
        path.write_bytes(path.read_bytes()[:1000])
        with pytest.raises(ValueError, match="cifar-10-batches-py/test_batch in"):
            self.load(tmp_path)

    def test_pickles_that_would_run_code_are_refused(self, tmp_path):
        content = entries(CIFAR10)
        content["test_batch"] = b"cos\nsystem\n(S'touch /tmp/never'\ntR."
        pack(CIFAR10, tmp_path, content)
        with pytest.raises(ValueError, match=r"it names os\.system"):
            self.load(tmp_path)

    def test_a_folder_that_lacks_a_file_gives_way_to_the_archive(self, tmp_path):
        unpack(CIFAR10, tmp_path)
        (tmp_path / FOLDER[CIFAR10] / "test_batch").unlink()
        pack(CIFAR10, tmp_path)
        self.load(tmp_path)
