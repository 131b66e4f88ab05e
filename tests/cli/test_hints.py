"""What a user most likely meant is named behind the error."""

import pytest

from lightning_renyicl.cli.hints import nearest, with_hint

OPTIONS = ["--trainer.max_epochs", "--trainer.max_steps", "--model.objective", "--model.objective.help", "--callbacks+"]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("model: no class that fits here is named RNYI", "did you mean Renyi?"),
        ("model: no class that fits here is named rmlcp; given: x", "did you mean RMLCPC, MLCPC, MLP?"),
        ("trainer.callbacks: no class that fits here is named KNN", "KNN is a class for another place"),
        ("unrecognized arguments: --trainer.max_epoch 3", "did you mean --trainer.max_epochs, --trainer.max_steps?"),
        ("unrecognized arguments: --model.objectiv=CPC", "did you mean --model.objective?"),
        ("unrecognized arguments: mine.yaml", "--config mine.yaml if it is a configuration"),
        ("No supported gpu backend found!", "trainer.accelerator cpu, or auto"),
        ("trainer.precision: Expected a Literal; given: fp16", "mixed precision is bf16-mixed or 16-mixed"),
    ],
)
def test_a_hint(line, hint):
    assert with_hint(line, OPTIONS) == f"{line.rstrip('!')}; {hint}"


def test_what_a_class_takes():
    line = "MLP: Option 'width' is not accepted"
    assert (
        with_hint(line, ["-h", "--help", "--config", "--widths", "--maxout_sets"])
        == f"{line}; it takes maxout_sets, widths"
    )


@pytest.mark.parametrize(
    "line", ["alpha must be in [0, 1], got 2.0", "unrecognized arguments: 3", "unrecognized arguments: --xyzzy", ""]
)
def test_nothing_is_like_it(line):
    assert with_hint(line, OPTIONS) == line


def test_names_differ_by_more_than_their_case():
    assert nearest("digitsimage", ["DigitsImage", "DigitsGraph", "FakeTable"])[0] == "DigitsImage"


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        (["--model.objective", "RNYI"], "did you mean Renyi?"),
        (["--model.objectiv.gamma", "3"], "did you mean --objective?"),
        (["--trainer.max_epoch", "3"], "did you mean --trainer.max_epochs"),
        (["--trainer.precision", "fp16"], "16-mixed"),
        (["--model.backbone.width", "3"], "it takes maxout_sets, widths"),
    ],
)
def test_by_the_command(command, fake, flags, hint):
    outcome = command("fit", "--config", fake, *flags)
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert hint in line
