"""Files of configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def read_configuration(file: str | Path) -> dict[str, Any]:
    """A configuration as it stands in its file.

    Raises:
        ValueError: a file that is no YAML dictionary, which it names.
        OSError: a file that cannot be read.
    """
    try:
        config = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is not YAML: {error}") from error
    if not isinstance(config, dict):
        what = "empty" if config is None else "not a configuration"
        raise ValueError(f"{file} is {what}: expected keys such as trainer, model and data")
    return config
