"""``python -m lightning_renyicl.tables.own_data``: public data sets as users' own files, for ``make table-own``."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

DATA = Path("data")
OWN = DATA / "own"


def graphs(name: str) -> Path:
    """A TU data set as PyTorch Geometric saves it, from ``data/NAME.zip`` or else downloaded."""
    from torch_geometric.datasets import TUDataset

    archive, raw = DATA / f"{name}.zip", OWN / name / "raw"
    if archive.exists() and not raw.exists():
        raw.mkdir(parents=True)
        with zipfile.ZipFile(archive) as file:
            for member in file.namelist():
                if member.endswith(".txt"):
                    (raw / Path(member).name).write_bytes(file.read(member))
    return Path(TUDataset(str(OWN), name).processed_paths[0])


def folders(name: str) -> Path:
    """The folders of images that ``data/NAME.tar`` holds."""
    folder = OWN / name
    if not folder.exists():
        with tarfile.open(DATA / f"{name}.tar") as file:
            file.extractall(OWN, filter="data")
    return folder


def table_of_digits() -> Path:
    """scikit-learn's digits as a CSV file with the column ``target``."""
    from sklearn.datasets import load_digits

    path = OWN / "digits.csv"
    load_digits(as_frame=True).frame.to_csv(path, index=False)
    return path


def main() -> int:
    """Lays out everything that is at hand; the exit code is 1 if something is not."""
    OWN.mkdir(parents=True, exist_ok=True)
    lacking = 0
    makers = {"digits": table_of_digits, "tiny_imagenet20": lambda: folders("tiny_imagenet20")}
    makers |= {name: lambda name=name: graphs(name) for name in ("MUTAG", "PROTEINS", "NCI1")}
    for name, make in makers.items():
        try:
            print(f"{name}: {make()}")
        except OSError as error:
            lacking += 1
            print(f"{name}: {error}", file=sys.stderr)
    return bool(lacking)


if __name__ == "__main__":
    sys.exit(main())
