"""Formats of images that are read: those that Pillow decodes itself."""

from __future__ import annotations

from collections import Counter
from functools import cache

from PIL import Image

FORMATS = (
    "JPEG",
    "MPO",
    "PNG",
    "WEBP",
    "AVIF",
    "GIF",
    "TIFF",
    "BMP",
    "JPEG2000",
    "PPM",
    "ICO",
    "QOI",
    "SGI",
    "DDS",
    "PCX",
    "DIB",
    "TGA",
)
"""Names of the formats. EPS, WMF and others that Pillow hands to another program or the system are left out."""


@cache
def openable() -> tuple[str, ...]:
    """The formats that this Pillow knows, as :func:`PIL.Image.open` wants them."""
    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)  # MPO is opened as JPEG


@cache
def endings() -> frozenset[str]:
    """How names of files of these formats end, in small letters."""
    return frozenset(ending for ending, name in Image.registered_extensions().items() if name in FORMATS)


def counted(others: Counter[str]) -> str:
    """Files of other endings, the most frequent first, such as "24 .heic, 1 .txt"."""
    return ", ".join(f"{count} {ending or 'without an ending'}" for ending, count in others.most_common(3)) + (
        " …" if len(others) > 3 else ""
    )
