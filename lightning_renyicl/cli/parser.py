"""How the command line and its files are read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from enum import Enum
from typing import Any, NoReturn

import yaml
from jsonargparse import Namespace, get_loader, set_loader
from lightning.pytorch.cli import LightningArgumentParser

from lightning_renyicl.cli.hints import with_hint
from lightning_renyicl.cli.messages import readable
from lightning_renyicl.configuration import read_configuration, with_current_names

_read_yaml = get_loader("yaml")
_NO_TEXT = "Unable to serialize instance "
"""What jsonargparse writes before the text of what it takes for an instance."""


class Parser(LightningArgumentParser):
    """A parser that takes no abbreviated flags and whose errors are one readable line and exit code 2."""

    _whose = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def dump(self, cfg: Namespace, **kwargs: Any) -> str:
        """The configuration as YAML that reads as the same configuration.

        An enumeration's member is its value there, and text or a device that stands where a function or another class
        may stand, too, is that text: jsonargparse knows neither. What was parsed is not checked again, which would take
        longer than all else.
        """
        kwargs.setdefault("skip_validation", True)
        return str(super().dump(_without_enumerations(cfg.clone()), **kwargs)).replace(_NO_TEXT, "")

    def add_class_arguments(self, theclass: type, nested_key: str | None = None, *args: Any, **kwargs: Any) -> Any:
        if nested_key is None:  # a parser of that class's arguments alone, whose errors don't say whose they are
            self._whose = f"{theclass.__name__}: "
        return super().add_class_arguments(theclass, nested_key, *args, **kwargs)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        line = with_hint(f"{self._whose}{readable(message)}", self._option_string_actions)
        sys.stderr.write(f"error: {line}\n")
        sys.exit(2)


def _without_enumerations(value: Any) -> Any:
    """Changes a configuration in place."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list):
        return [_without_enumerations(item) for item in value]
    if isinstance(value, (Namespace, dict)):
        for key in list(vars(value) if isinstance(value, Namespace) else value):
            value[key] = _without_enumerations(value[key])
    return value


def read_current_names() -> None:
    """Lets jsonargparse read configurations that were written when classes were elsewhere."""
    set_loader("yaml", lambda text: with_current_names(_read_yaml(text)), exceptions=(yaml.YAMLError, RecursionError))


def check_configurations(files: Iterable[str]) -> None:
    """Names the file that is no YAML dictionary, which the parser's own message doesn't.

    Raises:
        ValueError: such a file.
    """
    for file in filter(os.path.isfile, files):
        read_configuration(file)
