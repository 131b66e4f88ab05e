"""Weights of an encoder in files of other programs: all of them, or refused."""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lightning_renyicl.checkpoints import culprit, damage

HOLDERS = ("state_dict", "model", "student")
"""Under which a checkpoint keeps its weights, in the order in which they are looked for."""
ENCODERS = ("source_encoder.", "base_encoder.", "encoder_q.", "online_encoder.", "backbone.", "encoder.", "")
"""What names of the trained encoder begin with, where another one may lie beside it: those of RényiCL, MoCo v3, MoCo,
BYOL, DINO and VICReg, SimCLR and SimSiam, and plain ones."""
HEADS = ("fc", "head", "heads", "classifier", "projector", "projection_head", "predictor", "prototypes", "queue")
"""What lies beside an encoder or behind it, and stays behind."""


def read_weights(path: Path) -> dict[str, Tensor]:
    """All tensors of a file, of safetensors or of ``torch.save``, without the prefix of DDP.

    Raises:
        ValueError: a file that is damaged, holds code, or has no weights where they are looked for.
        OSError: a file that cannot be read.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: {'is a folder' if path.is_dir() else 'no such file'}")
    content = _read_safetensors(path) if path.suffix == ".safetensors" else _read_pickle(path)
    found: Any = content
    for holder in HOLDERS:
        if isinstance(content, Mapping) and isinstance(content.get(holder), Mapping):
            found = content[holder]
            break
    weights = found if isinstance(found, Mapping) else {}
    weights = {name: value for name, value in weights.items() if isinstance(name, str) and isinstance(value, Tensor)}
    if not weights:
        raise ValueError(f"{path} has no tensors by name, neither in itself nor under one of {', '.join(HOLDERS)}")
    return {name.removeprefix("module."): value for name, value in weights.items()}


def _read_safetensors(path: Path) -> Any:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is no file of safetensors, or is damaged: {error}") from error


def _read_pickle(path: Path) -> Any:
    if zipfile.is_zipfile(path) and (reason := damage(path)):  # torch before 1.6 wrote no archives
        raise ValueError(f"{path} is damaged: {reason}")
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):  # DINO's options, which hold values alone
            return torch.load(path, weights_only=True, map_location="cpu")
    except Exception as error:
        raise ValueError(f"{path} does not load safely: {culprit(error)}") from error


def load_encoder(backbone: nn.Module, weights: Mapping[str, Tensor], place: object) -> str:
    """Gives an encoder its weights out of a file's, and returns what their names began with.

    They may have the names of the encoder itself, or of the torchvision's or timm's network in it.

    Args:
        backbone: the encoder.
        weights: tensors by name.
        place: the file, for messages.

    Raises:
        ValueError: names or shapes that are missing or other ones, or more of them than heads account for.
    """
    networks = [backbone, *(each for name, each in backbone.named_children() if name == "network")]
    attempts = [(prefix, network, _faults(weights, prefix, network)) for prefix in ENCODERS for network in networks]
    for prefix, network, faults in attempts:
        if not faults:
            own = network.state_dict()
            network.load_state_dict({name: weights[prefix + name] for name in own})
            return prefix
    prefix, network, faults = min(attempts, key=lambda attempt: len(attempt[2]))
    if all(f"{prefix}{name}" not in weights for name in network.state_dict()):
        faults = [f"none of its weights is there, but {', '.join(list(weights)[:3])}"]
    shown = "; ".join(faults[:3]) + (f" … ({len(faults)} in all)" if len(faults) > 3 else "")
    raise ValueError(f"{place} is of no {type(backbone).__name__} with these arguments: {shown}")


def _faults(weights: Mapping[str, Tensor], prefix: str, network: nn.Module) -> list[str]:
    """What keeps weights whose names begin so from being those of a network."""
    own = network.state_dict()
    there = {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}
    missing = [f"{prefix}{name} is missing" for name in own if name not in there]
    other = [
        f"{prefix}{name} is {list(there[name].shape)}, not {list(tensor.shape)}"
        for name, tensor in own.items()
        if name in there and there[name].shape != tensor.shape
    ]
    unknown = [
        f"{prefix}{name} has no place" for name in there if name not in own and name.partition(".")[0] not in HEADS
    ]
    return [*missing, *other, *unknown]
