"""How far a run is, from what it logs."""

from __future__ import annotations

import pytest

from lightning_renyicl.runs.logger import ContinuedCSVLogger
from lightning_renyicl.tables.running.progress import Progress, trained
from lightning_renyicl.tables.training import Run, Training


@pytest.fixture
def leave(tmp_path):
    """A run's folder: epochs in all, and the text of ``metrics.csv``."""

    def _leave(text, max_epochs=10, name="run"):
        folder = tmp_path / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").write_text(f"trainer:\n  max_epochs: {max_epochs}\n")
        (folder / "metrics.csv").write_bytes(text.encode())
        return folder

    return _leave


class TestTrained:
    @pytest.mark.parametrize(
        "text",
        [
            "epoch,loss,step\n0,1.5,0\n4,1.25,40\n",
            "epoch,loss,step\r\n0,1.5,0\r\n4,1.25,40\r\n",
            "loss,epoch,step\n1.5,0,0\n1.25,4,40\n",
            "loss,an_epoch,epoch,step\r\n1.5,8,0,0\r\n1.25,9,4,40\r\n",
            "epoch,loss,step\n9,1.5,0\n4,1.25,40\n",
            "epoch,loss,step\n4,1.25,40",
            "epoch,probe/top1,step,train/loss\n4,,40,\n",
        ],
        ids=[
            "first",
            "as csv writes it",
            "in the middle",
            "others of a like name",
            "last line",
            "unended",
            "empty cells",
        ],
    )
    def test_is_the_last_lines_epoch(self, leave, text):
        assert trained(leave(text)) == pytest.approx(0.4)

    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_column_at_the_end(self, leave, end):
        assert trained(leave(f"loss,step,epoch{end}1.25,40,4{end}")) == pytest.approx(0.4)

    def test_of_a_line_without_epoch(self, leave):
        """The learning rate's lines have none."""
        assert trained(leave("epoch,lr-SGD,step\n4,,40\n,0.1,41\n")) == pytest.approx(0.4)

    @pytest.mark.parametrize(
        "text",
        ["", "\n", "epoch,loss,step", "epoch,loss,step\n", "loss,step\n1.25,40\n", "loss,epoch,step\n1.2", "a\n\xff\n"],
        ids=["empty", "blank", "half a header", "header", "no such column", "half a line", "no numbers"],
    )
    def test_nothing_to_read_yet(self, leave, text):
        assert trained(leave(text)) == 0.0

    @pytest.mark.parametrize("last", ["1", "1.25", "1.25,", "1.25,4.", "1.25,1", "1.25,12,"])
    def test_half_a_last_line_is_never_more(self, leave, last):
        """Of ``1.25,12,121`` in the middle of being written."""
        share = trained(leave(f"loss,epoch,step\n1.5,3,30\n1.25,11,119\n{last}", max_epochs=100))
        assert share in [0.0, 0.01, 0.11, 0.12]

    @pytest.mark.parametrize(("epoch", "share"), [(0, 0.0), (1, 0.1), (9, 0.9), (10, 0.99), (11, 0.99), (1000, 0.99)])
    def test_is_below_1(self, leave, epoch, share):
        assert trained(leave(f"epoch,step\n{epoch},5\n")) == pytest.approx(share)

    def test_no_run(self, tmp_path):
        assert trained(tmp_path / "nowhere") == 0.0
        assert not (tmp_path / "nowhere").exists()

    @pytest.mark.parametrize("name", ["metrics.csv", "config.yaml"])
    def test_a_file_that_is_missing(self, leave, name):
        folder = leave("epoch,step\n4,40\n")
        (folder / name).unlink()
        assert trained(folder) == 0.0

    @pytest.mark.parametrize("text", ["", "trainer: [", "trainer: null", "trainer: {}", "just words"])
    def test_a_configuration_without_epochs(self, leave, text):
        folder = leave("epoch,step\n4,40\n")
        (folder / "config.yaml").write_text(text)
        assert trained(folder) == 0.0

    @pytest.mark.parametrize("epochs", [0, -1])
    def test_no_number_of_epochs(self, leave, epochs):
        """A run that goes on until somebody stops it."""
        assert trained(leave("epoch,step\n4,40\n", max_epochs=epochs)) == 0.0

    @pytest.mark.parametrize(("text", "share"), [("epoch,step\n4,40\n", 0.4), ("step,epoch\n40,\n400,\n", 0.99)])
    def test_a_number_of_steps(self, leave, text, share):
        folder = leave(text, max_epochs=-1)
        (folder / "config.yaml").write_text("trainer: {max_epochs: -1, max_steps: 100}\n")
        assert trained(folder) == pytest.approx(share)

    @pytest.mark.parametrize("lines", [50, 500, 5000])
    def test_long_logs(self, leave, lines):
        """Only the end of a file is read, wherever that begins within a line."""
        rows = [f"{0.123456789 * line},{line // 500},{line}" for line in range(lines)]
        assert trained(leave("\n".join(["loss,epoch,step", *rows, ""]), max_epochs=20)) == (lines - 1) // 500 / 20

    def test_what_the_logger_writes(self, leave):
        folder = leave("")
        (folder / "metrics.csv").unlink()
        logger = ContinuedCSVLogger(str(folder))
        for epoch in range(4):
            logger.log_metrics({"train/loss": 0.5, "epoch": epoch, "a": 1.0}, step=epoch)
        logger.save()
        assert trained(folder) == pytest.approx(0.3)


class TestProgress:
    @pytest.fixture
    def runs(self, tmp_path):
        return [Run(Training("table5", "small", "base", (), "test"), seed, tmp_path) for seed in range(2)]

    def write(self, run, epoch):
        run.folder.mkdir(parents=True, exist_ok=True)
        (run.folder / "config.yaml").write_text("trainer: {max_epochs: 10}\n")
        (run.folder / "metrics.csv").write_text(f"epoch,step\n{epoch},5\n")

    @pytest.fixture
    def bar(self, runs):
        """Three runs are done; of two that are not the first has half of its epochs."""
        self.write(runs[0], 5)
        progress = Progress("table5 small", 3, runs)
        yield progress
        progress.close()

    def test_counts_runs_and_epochs(self, bar, runs):
        assert (bar._bar.total, bar._bar.n) == (5, pytest.approx(3.5))
        self.write(runs[1], 2)
        bar.look()
        assert bar._bar.n == pytest.approx(3.7)

    def test_goes_never_back(self, bar, runs):
        """A run that starts over."""
        self.write(runs[0], 0)
        bar.look()
        assert bar._bar.n == pytest.approx(3.5)

    def test_a_run_that_ends_is_whole(self, bar, runs):
        bar.finish(runs[0])
        assert bar._bar.n == pytest.approx(4.0)
        bar.finish(runs[1])
        assert bar._bar.n == pytest.approx(5.0)

    def test_prints(self, runs, capsys):
        self.write(runs[0], 5)
        bar = Progress("table5 small", 3, runs)
        bar.write("failed: runs/a")
        bar.close()
        captured = capsys.readouterr()
        assert "failed: runs/a\n" in captured.out
        assert "table5 small:" in captured.err
        assert "3.5/5 runs" in captured.err
