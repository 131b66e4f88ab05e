"""Notebooks run, and what is committed of them is a whole run at full size."""

import re
from pathlib import Path

import nbformat
import pytest
from nbmake.nb_run import NotebookRun

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 400_000  # bytes: a page of small pictures
PLACES = re.compile(r"(?<!\w)/(tmp|home|root|work|usr|opt|Users)\b")

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def texts(output):
    """What can be read of an output; pictures may spell anything."""
    data = output.get("data", {})
    return [output.get("text", ""), *(str(value) for kind, value in data.items() if not kind.startswith("image/"))]


@pytest.fixture
def quick(monkeypatch):
    """Small sizes, and one thread, as two test processes share two cores."""
    monkeypatch.setenv("NOTEBOOK_QUICK", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.mark.slow
@each
def test_it_runs(path, quick):
    error = NotebookRun(path, default_timeout=300).execute().error
    assert error is None, error.trace


@each
def test_it_is_committed_with_its_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    assert not [text for output in outputs for text in texts(output) if PLACES.search(text)]
    assert not [cell.source for cell in notebook.cells if PLACES.search(cell.source)]
    assert path.stat().st_size < LARGEST


@each
def test_nothing_else_of_the_run_is_kept(path):
    notebook = nbformat.read(path, as_version=4)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert set(notebook.metadata.language_info) == {"name"}
    assert not [cell.metadata for cell in notebook.cells if cell.metadata]


@each
def test_its_links_exist(path):
    prose = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)\)", prose) if not link.startswith("http")]
    assert not [link for link in links if not (FOLDER / link).exists()]


def test_the_readme_names_all():
    readme = (FOLDER.parent / "README.md").read_text()
    assert NOTEBOOKS
    assert not [path.name for path in NOTEBOOKS if f"notebooks/{path.name}" not in readme]
