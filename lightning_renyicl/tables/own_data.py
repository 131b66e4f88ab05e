"""``python -m lightning_renyicl.tables.own_data``: public data sets as users' own files, for ``make table-own``."""

from __future__ import annotations

import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from lightning_renyicl.atomic import replacing

DATA = Path("data")
OWN = DATA / "own"


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """Yields a new folder, which takes its place at the end; after an error it is deleted."""
    with tempfile.TemporaryDirectory(dir=OWN) as name:
        unfinished = Path(name) / folder.name
        unfinished.mkdir()
        yield unfinished
        folder.parent.mkdir(exist_ok=True)
        unfinished.rename(folder)


def graphs(name: str) -> Path:
    """A TU data set as PyTorch Geometric saves it, from ``data/NAME.zip`` or else downloaded."""
    from torch_geometric.datasets import TUDataset

    archive, raw = DATA / f"{name}.zip", OWN / name / "raw"
    if archive.exists() and not raw.exists():
        with zipfile.ZipFile(archive) as file, whole(raw) as folder:
            for member in file.namelist():
                if member.endswith(".txt"):
                    (folder / Path(member).name).write_bytes(file.read(member))
    return Path(TUDataset(str(OWN), name).processed_paths[0])


def images(name: str) -> Path:
    """The folders of images that ``data/NAME.tar`` holds."""
    if not (OWN / name).exists():
        with tarfile.open(DATA / f"{name}.tar") as file, whole(OWN / name) as folder:
            file.extractall(folder.parent, filter="data")
    return OWN / name


def digits() -> Path:
    """scikit-learn's digits as a CSV file, their labels in the column ``target``."""
    from sklearn.datasets import load_digits

    path = OWN / "digits.csv"
    if not path.exists():
        with replacing(path) as unfinished:
            load_digits(as_frame=True).frame.to_csv(unfinished, index=False)
    return path


def main() -> None:
    """Lays out everything that is at hand, and says what is not."""
    OWN.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[], Path]] = {"digits": digits, "tiny_imagenet20": partial(images, "tiny_imagenet20")}
    makers |= {name: partial(graphs, name) for name in ("MUTAG", "PROTEINS", "NCI1")}
    for name, make in makers.items():
        try:
            print(f"{name}: {make()}")
        except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
