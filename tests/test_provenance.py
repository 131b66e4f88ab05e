"""Which files a result comes from: what counts as a change of them, and what doesn't."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from lightning.pytorch import LightningModule, Trainer

from datamodules import CIFAR10, CIFAR100, DigitsTable
from datamodules.augmentations import Identity, RandomMask
from lightning_renyicl import provenance
from lightning_renyicl.callbacks import ResultJson
from lightning_renyicl.callbacks.result_json import described

ROOT = Path(__file__).parents[1]
TABLE = [Identity(), RandomMask(0.2)]
BEFORE = 10**18  # nanoseconds


def write(path, content, mtime_ns=BEFORE):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, ns=(mtime_ns, mtime_ns))


def recorded(*paths):
    """A result of some files, through JSON as a result goes, and with nothing remembered."""
    result = json.loads(json.dumps({"data": {"name": "Rows", "files": provenance.fingerprints(paths)}}))
    provenance._digest.cache_clear()
    return result


class TestFingerprints:
    def test_of_a_file(self, tmp_path):
        write(tmp_path / "rows.csv", b"a,b\n1,2\n")
        assert provenance.fingerprints([tmp_path / "rows.csv"]) == {
            str(tmp_path / "rows.csv"): {
                "size": 8,
                "mtime_ns": BEFORE,
                "sha256": hashlib.sha256(b"a,b\n1,2\n").hexdigest(),
            }
        }

    def test_of_a_folder(self, tmp_path):
        write(tmp_path / "images" / "b" / "2.png", b"two")
        write(tmp_path / "images" / "a.png", b"one.")
        (tmp_path / "images" / "empty").mkdir()
        found = provenance.fingerprints([tmp_path / "images"])[str(tmp_path / "images")]
        assert found["size"] == 7
        assert found["sha256"] == hashlib.sha256(b"a.png 4\nb/2.png 3").hexdigest()
        assert found["content"] == hashlib.sha256(b"one.two").hexdigest()

    def test_of_an_empty_folder(self, tmp_path):
        found = provenance.fingerprint(tmp_path)
        assert (found["size"], found["content"]) == (0, hashlib.sha256(b"").hexdigest())

    def test_of_a_large_folder(self, tmp_path, monkeypatch):
        """Every second file is read, the first two bytes and the last."""
        monkeypatch.setattr(provenance, "MOST_FILES", 2)
        monkeypatch.setattr(provenance, "MOST_BYTES", 4)
        monkeypatch.setattr(provenance, "END", 1)
        for name in "abc":
            write(tmp_path / name, b"12345")
        assert provenance.fingerprint(tmp_path)["content"] == hashlib.sha256(b"125125").hexdigest()

    def test_of_nothing(self):
        assert provenance.fingerprints([]) == {}


class TestChangedFiles:
    @pytest.fixture
    def file(self, tmp_path):
        write(tmp_path / "rows.csv", b"1,2,3")
        return tmp_path / "rows.csv"

    def test_unchanged(self, file):
        assert provenance.changed_files(recorded(file)) == []

    def test_touched(self, file):
        result = recorded(file)
        os.utime(file, ns=(BEFORE + 1, BEFORE + 1))
        assert provenance.changed_files(result) == []

    @pytest.mark.parametrize(
        ("content", "later"),
        [(b"1,2,4", 1), (b"1,2,4", -1), (b"1,2", 0), (b"1,2,3,4", 0), (b"", 0), (b"1,2", 1)],
        ids=["same size", "same size, older", "shorter, same time", "longer, same time", "empty", "shorter"],
    )
    def test_other_content(self, file, content, later):
        result = recorded(file)
        write(file, content, BEFORE + later)
        assert provenance.changed_files(result) == [f"{file} has changed"]

    def test_same_size_and_time_are_taken_for_the_same_and_not_read(self, file, monkeypatch):
        result = recorded(file)
        write(file, b"1,2,4")
        monkeypatch.setattr(provenance, "digest", lambda path: pytest.fail("it was read"))
        assert provenance.changed_files(result) == []

    def test_gone(self, file):
        result = recorded(file)
        file.unlink()
        assert provenance.changed_files(result) == []

    def test_of_several_only_those_that_have(self, file, tmp_path):
        write(tmp_path / "other.csv", b"1")
        write(tmp_path / "third.csv", b"1")
        result = recorded(file, tmp_path / "other.csv", tmp_path / "third.csv")
        write(tmp_path / "other.csv", b"2", BEFORE + 1)
        (tmp_path / "third.csv").unlink()
        assert provenance.changed_files(result) == [f"{tmp_path / 'other.csv'} has changed"]

    def test_a_file_that_is_a_folder_now(self, file):
        result = recorded(file)
        file.unlink()
        write(file / "rows.csv", b"1,2,3")
        assert provenance.changed_files(result) == [f"{file} has changed"]

    @pytest.mark.parametrize(
        "result",
        [{}, {"data": None}, {"data": {}}, {"data": {"name": "FakeTable"}}, {"data": {"files": {}}}],
        ids=str,
    )
    def test_a_result_that_names_none(self, result):
        assert provenance.changed_files(result) == []


class TestChangedFolder:
    @pytest.fixture
    def folder(self, tmp_path):
        write(tmp_path / "images" / "cat" / "1.png", b"12345")
        write(tmp_path / "images" / "dog" / "2.png", b"123")
        return tmp_path / "images"

    @pytest.fixture
    def result(self, folder):
        return recorded(folder)

    def test_unchanged(self, result):
        assert provenance.changed_files(result) == []

    def test_touched(self, folder, result):
        for path in [folder, *folder.rglob("*")]:
            os.utime(path, ns=(BEFORE + 1, BEFORE + 1))
        assert provenance.changed_files(result) == []

    @pytest.mark.parametrize("others_time", [False, True])
    def test_a_name(self, folder, result, others_time):
        before = folder.stat().st_mtime_ns
        (folder / "cat" / "1.png").rename(folder / "cat" / "3.png")
        if others_time:
            before += 1
        os.utime(folder, ns=(before, before))
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    def test_a_file_in_another_folder(self, folder, result):
        (folder / "cat" / "1.png").rename(folder / "dog" / "1.png")
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    def test_a_size(self, folder, result):
        write(folder / "cat" / "1.png", b"1234567")
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    def test_sizes_of_the_same_sum(self, folder, result):
        write(folder / "cat" / "1.png", b"1234")
        write(folder / "dog" / "2.png", b"1234")
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    @pytest.mark.parametrize("content", [b"", b"new"])
    def test_one_more(self, folder, result, content):
        write(folder / "dog" / "3.png", content)
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    def test_one_less(self, folder, result):
        (folder / "dog" / "2.png").unlink()
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    def test_other_content(self, folder, result):
        """Of the same size and time."""
        write(folder / "dog" / "2.png", b"124")
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    def test_exchanged_classes(self, folder):
        write(folder / "cat" / "1.png", b"abcde")
        write(folder / "dog" / "1.png", b"12345")
        (folder / "dog" / "2.png").unlink()
        result = recorded(folder)
        for old, new in (("cat", "x"), ("dog", "cat"), ("x", "dog")):
            (folder / old).rename(folder / new)
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    def test_a_result_of_an_earlier_version_has_names_and_sizes(self, folder, result):
        del result["data"]["files"][str(folder)]["content"]
        write(folder / "dog" / "2.png", b"124")
        assert provenance.changed_files(result) == []

    def test_an_empty_folder_is_nothing(self, folder, result):
        (folder / "bird").mkdir()
        assert provenance.changed_files(result) == []

    def test_gone(self, folder, result):
        folder.rename(folder.with_name("elsewhere"))
        assert provenance.changed_files(result) == []


class Idle(LightningModule):
    """Validates next to nothing."""

    def validation_step(self, batch, batch_idx):
        self.log("protocol/score", 1.0, batch_size=1)


class TestResult:
    """What ``result.json`` says of the data."""

    @pytest.fixture
    def result(self, tmp_path):
        def _result(data):
            quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
            trainer = Trainer(accelerator="cpu", callbacks=[ResultJson()], default_root_dir=tmp_path, **quiet)
            trainer.validate(Idle(), data, verbose=False)
            return json.loads((tmp_path / "result.json").read_text())

        return _result

    def test_data_without_files(self, result):
        samples = {"train": 1047, "val": 300, "test": 450}
        assert result(DigitsTable(TABLE))["data"] == {"name": "DigitsTable", "samples": samples, "files": {}}

    def test_data_with_files(self, result, tmp_path):
        write(tmp_path / "rows.csv", b"1,2,3")

        class Rows(DigitsTable):
            @property
            def files(self):
                return [tmp_path / "rows.csv"]

        found = result(Rows(TABLE))
        assert found["data"]["name"] == "Rows"
        assert list(found["data"]["files"]) == [str(tmp_path / "rows.csv")]
        assert provenance.changed_files(found) == []
        write(tmp_path / "rows.csv", b"1,2,4", BEFORE + 1)
        provenance._digest.cache_clear()
        assert provenance.changed_files(found) == [f"{tmp_path / 'rows.csv'} has changed"]

    def test_data_that_say_nothing_of_themselves(self):
        assert described(Path("rows.csv")) == {"name": type(Path()).__name__}


class TestFilesOfCIFAR:
    PARTS = {  # noqa: RUF012
        CIFAR10: ["cifar-10-batches-py/" + name for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]],
        CIFAR100: ["cifar-100-python/train", "cifar-100-python/test"],
    }
    ARCHIVE = {CIFAR10: "cifar-10-python.tar.gz", CIFAR100: "cifar-100-python.tar.gz"}  # noqa: RUF012

    @pytest.mark.parametrize("cls", [CIFAR10, CIFAR100])
    @pytest.mark.parametrize("also_unpacked", [False, True])
    def test_are_those_that_are_read(self, tmp_path, cls, also_unpacked):
        write(tmp_path / self.ARCHIVE[cls], b"packed")
        for name in self.PARTS[cls] if also_unpacked else self.PARTS[cls][:-1]:
            write(tmp_path / name, b"unpacked")
        expected = self.PARTS[cls] if also_unpacked else [self.ARCHIVE[cls]]
        assert cls([Identity()] * 2, Identity(), root=str(tmp_path)).files == [tmp_path / name for name in expected]
