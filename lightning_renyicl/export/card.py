"""What a file of weights is, in a JSON file beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning_renyicl.callbacks.result_json import versions
from lightning_renyicl.checkpoints import RUN
from lightning_renyicl.export.formats import Exported
from lightning_renyicl.export.own import section_of
from lightning_renyicl.export.preparation import normalisation
from lightning_renyicl.export.source import Source

RANGES = {"images": "pixels in [0, 1]", "rows": "values as they are in the file", "graphs": "a Batch of PyG"}
"""What samples are before anything is done to them."""


def card(source: Source, exported: Exported, form: str, file: Path) -> dict[str, Any]:
    """The card of a file, in plain types.

    Keys: ``file``, ``format``, ``load`` (lines of Python), ``differs`` (which published model it is nearly),
    ``encoder``, ``features`` (numbers in a representation), ``input``, ``normalisation`` (and whether the file does
    it), ``objective``, ``data``, ``run`` (seed, commit and versions of the training, null where the checkpoint is older
    than these entries), ``written_by``, ``licence``.

    Args:
        source: the encoder.
        exported: the same in a format.
        form: the format.
        file: where it is written.
    """
    run = source.checkpoint.get(RUN)
    run = run if isinstance(run, dict) else {}
    data = str(source.data.get("_class_path", "unknown data"))
    files = (run.get("data") or {}).get("files", {})
    own = {key: source.model[key] for key in ("in_features", "cardinalities", "embedding_width") if key in source.model}
    return {
        "file": file.name,
        "format": form,
        "load": [line.replace("FILE", file.name) for line in exported.load],
        "differs": exported.differs,
        "encoder": {**section_of(source), **own},
        "features": source.backbone.num_features,
        "input": {
            "samples": source.samples,
            "are": RANGES.get(str(source.samples)),
            "shape": exported.shape,
            "type": exported.dtype if exported.shape else None,
        },
        "normalisation": {"in_file": exported.normalises, "steps": normalisation(source)},
        "objective": _section(source.model.get("objective")),
        "data": {
            "class": data,
            "files": {Path(name).name: found.get("sha256") for name, found in files.items()},
        },
        "run": {
            **{key: run.get(key) for key in ("seed", "commit", "versions")},
            "checkpoint": source.path.name,
            "epoch": source.checkpoint.get("epoch"),
            "steps": source.checkpoint.get("global_step"),
        },
        "written_by": versions(),
        "licence": (
            f"The weights were learnt from {data.rpartition('.')[2]}, whose terms go with them; whoever uses or shares "
            "them has to keep to these."
        ),
    }


def _section(section: Any) -> dict[str, Any]:
    if not isinstance(section, dict):
        return {"class": section, "arguments": {}}
    return {"class": section.get("class_path"), "arguments": section.get("init_args") or {}}
