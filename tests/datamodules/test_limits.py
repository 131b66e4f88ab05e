"""Half of the memory, on systems that say how much there is and on others."""

from __future__ import annotations

import os

import psutil

from datamodules.limits import memory_limit


def test_half_of_the_memory():
    assert memory_limit() == psutil.virtual_memory().total // 2


def test_a_system_that_does_not_say_it(monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    assert memory_limit() == 8 * 2**30
