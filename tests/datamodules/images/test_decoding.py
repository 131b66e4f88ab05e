"""Any mode becomes RGB; what is no image is named."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import ExifTags, Image

from datamodules.images.cache import decodable
from datamodules.images.decoding import Encoded, decode, format_of
from datamodules.images.formats import FORMATS, endings, openable

COLOURS = np.random.default_rng(0).integers(0, 256, (6, 9, 3), dtype=np.uint8)


def stored(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return Encoded("somewhere", buffer.getvalue())


def test_colours_stay():
    found = decode(stored(Image.fromarray(COLOURS)))
    assert found.mode == "RGB"
    assert np.array_equal(np.asarray(found), COLOURS)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "YCbCr"])
def test_modes_are_those_of_pillow(mode):
    image = Image.fromarray(COLOURS).convert(mode)
    kind = {"CMYK": "TIFF", "YCbCr": "TIFF"}.get(mode, "PNG")
    found = decode(stored(image, kind))
    assert found.mode == "RGB"
    assert np.array_equal(np.asarray(found), np.asarray(image.convert("RGB")))


def test_palette_with_a_transparent_colour(recwarn):
    image = Image.fromarray(COLOURS).convert("P")
    found = decode(stored(image, transparency=bytes(range(256))))
    assert np.array_equal(np.asarray(found), np.asarray(image.convert("RGB")))
    assert not recwarn


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits(kind):
    values = np.array([[0, 255, 256, 32768, 65535]], dtype=np.uint16)
    found = np.asarray(decode(stored(Image.fromarray(values), kind)))
    assert found.tolist() == [[[v] * 3 for v in (0, 0, 1, 128, 255)]]


def test_a_file(tmp_path):
    Image.fromarray(COLOURS).save(tmp_path / "a.png")
    assert np.array_equal(np.asarray(decode(Encoded(str(tmp_path / "a.png")))), COLOURS)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("empty.jpg", b"", "is empty"),
        ("text.png", b"no image at all", "is not an image of the formats JPEG, "),
        ("eps.png", stored(Image.fromarray(COLOURS), "EPS").content, "is not an image of the formats JPEG, "),
        ("short.png", stored(Image.fromarray(COLOURS)).content[:60], "is a broken image"),
        ("short.jpg", stored(Image.fromarray(COLOURS), "JPEG").content[:-40], "is a broken image"),
    ],
)
def test_complaints(tmp_path, name, content, complaint):
    path = tmp_path / name
    path.write_bytes(content)
    for encoded in (Encoded(str(path)), Encoded(str(path), content)):
        with pytest.raises(ValueError, match=f"{name} {complaint}"):
            decode(encoded)


def test_a_file_that_is_gone(tmp_path):
    with pytest.raises(ValueError, match=r"gone\.png does not exist"):
        decode(Encoded(str(tmp_path / "gone.png")))


def test_a_bomb(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    message = r"^somewhere is too large: Image size \(54 pixels\) exceeds limit of 20 pixels; make it smaller"
    with pytest.raises(ValueError, match=message):
        decode(stored(Image.fromarray(COLOURS)))


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_a_large_image_is_no_bomb(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 50)
    assert decode(stored(Image.fromarray(COLOURS))).size == (9, 6)


BLOCKS = COLOURS.repeat(8, 0).repeat(8, 1)  # JPEG's are of 8 x 8 pixels


def turned(kind, orientation, **options):
    """How a camera stores an image that is upright in the end: pixels in another order, and what to do to them."""
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    method = {6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270, 3: Image.Transpose.ROTATE_180}
    method |= {2: Image.Transpose.FLIP_LEFT_RIGHT, 5: Image.Transpose.TRANSPOSE}
    return stored(Image.fromarray(BLOCKS).transpose(method[orientation]), kind, exif=exif, **options)


@pytest.mark.parametrize("orientation", [2, 3, 5, 6, 8])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}),
        ("TIFF", {}),
        ("WEBP", {"lossless": True}),
        ("JPEG", {"quality": 95, "subsampling": 0}),
        ("AVIF", {"quality": 95, "subsampling": "4:4:4"}),
    ],
)
def test_photographs_are_upright(kind, options, orientation):
    found = np.asarray(decode(turned(kind, orientation, **options))).astype(int)
    assert found.shape == BLOCKS.shape
    assert np.abs(found - BLOCKS).mean() <= (3 if kind in ("JPEG", "AVIF") else 0)  # other orders are 85 away


def test_sixteen_bits_are_upright():
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    values = np.array([[0, 256], [512, 65535]], dtype=np.uint16)
    found = np.asarray(decode(stored(Image.fromarray(values), exif=exif)))
    assert found[..., 0].tolist() == [[2, 0], [255, 1]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cut", range(6, 40, 3))
def test_a_damaged_orientation_says_nothing(cut):
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    exif[ExifTags.Base.Artist] = "somebody"
    damaged = exif.tobytes()[:cut] + b"\xff" * 20
    found = np.asarray(decode(stored(Image.fromarray(COLOURS), "PNG", exif=damaged)))
    assert found.shape in (COLOURS.shape, COLOURS.transpose(1, 0, 2).shape)


@pytest.mark.parametrize("kind", ["GIF", "AVIF", "WEBP", "BMP", "JPEG2000", "TGA", "PPM", "ICO", "DDS", "PCX", "SGI"])
def test_formats(kind):
    sizes = {"sizes": [(16, 16)]} if kind == "ICO" else {}
    image = stored(Image.new("RGB", (16, 16), (200, 30, 60)), kind, **sizes)
    assert format_of(image) == kind
    assert np.abs(np.asarray(decode(image)).astype(int) - (200, 30, 60)).max() <= 3


def test_every_format_that_needs_no_other_program_is_read():
    """Those that are left out are of other programs, of sciences, of movies, or of single numbers a pixel."""
    Image.init()
    others = set(Image.OPEN) - set(FORMATS)
    assert {"EPS", "WMF"} <= others
    assert set(openable()) | {"MPO"} == set(FORMATS)
    assert {".jpg", ".jpeg", ".gif", ".avif", ".png", ".tif", ".webp", ".bmp", ".mpo"} <= endings()
    assert not {".eps", ".ps", ".wmf", ".emf", ".pdf", ".mpg"} & endings()


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_thirty_two_bits(kind):
    image = Image.fromarray(np.full((4, 4), 1, dtype=kind))
    with pytest.raises(ValueError, match=r"somewhere is a broken image .*32 bits a pixel, mode [FI]"):
        decode(stored(image, "TIFF"))


def test_a_failing_system_is_no_broken_image(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(Image, "open", fail)
    for call in (lambda one: decode(one), lambda one: decodable([one])):
        with pytest.raises(OSError, match="Too many open files"):
            call(Encoded(str(tmp_path / "a.png")))
