"""What all tests share."""

import os

import pytest
import torch

# Two test processes share two cores: more threads a process only wait for each other.
torch.set_num_threads(1)


@pytest.fixture
def data_root():
    """The folder of real data sets that the variable DATA names."""
    if "DATA" not in os.environ:
        pytest.skip("the variable DATA names no folder of real data sets")
    return os.environ["DATA"]
