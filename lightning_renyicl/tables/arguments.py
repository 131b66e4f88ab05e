"""What the commands on tables share in how they read their arguments."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, with make's names for the arguments."""

    def error(self, message: str) -> NoReturn:
        line = re.sub(r"argument --(\w+)", lambda match: match[1].upper(), message)
        self.exit(2, f"error: {line}\n")


def positive(text: str) -> int:
    """A whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return number
