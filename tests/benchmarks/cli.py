"""How long a user waits for help."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from tests.benchmarks.timing import compare


def run() -> dict[str, dict[str, Any]]:
    """``lightning fit --help`` against importing LightningCLI."""

    def command(*arguments: str) -> None:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)

    command("-c", "import lightning.pytorch.cli, datamodules")  # files into the cache
    return {
        "cli/help_vs_lightning": compare(
            lambda: command("-m", "lightning_renyicl", "fit", "--help"),
            lambda: command("-c", "import lightning.pytorch.cli"),
            n=5,
        )
    }
