"""Docstrings say what a thing is, and arguments can be read alone, as ``--help`` prints them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [path for package in ("lightning_renyicl", "datamodules") for path in sorted((ROOT / package).rglob("*.py"))]
PREPOSITION = r"(?i:of|from|by|in|on|with|for|to|at|as|under|within|before|above|below)\b"


@pytest.mark.parametrize("package", ["lightning_renyicl", "datamodules"])
def test_first_lines_and_arguments_need_nothing_else(package):
    """A phrase that begins with a preposition leans on the name that it stands under."""
    wrong = []
    for path in FILES:
        if path.relative_to(ROOT).parts[0] != package:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                continue
            text = ast.get_docstring(node) or ""
            sections = re.findall(r"^(?:Args|Attributes):\n((?:    .*\n?|\n)*)", text, re.MULTILINE)
            entries = [entry for section in sections for entry in re.findall(r"^    \w+: (.*)$", section, re.MULTILINE)]
            wrong += [f"{path.name}: {line}" for line in (text, *entries) if re.match(PREPOSITION, line)]
    assert not wrong, "\n".join(wrong)
