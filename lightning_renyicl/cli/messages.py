"""What the user reads: parser errors in one line, and no warnings that cannot be acted on."""

from __future__ import annotations

import logging
import re
import warnings

_LONGEST_VALUE = 80
_NOISE = (
    r"Does not validate against any of the Union subtypes\s+Subtypes: .*?\s+Errors:(?=\s+- )",
    r"\s+- Not a valid subclass of \w+\s+Subclass types expect one of:.*?\(implicit class_path\)",
    r"- Expected a path but .*? either not accessible or invalid",
    r"\s+Given value type: <.*?>(?=\s+Given value: )",
)


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
    for noise in _NOISE:
        message = re.sub(noise, "", message, flags=re.DOTALL)
    account, *given = re.split(r"\s+Given value: ", message, maxsplit=1)
    key, *reasons = (_in_words(" ".join(part.split())) for part in re.split(r"(?:^|\n)\s*- ", account))
    line = " ".join(filter(None, [key, " - ".join(_telling(reasons))]))
    value = " ".join("".join(given).split())
    return f"{line}; given: {value}" if value and len(value) <= _LONGEST_VALUE else line


def _in_words(text: str) -> str:
    text = re.sub(r'Parser key "([^"]+)":', r"\1:", text)
    text = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", text)
    text = re.sub(r"Expected a dot import path string: (\S+?)(?=;| |$)", r"no class that fits here is named \1", text)
    text = re.sub(r"Import path does not correspond to a subclass of (\w+)", r"that class is no \1", text)
    text = re.sub(r"Problem with given class_path '.*': ", "", text)
    return re.sub(r"(arguments are required: (?=.*\.model).*)$", r"\1 (a --config gives them)", text)


def _telling(reasons: list[str]) -> list[str]:
    """Each reason once; which types would do only where nothing else is said: most places may hold a list or none."""
    found = list(filter(None, dict.fromkeys(reasons)))
    others = [reason for reason in found if not re.fullmatch(r"Expected a \w+", reason)]
    return others or [reason for reason in found if reason != "Expected a NoneType"]


def quiet_known_warnings() -> None:
    """Silences Lightning's advice that doesn't fit data held in memory and run folders that are continued."""
    warnings.formatwarning = lambda message, *_: f"warning: {re.sub(' HINT: Did you call .*', '', str(message))}\n"
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
        # a frozen backbone, as LinearEvaluation has it
        ".*module.s. in eval mode at the start of training.*",
        # the data module keeps the place within the epoch
        ".*ended before the epoch ended and your dataloader is not resumable.*",
    ):
        warnings.filterwarnings("ignore", message)
