"""The formats: each writes an encoder to a file and says how it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from lightning_renyicl.export.own import code_of
from lightning_renyicl.export.preparation import Prepared, example, of_images, of_rows
from lightning_renyicl.export.published import Library, published
from lightning_renyicl.export.source import Source

FEATURES = "features"
"""What a graph calls its output."""
LARGEST_ONNX = 2**31
"""Bytes that a file of ONNX holds."""


@dataclass(frozen=True)
class Exported:
    """An encoder in a format, not yet written.

    Attributes:
        write: writes it to a path.
        load: lines of Python that read ``FILE`` and make ``model``, or ``features`` of a batch ``x``.
        differs: which published model it is nearly; None: it is that one, or no published one.
        shape: the input's shape, text where any number will do; None: as the encoder takes it.
        dtype: the input's type.
        normalises: whether the file does what evaluation does to samples before the encoder.
    """

    write: Callable[[Path], None]
    load: list[str]
    differs: str | None = None
    shape: list[int | str] | None = None
    dtype: str = "float32"
    normalises: bool = False


def to_timm(source: Source, size: int | None) -> Exported:
    """Tensors under timm's names."""
    return _as_published(
        source, "timm", _save_tensors, "load_file('FILE')", ["from safetensors.torch import load_file"]
    )


def to_torchvision(source: Source, size: int | None) -> Exported:
    """Tensors under torchvision's names, as ``torch.save`` writes them."""
    return _as_published(source, "torchvision", torch.save, "torch.load('FILE', weights_only=True)", [])


def to_safetensors(source: Source, size: int | None) -> Exported:
    """Tensors under this project's names."""
    weights, code = source.backbone.state_dict(), code_of(source)
    read = "model.load_state_dict(load_file('FILE'))" if code else "weights = load_file('FILE')"
    return Exported(lambda path: _save_tensors(weights, path), ["from safetensors.torch import load_file", *code, read])


def to_torch_export(source: Source, size: int | None) -> Exported:
    """An ``ExportedProgram`` for any number of samples."""
    program, x = _program(source, size)
    return _graph(
        source,
        x,
        lambda path: torch.export.save(program, path),
        ["import torch", f"{FEATURES} = torch.export.load('FILE').module()(x)"],
    )


def to_onnx(source: Source, size: int | None) -> Exported:
    """A graph of ONNX for any number of samples."""
    try:
        import onnxscript  # noqa: F401  # torch's exporter writes by it
    except ModuleNotFoundError as error:
        raise ValueError("--to onnx needs onnx and onnxscript: pip install 'lightning-renyicl[export]'") from error
    held = sum(tensor.nbytes for tensor in source.backbone.state_dict().values())
    if held >= LARGEST_ONNX:
        raise ValueError(f"a file of ONNX holds 2 GiB, and the weights are {held / 2**30:.1f}: --to torch_export")
    program, x = _program(source, size)
    name = str(source.samples)

    def write(path: Path) -> None:
        torch.onnx.export(
            program, f=path, input_names=[name], output_names=[FEATURES], external_data=False, verbose=False
        )

    load = [
        "import onnxruntime",
        f"({FEATURES},) = onnxruntime.InferenceSession('FILE').run(None, {{{name!r}: x}})  # x of NumPy",
    ]
    return _graph(source, x, write, load)


def _as_published(
    source: Source, library: Library, save: Callable[[Any, Path], None], read: str, imports: list[str]
) -> Exported:
    found = published(source.backbone, library)
    weights = {name: tensor.contiguous() for name, tensor in found.weights.items()}
    load = [*imports, *found.code, f"model.load_state_dict({read})"]
    return Exported(lambda path: save(weights, path), load, found.differs)


def _save_tensors(weights: dict[str, Tensor], path: Path) -> None:
    from safetensors.torch import save_file

    save_file({name: tensor.contiguous() for name, tensor in weights.items()}, path, {"format": "pt"})


def _graph(source: Source, x: Tensor, write: Callable[[Path], None], load: list[str]) -> Exported:
    return Exported(write, load, None, ["batch", *x.shape[1:]], str(x.dtype).rpartition(".")[2], normalises=True)


def _program(source: Source, size: int | None) -> tuple[ExportedProgram, Tensor]:
    """The encoder behind its preparation, traced with two samples, and these."""
    if source.samples not in ("images", "rows"):
        what = f"{source.samples} are no one tensor" if source.samples else "nobody says what the encoder takes"
        raise ValueError(f"{what}, which a graph for export needs: --to safetensors")
    rows = of_rows(source) if source.samples == "rows" else None
    preparation = of_images(source) if source.samples == "images" else rows or nn.Identity()
    x = example(source, rows, size)
    module = Prepared(preparation, source.backbone).eval()
    try:
        with torch.no_grad():
            return torch.export.export(module, (x,), dynamic_shapes=({0: Dim("batch")},)), x
    except Exception as error:  # of torch's many kinds, for what it cannot trace
        name = type(source.backbone).__name__
        line = " ".join(str(error).split())[:200]
        raise ValueError(f"{name} cannot be traced for any number of samples: {line}") from error


FORMATS: dict[str, tuple[str, Callable[[Source, int | None], Exported]]] = {
    "timm": (".safetensors", to_timm),
    "torchvision": (".pth", to_torchvision),
    "safetensors": (".safetensors", to_safetensors),
    "onnx": (".onnx", to_onnx),
    "torch_export": (".pt2", to_torch_export),
}
"""The suffix of each format's files, and what makes them."""
