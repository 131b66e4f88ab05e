"""What counts as the same cost, and what has none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lightning_renyicl.tables.running import cost
from lightning_renyicl.tables.running.cost import costs_of
from lightning_renyicl.tables.training import Run, Training

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


class TestWhatCannotBeTimed:
    @pytest.fixture
    def estimated(self, tmp_path, monkeypatch, capsys):
        """Estimates of trainings by what the log of their command ends in; None: they can be timed."""

        def start(work, log, environment):
            name, *_ = [Path(each).stem for each in work.arguments if each.startswith("--config=")]
            log.write_text(f"$ lightning fit\n{ends[name] or 'fine'}\n")
            if ends[name] is None:
                log.with_name("cost.json").write_text('{"steps": 10, "step_seconds": 720, "seconds": 7200}')
            return 0 if ends[name] is None else 2 if ends[name].startswith("error: ") else 1

        def _estimated(**logs):
            ends.update(logs)
            runs = []
            for number, name in enumerate(logs):
                path = tmp_path / f"{name}.yaml"
                path.write_text(json.dumps({"data": {"class_path": "datamodules.Pictures"}, "number": number}))
                training = Training("table9", "paper", name, (str(path),), "test")
                runs += [Run(training, seed, tmp_path / "runs") for seed in range(2)]
            code = cost.estimate(runs)
            return code, [line for line in capsys.readouterr().out.splitlines() if not line.startswith("timing")]

        ends = {}
        monkeypatch.setattr(cost.command, "prepare", lambda cores: None)
        monkeypatch.setattr(cost.command, "start", start)
        monkeypatch.setattr(cost.command, "wait", lambda child: child)
        return _estimated

    def test_data_that_is_missing_is_said_once_and_the_rest_is_timed(self, estimated):
        missing = "error: no pictures.tar in /data: get it"
        code, lines = estimated(base=missing, small=None, hard=missing)
        assert code == 1
        assert lines == [
            "base: 2 runs, not timed: Pictures: no pictures.tar in /data: get it",
            "  10 steps of 720 s",
            "small: 2 runs of 2.00 hours, 4.00 hours",
            "hard: 2 runs, not timed: as base",
            "6 runs to make: 4.0 hours of training on this machine, one after the other, and 4 runs that could not be "
            "timed",
            "evaluation at the end of a run is not counted",
        ]

    def test_anything_else_is_told_with_the_end_of_its_log(self, estimated):
        code, lines = estimated(broken="Traceback\nKeyError: x")
        assert code == 1
        assert lines[0].startswith("broken: 2 runs, not timed: ")
        assert "ended with exit code 1; the end of" in lines[0]
        assert lines[1:4] == ["  $ lightning fit", "  Traceback", "  KeyError: x"]
