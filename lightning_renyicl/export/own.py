"""The code that builds an encoder of this project again, without its checkpoint."""

from __future__ import annotations

from typing import Any

from lightning_renyicl.export.source import Source
from lightning_renyicl.modules.tabular import EmbeddedColumns


def section_of(source: Source) -> dict[str, Any]:
    """The encoder's class and arguments, as a configuration has them."""
    backbone = source.backbone
    network = backbone.encoder if isinstance(backbone, EmbeddedColumns) else backbone
    given = source.model.get("backbone")
    arguments = (given.get("init_args") or {}) if isinstance(given, dict) else {}
    return {"class": f"{type(network).__module__}.{type(network).__name__}", "arguments": arguments}


def code_of(source: Source) -> list[str]:
    """Lines of Python that build the encoder as ``model``; none where the checkpoint doesn't say its arguments."""
    backbone, section = source.backbone, section_of(source)
    if not isinstance(source.model.get("backbone"), dict):
        return []
    module, _, name = section["class"].rpartition(".")
    given = {key: value for key, value in section["arguments"].items() if key != "pretrained"}
    arguments = [f"{key}={value!r}" for key, value in given.items()]
    imports = [f"from {module} import {name}"]
    if isinstance(backbone, EmbeddedColumns):
        features, cardinalities = source.model["in_features"], list(source.model["cardinalities"])
        width = source.model.get("embedding_width", 16)
        return [
            *imports,
            "from lightning_renyicl.encoders import ColumnEmbedding",
            f"from {EmbeddedColumns.__module__} import {EmbeddedColumns.__name__}",
            f"embedding = ColumnEmbedding({features}, {cardinalities}, {width})",
            f"model = EmbeddedColumns(embedding, {name}({', '.join(['embedding.out_features', *arguments])}))",
        ]
    first = [str(source.model["in_features"])] if "in_features" in source.model else []
    return [*imports, f"model = {name}({', '.join([*first, *arguments])})"]
