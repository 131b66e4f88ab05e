"""What the user reads: parser errors in one line, and no warnings that cannot be acted on."""

from __future__ import annotations

import logging
import re
import warnings

_LONGEST_VALUE = 80


def readable(message: str) -> str:
    r"""Shortens jsonargparse's account of a value that fits none of several types.

    >>> readable('''Parser key "trainer.max_epochs":
    ...   Does not validate against any of the Union subtypes
    ...   Subtypes: [<class 'int'>, <class 'NoneType'>]
    ...   Errors:
    ...     - Expected a <class 'int'>
    ...     - Expected a <class 'NoneType'>
    ...   Given value type: <class 'str'>
    ...   Given value: x''')
    'trainer.max_epochs: Expected a int; given: x'
    """
    line = re.sub(r"\s+", " ", message).strip()
    line = re.sub(r'Parser key "([^"]+)":', r"\1:", line)
    line = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", line)
    line = re.sub(r"Does not validate against any of the Union subtypes Subtypes: .*? Errors: - ", "", line)
    line = re.sub(r" - Expected a NoneType(?= |$)", "", line)
    line = re.sub(r" Given value type: \S+", "", line)
    line = re.sub(r"- Expected a path but .*? either not accessible or invalid ?", "", line)
    line = re.sub(
        r"(?:- )?Expected a dot import path string: (\S+?)(?=;| |$)", r"no class that fits here is named \1", line
    )
    line = re.sub(r": - ", ": ", line)
    line = re.sub(r"(arguments are required: (?=.*\.model).*)$", r"\1 (a --config gives them)", line)
    value = re.search(r" Given value: (.*)$", line)
    if value:
        given = f"; given: {value[1]}" if len(value[1]) <= _LONGEST_VALUE else ""
        line = line[: value.start()] + given
    return line


def quiet_known_warnings() -> None:
    """Silences Lightning's advice that doesn't fit data held in memory and run folders that are continued."""
    warnings.formatwarning = lambda message, *_: f"warning: {message}\n"
    advertising = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    advertising.addFilter(lambda record: "💡" not in record.getMessage())
    for message in (
        ".*does not have many workers.*",
        ".*exists and is not empty.*",
        ".*smaller than the logging.*",
        ".*LeafSpec.*",
        ".*torch.jit.script.*",
        ".*batch indices fetched.*",
        ".*when using .ckpt_path., callbacks used to create the checkpoint.*",
        # whose layers are there from the start
        ".*WeightAveraging callback with a model that overrides the configure_model.*",
        # the probe logs values that it has reduced itself
        ".*sync_dist=True.*",
        # the first steps of mixed precision, which the gradient scaler skips
        ".*lr_scheduler.step.. before .optimizer.step.*",
        # val_fraction: 0, as the papers' numbers need
        ".*Total length of .* across ranks is zero.*",
        # the parser writes what it is
        "(?s).*Unable to serialize instance.*",
        # the data module keeps the place within the epoch
        ".*ended before the epoch ended and your dataloader is not resumable.*",
    ):
        warnings.filterwarnings("ignore", message)
