"""How the command line and its files are read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

import yaml
from jsonargparse import get_loader, set_loader
from lightning.pytorch.cli import LightningArgumentParser

from lightning_renyicl.cli.messages import readable
from lightning_renyicl.configuration import read_configuration, with_current_names

_read_yaml = get_loader("yaml")


class Parser(LightningArgumentParser):
    """A parser that takes no abbreviated flags and whose errors are one readable line and exit code 2."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        sys.stderr.write(f"error: {readable(message)}\n")
        sys.exit(2)


def read_current_names() -> None:
    """Lets jsonargparse read configurations that were written when classes were elsewhere."""
    set_loader("yaml", lambda text: with_current_names(_read_yaml(text)), exceptions=(yaml.YAMLError,))


def check_configurations(files: Iterable[str]) -> None:
    """Names the file that is no YAML dictionary, which the parser's own message doesn't.

    Raises:
        ValueError: such a file.
    """
    for file in filter(os.path.isfile, files):
        read_configuration(file)
