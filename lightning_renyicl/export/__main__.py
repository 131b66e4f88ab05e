"""``python -m lightning_renyicl.export CKPT --to FORMAT OUT``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from lightning_renyicl.atomic import replacing
from lightning_renyicl.export.card import card
from lightning_renyicl.export.formats import FORMATS
from lightning_renyicl.export.source import read


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    found = argparse.ArgumentParser(
        "python -m lightning_renyicl.export",
        description="Writes a checkpoint's encoder for programs that know nothing of this one, and a card OUT.json.",
        allow_abbrev=False,
    )
    found.add_argument("checkpoint", type=Path, metavar="CKPT", help="a checkpoint of the command")
    found.add_argument(
        "--to",
        choices=FORMATS,
        required=True,
        help="weights as timm or torchvision loads them, or under this project's names; or a graph for any number of "
        "samples, which takes pixels in [0, 1], or rows as they are in the file",
    )
    found.add_argument("out", type=Path, metavar="OUT", help=", ".join(f"{to}: {FORMATS[to][0]}" for to in FORMATS))
    found.add_argument("--size", type=int, help="pixels along a side of a graph's images; default: as in evaluation")
    found.add_argument("--force", action="store_true", help="replace files that exist")
    found.add_argument(
        "--trust_checkpoint", action="store_true", help="take any class that the checkpoint names, and so run it"
    )
    return found


def export(checkpoint: Path, form: str, out: Path, size: int | None, force: bool, trust_checkpoint: bool) -> str:
    """Writes a file and its card, both or none, and says what they are.

    Args:
        checkpoint: a checkpoint of the command.
        form: a key of ``FORMATS``.
        out: the file.
        size: pixels along a side of a graph's images; None: as in evaluation.
        force: whether files that exist are replaced.
        trust_checkpoint: whether to take classes that are not of this project.

    Raises:
        ValueError: a checkpoint or an encoder that cannot be exported so, or another suffix.
        OSError: a file that is there already, or that cannot be read or written.
    """
    suffix, make = FORMATS[form]
    beside = Path(f"{out}.json")
    if out.suffix != suffix:
        raise ValueError(f"a file for {form} ends in {suffix}, and {out} doesn't")
    if size is not None and size < 1:
        raise ValueError(f"--size must be at least 1, got {size}")
    if not force:
        for path in (out, beside):
            if path.exists():
                raise FileExistsError(f"{path} is there already: another name, or --force")
    source = read(checkpoint, trust_checkpoint)
    exported = make(source, size)
    text = json.dumps(card(source, exported, form, out), indent=2, default=str, ensure_ascii=False) + "\n"
    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(beside) as partial_card, replacing(out) as partial:
        partial_card.write_text(text, encoding="utf-8")
        exported.write(partial)
    return f"saved {out} and {beside}" + (f"; {exported.differs}" if exported.differs else "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Reads the command line and exports; the exit code is 2 after a mistake."""
    given = parser().parse_args(arguments)
    warnings.simplefilter("ignore")  # of torch and PyG about their own parts
    try:
        print(export(given.checkpoint, given.to, given.out, given.size, given.force, given.trust_checkpoint))
    except (OSError, ValueError) as error:
        if os.environ.get("RENYICL_DEBUG") == "1":
            raise
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
