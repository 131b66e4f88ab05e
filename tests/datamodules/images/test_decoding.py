"""Any mode becomes RGB; what is no image is named."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from datamodules.images.cache import decodable
from datamodules.images.decoding import Encoded, decode

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
        ("text.png", b"no image at all", "is not an image that Pillow can read"),
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
    with pytest.raises(ValueError, match=r"is a broken image .*decompression bomb"):
        decode(stored(Image.fromarray(COLOURS)))


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_thirty_two_bits(kind):
    image = Image.fromarray(np.full((4, 4), 1, dtype=kind))
    with pytest.raises(ValueError, match=r"somewhere is a broken image .*32 bits a pixel, mode [FI]"):
        decode(stored(image, "TIFF"))


def test_a_failing_system_is_no_broken_image(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(Image, "open", fail)
    for call in (lambda one: decode(one), lambda one: decodable([one])):
        with pytest.raises(OSError, match="Too many open files"):
            call(Encoded(str(tmp_path / "a.png")))
