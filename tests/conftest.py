"""What all tests share."""

import os
from importlib.util import find_spec

import pytest
import torch

# The command line needs jsonargparse, notebooks nbmake; `make gpu-check` runs with whatever the machine has.
collect_ignore = [] if find_spec("jsonargparse") else ["cli", "test_messages.py"]
collect_ignore += [] if find_spec("nbmake") else ["test_notebooks.py"]

# Two test processes share two cores: more threads a process only wait for each other.
torch.set_num_threads(1)


@pytest.fixture
def data_root():
    """The folder of real data sets that the variable DATA names."""
    if "DATA" not in os.environ:
        pytest.skip("the variable DATA names no folder of real data sets")
    return os.environ["DATA"]


def pytest_runtest_setup(item):
    if item.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("no GPU")
