"""Both packages can be imported where the system has no ``fcntl`` and tells no affinity: on Windows and macOS."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os, pkgutil, sys
from importlib import import_module

import lightning.pytorch, pyarrow, sklearn.svm, timm, torch_geometric.data, torchvision  # as they find the system

sys.modules["fcntl"] = None
for name in ("fork", "killpg", "sched_getaffinity", "setsid"):
    delattr(os, name)
for package in ("datamodules", "lightning_renyicl"):
    for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
from datamodules.images.cache import threads
from lightning_renyicl.runs.cores import cores
assert threads()._max_workers == cores() == os.cpu_count()
"""


def test_every_module_can_be_imported():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
