"""The command ``lightning``: fit, validate, test and predict from YAML and flags."""

from lightning_renyicl.cli.command import RenyiCLI
from lightning_renyicl.cli.entry import main, run

__all__ = ["RenyiCLI", "main", "run"]
