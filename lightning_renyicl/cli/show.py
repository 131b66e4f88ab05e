"""``make show-augmentations CONFIG=…``: a picture of what the views of a configuration look like."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor

from datamodules.augmentations.base import Augmentation
from datamodules.images.augmentations.crops import Normalize
from datamodules.images.base import ImageDataModule
from datamodules.images.stream import image_at
from lightning_renyicl.configuration import read_configuration


def data_of(files: Sequence[str], flags: Sequence[str]) -> ImageDataModule:
    """The data module of configurations, of which only their sections ``data`` and ``seed_everything`` are read.

    Args:
        files: each on top of the one before.
        flags: such as ``--data.root=FOLDER``.

    Raises:
        ValueError: a configuration whose data are no images.
    """
    from jsonargparse import ArgumentParser
    from lightning.pytorch import LightningDataModule, seed_everything

    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument("--config", action="config")
    parser.add_argument("--seed_everything", type=int, default=0)
    parser.add_subclass_arguments(LightningDataModule, "data")
    args: list[str] = []
    for file in files:
        content = read_configuration(file)
        wanted = {key: content[key] for key in ("seed_everything", "data") if key in content}
        args += ["--config", yaml.safe_dump(wanted)]
    config = parser.parse_args([*args, *flags])
    seed_everything(config.seed_everything, verbose=False)
    data = parser.instantiate(config).data
    if not isinstance(data, ImageDataModule):
        raise ValueError(f"{' '.join(files)}: {type(data).__name__} has no images to show")
    return data


def pictures(images: Tensor, view: Augmentation | None) -> list[Any]:
    """Images ``[N, 3, H, W]`` as arrays ``[H, W, 3]`` in [0, 1], a view's normalisation undone."""
    for part in [] if view is None else view.modules():
        if isinstance(part, Normalize):
            images = images * part.std + part.mean
    return list(images.clamp(0, 1).permute(0, 2, 3, 1).numpy())


def draw(data: ImageDataModule, path: Path, images: int, draws: int) -> None:
    """Saves a grid: a row for each of the first training images, first as it is and then a few draws of every view."""
    from matplotlib.figure import Figure

    data.setup("fit")
    index = data.samples.splits["train"][:images]
    columns = [("original", [image_at(data.samples.inputs, number) for number in index.tolist()])]
    drawn = [data.views_at(index, epoch) for epoch in range(draws)]
    for number, view in enumerate(data.views):
        columns += [(f"view {number + 1}", pictures(views[number], view)) for views in drawn]
    figure = Figure(figsize=(1.2 * len(columns), 1.2 * len(index) + 0.4), layout="tight")
    axes = figure.subplots(len(index), len(columns), squeeze=False)
    for column, (title, shown) in zip(axes.T, columns, strict=True):
        column[0].set_title(title, fontsize=8)
        for cell, picture in zip(column, shown, strict=True):
            cell.imshow(picture)
            cell.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main(arguments: Sequence[str] | None = None) -> None:
    """Reads the command line and draws."""
    parser = argparse.ArgumentParser("show-augmentations", description=__doc__)
    parser.add_argument(
        "--config", action="append", required=True, help="a configuration; several are laid over another"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/augmentations.png"), help="the picture")
    parser.add_argument("--images", type=int, default=6, help="rows of the grid")
    parser.add_argument("--draws", type=int, default=3, help="pictures of every view")
    options, flags = parser.parse_known_args(arguments)
    try:
        draw(data_of(options.config, flags), options.out, options.images, options.draws)
    except (OSError, ValueError, argparse.ArgumentError) as error:
        sys.exit(f"error: {error}")
    print(f"saved {options.out}")


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
