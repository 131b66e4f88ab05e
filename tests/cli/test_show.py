"""The picture of a configuration's views."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lightning_renyicl.cli.show import data_of, draw, main, pictures

CONFIGS = Path(__file__).parents[2] / "configs"


def test_picture_of_digits(tmp_path, capsys):
    main(["--config", str(CONFIGS / "digits_image_hard.yaml"), "--out", str(tmp_path / "a" / "b.png"), "--images", "2"])
    assert "saved" in capsys.readouterr().out
    with Image.open(tmp_path / "a" / "b.png") as picture:
        pixels = np.asarray(picture.convert("L"))
    assert pixels.shape[1] > pixels.shape[0]
    assert pixels.std() > 10  # not empty


def test_normalisation_is_undone():
    data = data_of([str(CONFIGS / "digits_image_base.yaml")], [])
    data.setup()
    index = data.samples.splits["train"][:4]
    shown = np.stack(pictures(data.views_at(index)[0], data.views[0]))
    assert shown.min() >= 0
    assert shown.max() <= 1
    assert shown.std() > 0.1


def test_draws_differ_and_repeat():
    data = data_of([str(CONFIGS / "digits_image_hard.yaml")], [])
    data.setup()
    index = data.samples.splits["train"][:4]
    first, second, other = data.views_at(index), data.views_at(index), data.views_at(index, epoch=1)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first[0], other[0])
    assert not np.array_equal(first[0], first[1])


def test_a_folder_of_images(tmp_path):
    for i in range(20):
        (tmp_path / "own").mkdir(exist_ok=True)
        Image.fromarray(np.full((20 + i, 30, 3), 10 * i, dtype=np.uint8)).save(tmp_path / "own" / f"{i}.png")
    config = tmp_path / "own.yaml"
    config.write_text(
        "trainer: {max_epochs: 1}\n"
        "data:\n  class_path: ImageFolder\n  init_args:\n    root: nowhere\n    num_workers: 0\n"
        "    eval_augmentation: {class_path: CenterCrop, init_args: {size: 16, resize: 16}}\n"
        "    views:\n"
        "      - &view {class_path: RandomResizedCrop, init_args: {size: 16}}\n"
        "      - *view\n"
        "      - {class_path: RandomResizedCrop, init_args: {size: 8}}\n"
    )
    draw(data_of([str(config)], [f"--data.root={tmp_path / 'own'}"]), tmp_path / "own.png", 3, 2)
    assert (tmp_path / "own.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("digits_table_base.yaml", "DigitsTable has no images to show"),
        ("nothing.yaml", "No such file"),
        ("../README.md", "README.md is not YAML"),
        ("../Makefile", "Makefile is not"),
    ],
)
def test_complaints(config, message):
    with pytest.raises(SystemExit, match=message):
        main(["--config", str(CONFIGS / config)])
