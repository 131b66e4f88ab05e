"""``python -m lightning_renyicl.import_weights FILE --config CONFIG OUT``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

# bare class names in YAML resolve to what is imported
import datamodules  # noqa: F401
import lightning_renyicl.callbacks
import lightning_renyicl.evaluation
import lightning_renyicl.modules  # noqa: F401
from lightning_renyicl.callbacks import AtomicCheckpointIO
from lightning_renyicl.cli.messages import readable
from lightning_renyicl.import_weights.checkpoint import checkpoint_of, made_of
from lightning_renyicl.import_weights.foreign import read_weights


def parser() -> argparse.ArgumentParser:
    """The arguments; others are flags of the configuration."""
    found = argparse.ArgumentParser(
        "python -m lightning_renyicl.import_weights",
        description="Writes a checkpoint for lightning test, predict and fine-tuning whose encoder has the weights of "
        "another program's: RényiCL's authors', MoCo's, MoCo v3's, SimSiam's, DINO's, VICReg's, timm's, torchvision's. "
        "Only tensors, numbers and text are read.",
        epilog="Further flags change the configuration, as for lightning: --model.backbone.depth=18",
        allow_abbrev=False,
    )
    found.add_argument("file", type=Path, metavar="FILE", help="what torch.save wrote, or .safetensors")
    found.add_argument("out", type=Path, metavar="OUT", help="the checkpoint, .ckpt")
    found.add_argument(
        "--config",
        type=Path,
        action="append",
        required=True,
        help="the configuration of the encoder and of the data; several are laid over another",
    )
    found.add_argument("--force", action="store_true", help="replace a file that exists")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Reads the command line and imports; the exit code is 2 after a mistake."""
    given, flags = parser().parse_known_args(arguments)
    warnings.simplefilter("ignore")  # of torch and PyG about their own parts
    try:
        if given.out.exists() and not given.force:
            raise FileExistsError(f"{given.out} is there already: another name, or --force")
        weights = read_weights(given.file)
        module, data, resolved = made_of(given.config, flags)
        checkpoint, prefix = checkpoint_of(module, data, resolved, weights, given.file)
        AtomicCheckpointIO().save_checkpoint(checkpoint, given.out)
    except (OSError, ValueError) as error:
        if os.environ.get("RENYICL_DEBUG") == "1":
            raise
        print(f"error: {readable(str(error))}", file=sys.stderr)
        return 2
    called = f"names that begin with {prefix}" if prefix else "plain names"
    print(f"saved {given.out}: the encoder's weights by {called}; heads are untrained")
    return 0


if __name__ == "__main__":
    sys.exit(main())
