"""Missing runs are made, finished ones left alone, and what goes wrong is told."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml

NAMES = ("tiny", "tiny+cpc", "tiny+long", "tiny+cpc+long")
ONCE = {f"{name}/seed0": (1, 1) for name in NAMES}


def rows(project):
    return {(line["row"], line["column"]): line for line in csv.DictReader(io.StringIO(project.csv()))}


class TestAFilledTable:
    def test_is_run_once(self, filled):
        project, (code, output) = filled
        assert code == 0, output
        assert project.counts() == ONCE
        assert "4.0/4 runs" in output

    @pytest.mark.parametrize("name", NAMES)
    def test_is_a_folder_a_run(self, filled, name):
        project, _ = filled
        files = {path.name for path in project.cell(name).iterdir()}
        assert {"cell.json", "config.yaml", "checkpoints", "log.txt", "metrics.csv", "result.json", "test"} <= files
        assert not files & {"failed.txt", "error.log"}

    def test_holds_the_scores_of_the_test_split(self, filled):
        project, _ = filled
        for (row, column), line in rows(project).items():
            name = "tiny" + "+cpc" * (row == "CPC") + "+long" * (column == "Rows / long")
            result = json.loads((project.cell(name) / "test/result.json").read_text())
            assert float(line["mean"]) == pytest.approx(100 * result["metrics"]["online_probe/top1"], abs=1e-4)
            assert (line["n"], line["std"], line["scale"]) == ("1", "", "small")
            assert line["dataset"] == "FakeTable (80 train, 40 val, 40 test)"

    def test_has_the_objectives_and_epochs_asked_for(self, filled):
        project, _ = filled
        for name in NAMES:
            config = yaml.safe_load((project.cell(name) / "config.yaml").read_text())
            objective = config["model"]["init_args"]["objective"]["class_path"]
            assert objective.endswith(".CPC" if "cpc" in name else ".RMLCPC")
            assert config["trainer"]["max_epochs"] == (12 if "long" in name else 4)

    def test_is_the_commands_own_run(self, filled, tmp_path):
        """The runner's processes are forks; a process of its own comes to the same numbers."""
        project, _ = filled
        command = [sys.executable, "-m", "lightning_renyicl", "fit", f"--config={project.configs / 'tiny.yaml'}"]
        subprocess.run(command, cwd=tmp_path, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        own, other = (
            json.loads((folder / "result.json").read_text())["metrics"]
            for folder in (project.cell(), tmp_path / "runs/tiny/seed0")
        )
        assert own == other

    def test_does_nothing_more(self, copied):
        before = {path: path.stat().st_mtime_ns for path in copied.folder.rglob("runs/**/*")}
        code, output = copied.run()
        assert code == 0, output
        assert {path: path.stat().st_mtime_ns for path in copied.folder.rglob("runs/**/*")} == before


class TestARunAgain:
    def test_after_its_results_are_deleted(self, copied):
        for result in copied.cell("tiny+cpc").rglob("result.json"):
            result.unlink()
        table = copied.csv()
        code, output = copied.run()
        assert code == 0, output
        assert copied.counts() == {**ONCE, "tiny+cpc/seed0": (2, 2)}
        assert copied.csv() == table

    def test_after_its_result_was_cut_short(self, copied):
        result = copied.cell() / "result.json"
        result.write_text(result.read_text()[:100])
        table = copied.csv()
        code, output = copied.run()
        assert code == 0, output
        assert copied.counts() == {**ONCE, "tiny/seed0": (2, 2)}
        assert copied.csv() == table
        assert (copied.cell() / "result.damaged").exists()

    @pytest.mark.slow
    def test_only_if_asked_when_its_configuration_has_changed(self, copied):
        (copied.configs / "long.yaml").write_text("trainer: {max_epochs: 6}\n")
        code, output = copied.run()
        assert code == 0, output
        assert copied.counts() == ONCE
        assert output.count("‡") == 3  # two cells and what the sign means
        assert "configs/long.yaml: trainer.max_epochs" in output
        code, output = copied.run("--rerun=stale")
        assert code == 0, output
        assert "‡" not in output
        counts = copied.counts()
        assert counts.pop("tiny+long/seed0-old") == counts.pop("tiny+cpc+long/seed0-old") == (1, 1)
        assert counts == ONCE

    def test_after_it_was_stopped_with_another_configuration(self, copied):
        for result in copied.cell("tiny+long").rglob("result.json"):
            result.unlink()
        (copied.configs / "long.yaml").write_text("trainer: {max_epochs: 6}\n")
        code, output = copied.run()
        assert code == 0, output
        assert copied.counts()["tiny+long/seed0"] == copied.counts()["tiny+long/seed0-old"] == (1, 1)
        assert yaml.safe_load((copied.cell("tiny+long") / "config.yaml").read_text())["trainer"]["max_epochs"] == 6


class TestAFailure:
    def test_leaves_the_others_alone(self, project):
        (project.configs / "long.yaml").write_text("data: {init_args: {num_samples: 4}}\n")
        code, output = project.run("--jobs=2")
        assert code == 1
        assert "2 of 4 runs failed; the same command tries them again" in output
        assert "fit ended with exit code 2: batch_size" in output
        assert "the end of" not in output
        table = rows(project)
        assert table["CPC", "Rows"]["mean"]
        assert table["CPC", "Rows / long"]["mean"] == ""
        assert "| CPC | ours |" in output
        assert "| — |" in output
        assert "exit code 2" in (project.cell("tiny+long") / "failed.txt").read_text()
        (project.configs / "long.yaml").write_text("trainer: {max_epochs: 5}\n")
        code, output = project.run("--jobs=2")
        assert code == 0, output
        assert not (project.cell("tiny+long") / "failed.txt").exists()

    def test_of_a_configuration_that_is_gone(self, copied):
        (copied.configs / "long.yaml").unlink()
        for result in copied.cell("tiny+long").rglob("result.json"):
            result.unlink()
        code, output = copied.run()
        assert code == 1
        assert "configs/long.yaml does not exist" in output
        assert rows(copied)["CPC", "Rows / long"]["n"] == "1"  # made before, and marked
        assert "Stale: tiny+cpc+long (configs/long.yaml is gone)" in output

    @pytest.mark.slow
    def test_of_a_runner_that_is_interrupted(self, project):
        (project.configs / "long.yaml").write_text("trainer: {max_epochs: 100000}\n")
        process = project.start("--jobs=2")
        while not (project.cell("tiny+long") / "checkpoints/last.ckpt").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "interrupted; the same command goes on" in output
        assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and works_in(pid, project.folder)]


