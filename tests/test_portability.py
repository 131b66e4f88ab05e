"""The library can be imported where the system has no ``fcntl`` and tells no affinity: on Windows and macOS."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os, pkgutil, sys
from importlib import import_module

import lightning.pytorch, pyarrow, sklearn.svm, timm, torch_geometric.data, torchvision  # as they find the system
import datamodules, lightning_renyicl

sys.modules["fcntl"] = None
for name in ("fork", "killpg", "sched_getaffinity", "setsid"):
    delattr(os, name)
for module in pkgutil.walk_packages(lightning_renyicl.__path__, "lightning_renyicl."):
    if not module.name.endswith("__main__") and not module.name.startswith(sys.argv[1]):
        import_module(module.name)
from lightning_renyicl.runs.cores import cores
assert cores() >= 1
"""
POSIX = "lightning_renyicl.tables"  # runs commands in forks, under locks that children inherit


def test_every_module_can_be_imported():
    done = subprocess.run([sys.executable, "-c", PROGRAM, POSIX], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
