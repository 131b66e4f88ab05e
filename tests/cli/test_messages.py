"""Errors of the parser as a user reads them."""

from __future__ import annotations

import pytest
from jsonargparse import ArgumentError, ArgumentParser

from lightning_renyicl.cli.messages import readable


class Base:
    pass


class Sub(Base):
    def __init__(self, rate: float = 0.1) -> None:
        self.rate = rate


def message(*args):
    """What jsonargparse says of a command line."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument("--epochs", type=int | None)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--names", type=list[int] | None)
    parser.add_argument("--parts", type=list[Base] | Base | None)
    parser.add_subclass_arguments(Base, "part", required=False)
    with pytest.raises(ArgumentError) as error:
        parser.parse_args(list(args))
    return str(error.value)


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["--epochs", "soon"], ["epochs", "Expected a int", "soon"]),
        (["--rate", "fast"], ["rate", "fast"]),
        (["--names", "[a]"], ["names", "['a']"]),
        (["--part", "Nothing"], ["part", "no class that fits here is named Nothing"]),
        (["--part", f"{__name__}.Nothing"], ["part", "Nothing"]),
        (["--epok", "3"], ["epok"]),
    ],
    ids=lambda value: " ".join(value) if value[0].startswith("--") else None,
)
def test_one_short_line_with_the_key_and_the_value(args, parts):
    line = readable(message(*args))
    assert "\n" not in line
    assert len(line) < 200
    assert all(part in line for part in parts)
    assert "Subtypes" not in line
    assert "<class" not in line


def test_nested_brackets_of_subtypes():
    text = (
        'Parser key "trainer.precision":\n  Does not validate against any of the Union subtypes\n'
        "  Subtypes: [typing.Literal[64, 32], <class 'NoneType'>]\n  Errors:\n    - Expected a typing.Literal[64, 32]\n"
        "    - Expected a <class 'NoneType'>\n  Given value type: <class 'int'>\n  Given value: 7"
    )
    assert readable(text) == "trainer.precision: Expected a typing.Literal[64, 32]; given: 7"


def test_a_long_value_is_left_out():
    text = f"Parser key \"model\":\n  Expected a <class 'int'>\n  Given value: {'x' * 81}"
    assert readable(text) == "model: Expected a int"


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("Nothing", "parts: no class that fits here is named Nothing; given: Nothing"),
        ("torch.nn.Linear", "parts: that class is no Base; given: torch.nn.Linear"),
        ("nothing.Here", "parts: No module named 'nothing'; given: nothing.Here"),
        ("[{class_path: Nope}]", "parts: no class that fits here is named Nope; given: [{'class_path': 'Nope'}]"),
    ],
)
@pytest.mark.parametrize("flag", ["--parts", "--parts+"])
def test_what_fits_none_of_several_types_is_said_once(flag, value, line):
    assert readable(message(flag, value)) == line


@pytest.mark.parametrize(
    "text", ["plain words", "alpha must be in [0, 1], got 2.0", "no file a.yaml", "a - b, Expected a c", ""]
)
def test_other_messages_stay(text):
    assert readable(text) == text
