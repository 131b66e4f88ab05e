"""Which images a folder has, and of which classes."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal

from datamodules.images.decoding import Encoded
from datamodules.images.formats import FORMATS, counted, endings

log = logging.getLogger(__name__)

LAYOUTS = (
    "expected FOLDER/CLASS/image.jpg, the same in FOLDER/train with FOLDER/val or FOLDER/test beside it, "
    "or images without labels in FOLDER itself"
)
Part = Literal["train", "val", "test"]
PARTS: dict[str, Part] = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}
"""What splits are called, in letters of any size."""


def parts_of(root: Path) -> dict[Part, Path]:
    """The folder of each split that has one of its own; if ``train`` has none, the root.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: two folders of one split, or folders of images beside ``train`` that are no splits.
    """
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        raise FileNotFoundError(f"{root} {what}: {LAYOUTS}")
    found: dict[Part, Path] = {}
    others = []
    for folder in visible_folders(root):
        part = PARTS.get(folder.name.lower())
        if part is None:
            others.append(folder)
        elif part in found:
            raise ValueError(f"{root} has {found[part].name} and {folder.name}, which are the same split: {LAYOUTS}")
        else:
            found[part] = folder
    if "train" not in found:
        return {"train": root}
    strange = next((folder.name for folder in others if any(True for _ in images_in(folder, Counter()))), None)
    if strange is not None:
        raise ValueError(
            f"{root} has images in {strange} beside {found['train'].name}: {LAYOUTS}. If {found['train'].name} is a "
            "class, put the folders of all classes into another one, FOLDER/train/CLASS"
        )
    return {part: found[part] for part in ("train", "val", "test") if part in found}


def check_training(root: Path) -> None:
    """Raises ValueError for a folder with splits to evaluate on and none to train on."""
    parts = {
        PARTS[folder.name.lower()]: folder.name for folder in visible_folders(root) if folder.name.lower() in PARTS
    }
    if parts and "train" not in parts:
        raise ValueError(f"{root} has {' and '.join(parts.values())} and no train: {LAYOUTS}")


def visible_folders(folder: Path) -> list[Path]:
    """The folders in a folder in order, without hidden ones."""
    with os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def images_in(folder: Path, others: Counter[str], deep: bool = True) -> Iterator[Path]:
    """Images of a folder, and of those within it unless they are hidden; links are followed, each folder once.

    Args:
        folder: the folder.
        others: counts the endings of files that are no images.
        deep: whether folders within it are looked into.

    Raises:
        OSError: a folder that cannot be read.
        ValueError: a name that is not UTF-8.
    """

    def fail(error: OSError) -> None:
        raise error

    seen = set()
    for path, folders, names in os.walk(folder, onerror=fail, followlinks=True):
        real = os.path.realpath(path)
        folders[:] = sorted(name for name in folders if deep and real not in seen and not name.startswith("."))
        if real in seen:
            continue
        seen.add(real)
        for name in sorted(names):
            image = Path(path, name)
            if name.startswith("."):
                continue
            if image.suffix.lower() not in endings():
                others[image.suffix.lower()] += 1
                continue
            try:
                str(image).encode()
            except UnicodeEncodeError as error:
                raise ValueError(f"{str(image).encode(errors='replace').decode()}: its name is not UTF-8") from error
            yield image


def images_of(folder: Path, wanted: Collection[str] | None = None) -> tuple[list[Encoded], list[str | None]]:
    """Images of a split in the order of their paths, and the names of the folders of their classes.

    Files that are left out for their endings are counted in a warning.

    Args:
        folder: folder of the split.
        wanted: names of classes, to leave others out; None: all.

    Raises:
        OSError: a folder that cannot be read.
        ValueError: no image, images both in the folder itself and in folders within it, or a name that is not UTF-8.
    """
    others: Counter[str] = Counter()
    flat = sorted(images_in(folder, others, deep=False))
    classes = [path for path in visible_folders(folder) if wanted is None or path.name in wanted]
    found = [(path, part.name) for part in classes for path in sorted(images_in(part, others))]
    if flat and found:
        raise ValueError(f"{folder} has images in itself, such as {flat[0].name}, and in {found[0][1]}: {LAYOUTS}")
    if not flat and not found:
        has = f"; it has {counted(others)}" if others else ""
        raise ValueError(f"{folder} has no image ({', '.join(FORMATS)}){has}: {LAYOUTS}")
    if others:
        log.warning("%s: %d files are no images and are left out: %s", folder, others.total(), counted(others))
    labels: Sequence[str | None] = [None] * len(flat) + [label for _, label in found]
    return [Encoded(str(path)) for path in [*flat, *(path for path, _ in found)]], list(labels)
