"""Images of one size, decoded once and kept on disk as bytes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from datamodules.decoding import Encoded, decode

CHUNK = 1024


def cache_folder() -> Path | None:
    """Where decoded images are kept: under ``XDG_CACHE_HOME``, or ``~/.cache``; None for a user without a home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lightning-renyicl" / "images"
    except RuntimeError:
        return None


def key_of(items: Iterable[Encoded]) -> str:
    """A digest of images as they are stored: of their bytes, or of names, sizes and times of change of files."""
    digest = hashlib.sha256()
    for item in items:
        if item.content is None:
            stat = Path(item.name).stat()
            digest.update(f"{item.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
        else:
            digest.update(hashlib.sha256(item.content).digest())
    return digest.hexdigest()[:32]


def decode_all(items: Sequence[Encoded]) -> Tensor:
    """All images ``[M, 3, H, W]``, from the cache if they were decoded before.

    A cache that cannot be read or written is done without, and one that is damaged made anew.

    Raises:
        ValueError: an image that is broken, or not as large as the first.
    """
    folder = cache_folder()
    path = None if folder is None else folder / f"{key_of(items)}.npy"
    kept = None if path is None else recall(path)
    if kept is not None and kept.dtype == np.uint8 and kept.ndim == 4 and len(kept) == len(items):
        return torch.from_numpy(kept).permute(0, 3, 1, 2)
    first = np.asarray(decode(items[0]))
    pixels = np.empty((len(items), *first.shape), dtype=np.uint8)

    def fill(start: int) -> None:
        for row, item in enumerate(items[start : start + CHUNK], start=start):
            image = np.asarray(decode(item))
            if image.shape != first.shape:
                sizes = " and ".join(f"{shape[1]} x {shape[0]}" for shape in (image.shape, first.shape))
                raise ValueError(f"{item.name} is not as large as the first image, {sizes} pixels: set in_memory false")
            pixels[row] = image

    with threads() as pool:
        list(pool.map(fill, range(0, len(items), CHUNK)))
    if path is not None:
        keep(pixels, path)
    return torch.from_numpy(pixels).permute(0, 3, 1, 2)


def sound(items: Sequence[Encoded]) -> list[int]:
    """Numbers of the images that can be decoded."""

    def is_sound(item: Encoded) -> bool:
        try:
            decode(item)
        except ValueError:
            return False
        return True

    with threads() as pool:
        return [row for row, good in enumerate(pool.map(is_sound, items)) if good]


def threads() -> ThreadPoolExecutor:
    """One a core: Pillow decodes without the interpreter's lock."""
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)))


def recall(path: Path) -> np.ndarray | None:
    """The array of a file; None if there is none that can be read."""
    try:
        kept: np.ndarray = np.load(path)
    except (OSError, EOFError, ValueError):
        return None
    return kept


def keep(pixels: np.ndarray, path: Path) -> None:
    """Writes an array whole or not at all, and not at all where it cannot be written."""
    partial = path.with_suffix(f".{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            np.save(file, pixels)
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
