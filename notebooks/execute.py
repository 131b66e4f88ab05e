"""``python notebooks/execute.py [NOTEBOOK …]``: runs notebooks and keeps their outputs; what ``make notebooks`` does.

Nothing else of a run is kept: no times and no versions. So a notebook that is run again differs where its outputs do.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
QUIET = "ignore:IProgress not found,ignore:`torch.jit.script` is deprecated"
"""Warnings of libraries as they are imported, with paths of this machine in them."""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(path: Path) -> None:
    """Runs a notebook in its own folder and writes it with its outputs, unless a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": path.parent}},
    )
    # one thread: sums in another order would train other weights
    client.execute(env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": QUIET})
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
    nbformat.write(notebook, path)


def main(arguments: list[str]) -> None:
    """Runs the notebooks that are named, or all."""
    for path in map(Path, arguments) if arguments else sorted(HERE.glob("*.ipynb")):
        print(path.name, flush=True)
        execute(path)


if __name__ == "__main__":
    main(sys.argv[1:])
