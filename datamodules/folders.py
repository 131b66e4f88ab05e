"""Which images a folder has, and of which classes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal

from datamodules.decoding import Encoded

ENDINGS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
LAYOUTS = (
    "expected FOLDER/CLASS/image.jpg, the same in FOLDER/train with FOLDER/val or FOLDER/test beside it, "
    "or images without labels in FOLDER itself"
)
Part = Literal["train", "val", "test"]


def parts_of(root: Path) -> dict[Part, Path]:
    """The folder of each split that has one of its own; if ``train`` has none, the root.

    Raises:
        FileNotFoundError: no such folder.
    """
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        raise FileNotFoundError(f"{root} {what}: {LAYOUTS}")
    if not (root / "train").is_dir():
        return {"train": root}
    names: tuple[Part, ...] = ("train", "val", "test")
    return {name: root / name for name in names if (root / name).is_dir()}


def is_image(path: Path) -> bool:
    """Whether a path looks like an image that isn't hidden."""
    return path.suffix.lower() in ENDINGS and not path.name.startswith(".")


def images_of(folder: Path, wanted: Collection[str] | None = None) -> tuple[list[Encoded], list[str | None]]:
    """Images of a split in the order of their paths, and the names of the folders of their classes.

    Args:
        folder: of the split.
        wanted: names of classes, to leave others out; None: all.

    Raises:
        ValueError: no image, or images both in the folder itself and in folders within it.
    """
    flat = sorted(path for path in folder.iterdir() if is_image(path))
    classes = sorted(
        path
        for path in folder.iterdir()
        if path.is_dir() and not path.name.startswith(".") and (wanted is None or path.name in wanted)
    )
    found = [(path, part.name) for part in classes for path in sorted(part.rglob("*")) if is_image(path)]
    if flat and found:
        raise ValueError(f"{folder} has images in itself, such as {flat[0].name}, and in {found[0][1]}: {LAYOUTS}")
    if not flat and not found:
        raise ValueError(f"{folder} has no image ({' '.join(ENDINGS)}): {LAYOUTS}")
    labels: Sequence[str | None] = [None] * len(flat) + [label for _, label in found]
    return [Encoded(str(path)) for path in [*flat, *(path for path, _ in found)]], list(labels)
