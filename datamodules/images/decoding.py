"""Images in files as RGB."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from datamodules.images.formats import FORMATS, openable

# without the file's name; twice as many pixels are refused with it
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


@dataclass(frozen=True)
class Encoded:
    """An image as it is stored.

    Attributes:
        name: what to call it in a message, such as its path.
        content: bytes of the image; None: they are in the file of this name.
    """

    name: str
    content: bytes | None = None


def decode(encoded: Encoded) -> Image.Image:
    """The image in RGB, 8 bits a channel, upright as its EXIF orientation says; transparency is left out.

    Raises:
        ValueError: it is not an image, broken, too large, or of numbers without a usual range.
        OSError: the system cannot read it.
    """
    try:
        with open_image(encoded) as image:
            if image.mode == "F" or (image.mode == "I" and image.format != "PNG"):
                raise ValueError(f"32 bits a pixel, mode {image.mode}, have no usual range: store 8 or 16")
            turn_upright(image)
            return to_rgb(image)
    except FileNotFoundError as error:
        raise ValueError(f"{encoded.name} does not exist") from error
    except UnidentifiedImageError as error:
        what = "is empty" if size_of(encoded) == 0 else f"is not an image of the formats {', '.join(FORMATS)}"
        raise ValueError(f"{encoded.name} {what}") from error
    except Image.DecompressionBombError as error:
        sizes = str(error).partition(",")[0]
        raise ValueError(f"{encoded.name} is too large: {sizes}; make it smaller or take it away") from error
    except (OSError, SyntaxError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's and not the image's
        # Pillow reports a broken PNG as a SyntaxError and a short file as an OSError
        raise ValueError(f"{encoded.name} is a broken image ({error})") from error


def format_of(encoded: Encoded) -> str | None:
    """What it is stored as, such as JPEG; None if it isn't an image."""
    try:
        with open_image(encoded) as image:
            return image.format
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None


def open_image(encoded: Encoded) -> Image.Image:
    """The image before its pixels are decoded, if it is of a format that is read."""
    source = Path(encoded.name) if encoded.content is None else io.BytesIO(encoded.content)
    return Image.open(source, formats=openable())


def turn_upright(image: Image.Image) -> None:
    """Turns or mirrors an image in place as its EXIF or XMP orientation says; one that cannot be read says nothing."""
    image.load()  # a fault of the pixels is not one of the orientation
    try:
        ImageOps.exif_transpose(image, in_place=True)
    except MemoryError:
        raise
    except Exception:  # a damaged description raises nearly everything
        return


def to_rgb(image: Image.Image) -> Image.Image:
    """Any mode as RGB. Of 16 bits the first 8 count, where Pillow's conversion would make most of them white."""
    if image.mode.startswith("I"):
        values = np.asarray(image).astype(np.int64)
        return Image.fromarray((values >> 8).clip(0, 255).astype(np.uint8)).convert("RGB")
    if image.mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")  # Pillow warns of colours that it cannot tell apart otherwise
    return image.convert("RGB")


def size_of(encoded: Encoded) -> int:
    """Bytes of an image as it is stored."""
    return Path(encoded.name).stat().st_size if encoded.content is None else len(encoded.content)
