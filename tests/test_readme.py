"""What the README says is what the project does."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_its_table_is_the_demos():
    assert (ROOT / "results" / "demo.md").read_text() in README


def test_its_links_and_configurations_exist():
    named = re.findall(r"\]\(([^)#]+)\)", README) + re.findall(r"--config (configs/[a-z0-9_/]+\.yaml)", README)
    assert len(named) > 10
    missing = [path for path in named if not path.startswith("http") and not (ROOT / path).exists()]
    assert not missing


def test_it_names_every_method():
    (named,) = re.findall(r"# other methods, .*?configuration: (.*?);", README, re.DOTALL)
    overlays = {path.stem for path in (ROOT / "configs" / "methods").iterdir()}
    assert set(re.findall(r"[a-z_0-9]+", re.sub(r"\(.*?\)", "", named))) == overlays - {"supervised"}


def test_its_python_runs():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})


def test_its_make_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", README)) <= targets