def works_in(pid, folder):
    """Whether a process works in a folder."""
    try:
        return os.readlink(f"/proc/{pid}/cwd") == str(folder)
    except OSError:
        return False


class TestAnotherEvaluation:
    CALLBACKS = """
trainer:
  callbacks+:
    - class_path: FrozenFeatures
      init_args: {protocols: [{class_path: LinearSGD, init_args: {learning_rates: [RATE], epochs: 2}}]}
"""

    def change(self, project, rate="0.1"):
        (project.configs / "long.yaml").write_text(
            "trainer: {max_epochs: 12}\n"
            if rate is None
            else self.CALLBACKS.replace("RATE", rate) + "  max_epochs: 12\n"
        )

    def _tested(self, project):
        result = json.loads((project.cell("tiny+long") / "test" / "result.json").read_text())
        callbacks = result["config"]["trainer"]["callbacks"]
        return result["metrics"], [c["init_args"] for c in callbacks if c["class_path"].endswith("FrozenFeatures")]

    @pytest.mark.slow
    def test_trains_nothing_anew(self, copied):
        before = (copied.cell("tiny+long") / "result.json").read_bytes()
        self.change(copied)
        code, output = copied.run()
        assert code == 0, output
        assert copied.counts() == ONCE
        assert output.count("‡") == 3
        code, output = copied.run("--rerun=stale")
        assert code == 0, output
        assert "‡" not in output
        assert copied.counts() == {**ONCE, "tiny+long/seed0": (1, 2), "tiny+cpc+long/seed0": (1, 2)}
        assert (copied.cell("tiny+long") / "result.json").read_bytes() == before
        assert (copied.cell("tiny+long") / "test-old" / "result.json").exists()
        metrics, (arguments,) = self._tested(copied)
        assert 0 < metrics["linear_sgd/top1"] <= 1
        assert arguments["protocols"][0]["init_args"]["learning_rates"] == [0.1]

    def test_after_it_was_stopped(self, copied):
        shutil.rmtree(copied.cell("tiny+long") / "test")
        self.change(copied, rate="0.2")
        code, output = copied.run()
        assert code == 0, output
        assert copied.counts()["tiny+long/seed0"] == (1, 2)
        _, (arguments,) = self._tested(copied)
        assert arguments["protocols"][0]["init_args"]["learning_rates"] == [0.2]

    @pytest.mark.slow
    def test_trains_anew_without_a_checkpoint(self, copied):
        (copied.cell("tiny+long") / "checkpoints" / "last.ckpt").unlink()
        self.change(copied)
        code, output = copied.run("--rerun=stale")
        assert code == 0, output
        counts = copied.counts()
        assert (counts["tiny+long/seed0"], counts["tiny+long/seed0-old"]) == ((1, 1), (1, 1))
        assert counts["tiny+cpc+long/seed0"] == (1, 2)


class TestAPartOfATable:
    def test_keeps_the_files_of_the_whole(self, copied):
        whole = copied.csv()
        shutil.rmtree(copied.folder / "runs/toy/small/tiny")
        code, output = copied.run("--column=long")
        assert code == 0, output
        assert "of 1 numbers in results/toy-small.csv there are no runs here" in output
        assert (copied.folder / "results/toy-small-old.csv").read_text() == whole
        assert sorted(path.name for path in (copied.folder / "results").glob("toy-small-old*")) == [
            f"toy-small-old.{suffix}" for suffix in ("csv", "md", "png", "tex")
        ]
        code, output = copied.run()
        assert code == 0, output
        assert "there are no runs here" not in output
        assert copied.csv() == whole
