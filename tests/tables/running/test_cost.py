"""What counts as the same cost."""

from __future__ import annotations

import json

import pytest

from lightning_renyicl.tables.running.cost import costs_of

BASE = {"trainer": {"max_epochs": 4}, "model": {"init_args": {"objective": {"class_path": "RMLCPC"}, "width": 8}}}


@pytest.fixture
def costs(tmp_path):
    def _costs(*overlays):
        paths = [tmp_path / f"{number}.yaml" for number in range(len(overlays) + 1)]
        for path, content in zip(paths, (BASE, *overlays), strict=True):
            path.write_text(json.dumps(content))
        return costs_of(map(str, paths))

    return _costs


def objective(name, **arguments):
    return {"model": {"init_args": {"objective": {"class_path": name, "init_args": arguments}}}}


@pytest.mark.parametrize(
    "overlay", [{}, objective("RMLCPC", gamma=3.0), objective("CPC"), objective("lightning_renyicl.objectives.NWJ")]
)
def test_of_bounds_on_a_critic_is_the_same(costs, overlay):
    assert costs(overlay) == costs()


@pytest.mark.parametrize(
    "overlay",
    [
        {"trainer": {"max_epochs": 8}},
        {"model": {"init_args": {"width": 16}}},
        objective("Unknown"),
        {"data": {"class_path": "FakeTable"}},
    ],
)
def test_of_anything_else_is_another(costs, overlay):
    assert costs(overlay) != costs()
