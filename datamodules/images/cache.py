"""Images of one size, decoded once and stored on disk as bytes."""

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

from datamodules.files import replacing
from datamodules.images.decoding import Encoded, decode
from datamodules.room import printed

CHUNK = 1024


def cache_folder() -> Path | None:
    """Where decoded images are stored: under ``XDG_CACHE_HOME``, or ``~/.cache``; None for a user without a home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lightning-renyicl" / "images"
    except RuntimeError:
        return None


def key_of(items: Iterable[Encoded]) -> str:
    """A digest of images as they are stored: of their bytes, or of what the system says of their files.

    A file that takes another's place with its size and time has a number and a time of its own.
    """
    digest = hashlib.sha256(b"upright")  # how they are decoded
    for item in items:
        if item.content is None:
            stat = Path(item.name).stat()
            change = f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}"
            digest.update(f"{item.name} {change}\n".encode())
        else:
            digest.update(hashlib.sha256(item.content).digest())
    return digest.hexdigest()[:32]


def decode_all(items: Sequence[Encoded]) -> Tensor:
    """All images ``[M, 3, H, W]``, from the cache if they were decoded before.

    A cache that cannot be read or written is done without, and one that is damaged made anew.

    Raises:
        ValueError: an image that is broken or not as large as the first, or more images than memory has room for.
    """
    folder = cache_folder()
    path = None if folder is None else folder / f"{key_of(items)}.npy"
    stored = None if path is None else load_array(path)
    if stored is not None and stored.dtype == np.uint8 and stored.ndim == 4 and len(stored) == len(items):
        return torch.from_numpy(stored).permute(0, 3, 1, 2)
    first = np.asarray(decode(items[0]))
    try:
        pixels = np.empty((len(items), *first.shape), dtype=np.uint8)
    except MemoryError as error:
        raise ValueError(
            f"{len(items):,} images as large as {items[0].name} take {printed(len(items) * first.nbytes)}, for which "
            "this machine's memory has no room: set in_memory false"
        ) from error

    def fill(start: int) -> None:
        for number, item in enumerate(items[start : start + CHUNK], start=start):
            image = np.asarray(decode(item))
            if image.shape != first.shape:
                sizes = " and ".join(f"{shape[1]} x {shape[0]}" for shape in (image.shape, first.shape))
                raise ValueError(f"{item.name} is not as large as the first image, {sizes} pixels: set in_memory false")
            pixels[number] = image

    with threads() as pool:
        list(pool.map(fill, range(0, len(items), CHUNK)))
    if path is not None:
        save_array(pixels, path)
    return torch.from_numpy(pixels).permute(0, 3, 1, 2)


def decodable(items: Sequence[Encoded]) -> list[int]:
    """Numbers of the images that can be decoded."""

    def is_decodable(item: Encoded) -> bool:
        try:
            decode(item)
        except ValueError:
            return False
        return True

    with threads() as pool:
        return [number for number, good in enumerate(pool.map(is_decodable, items)) if good]


def threads() -> ThreadPoolExecutor:
    """One thread a core: Pillow decodes without the interpreter's lock."""
    # not every system can say which cores are this process's
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return ThreadPoolExecutor(cores or 1)


def load_array(path: Path) -> np.ndarray | None:
    """The array of a file; None if there is none that can be read."""
    try:
        array: np.ndarray = np.load(path)
    except (OSError, EOFError, ValueError):
        return None
    return array


def save_array(array: np.ndarray, path: Path) -> None:
    """Writes an array whole or not at all, and not at all where it cannot be written."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial, partial.open("wb") as file:
            np.save(file, array)
