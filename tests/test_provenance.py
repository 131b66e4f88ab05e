"""Which code and which files a result comes from: what counts as a change of them, and what doesn't."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from itertools import count
from pathlib import Path
from types import ModuleType

import pytest
from lightning.pytorch import Callback, LightningModule, Trainer

from datamodules import CIFAR10, CIFAR100, DigitsGraph, DigitsImage, DigitsTable, FakeGraphs, FakeImages, FakeTable
from datamodules.augmentations import Compose, Identity, NodeDrop, RandomChoice, RandomMask
from lightning_renyicl import provenance
from lightning_renyicl.callbacks import ResultJson
from lightning_renyicl.callbacks.result_json import described
from lightning_renyicl.objectives import CPC, DV, MLCPC, NWJ, RMLCPC, Renyi

ROOT = Path(__file__).parents[1]
CODE = '''"""A module."""

import math

SCALE = 2.0
NAME = "left"
PLACES = [1, 2]


class Box:
    """A class."""

    def area(self, side=1, *, power=2):
        """A function."""
        first = side * SCALE + power
        second = math.floor(side)
        if first == 3:
            return None
        return first, second

    def name(self):
        return "a box"
'''
# what is replaced, by what
SAME = {
    "comment": ("SCALE = 2.0", "SCALE = 2.0  # metres"),
    "comment of a line": ("import math", "# for floor\nimport math"),
    "docstring of the module": ("A module.", "Another module.\n\nLonger."),
    "docstring of a class": ("A class.", "Another class."),
    "docstring of a function": ("A function.", "Another function."),
    "no docstring of the module": ('"""A module."""', ""),
    "no docstring of a class": ('    """A class."""\n', ""),
    "no docstring of a function": ('        """A function."""\n', ""),
    "new docstring": ("def name(self):\n", 'def name(self):\n        """A name."""\n'),
    "blank lines": ("SCALE = 2.0\n", "\n\nSCALE = 2.0\n\n"),
    "blanks": ("side * SCALE", "side*SCALE"),
    "quotes": ('"left"', "'left'"),
    "parts of a string": ('"left"', '"le" "ft"'),
    "parentheses": ("side * SCALE + power", "(\n            (side * SCALE)\n            + power\n        )"),
    "tuple in parentheses": ("return first, second", "return (first, second)"),
    "comma": ("[1, 2]", "[1, 2,]"),
    "how a number is written": ("SCALE = 2.0", "SCALE = 2.00"),
    "indentation": ("        if first == 3:\n            return None", "        if first == 3:\n          return None"),
    "ends of lines": ("\n", "\r\n"),
}
OTHER = {
    "constant": ("SCALE = 2.0", "SCALE = 2.5"),
    "type of a constant": ("SCALE = 2.0", "SCALE = 2"),
    "sign": ("SCALE = 2.0", "SCALE = -2.0"),
    "string": ('"left"', '"right"'),
    "blanks in a string": ('"left"', '"left "'),
    "string that is returned": ('"a box"', '"A box"'),
    "bytes": ('"left"', 'b"left"'),
    "string with fields": ('"left"', 'f"{left}"'),
    "default": ("side=1", "side=2"),
    "default of a keyword": ("power=2", "power=3"),
    "no default": ("side=1", "side"),
    "no keyword": ("side=1, *, power", "side=1, power"),
    "order of arguments": ("side=1, *, power=2", "power=2, *, side=1"),
    "operator": ("side * SCALE", "side / SCALE"),
    "precedence": ("side * SCALE + power", "side * (SCALE + power)"),
    "order of operands": ("side * SCALE", "SCALE * side"),
    "comparison": ("first == 3", "first != 3"),
    "None to 0": ("return None", "return 0"),
    "None to False": ("return None", "return False"),
    "None to an empty list": ("return None", "return []"),
    "None to the empty string": ("return None", 'return ""'),
    "True": ("[1, 2]", "[True, 2]"),
    "list to tuple": ("[1, 2]", "(1, 2)"),
    "order of a list": ("[1, 2]", "[2, 1]"),
    "empty list": ("[1, 2]", "[]"),
    "name": ("math.floor(side)", "math.floor(power)"),
    "attribute": ("math.floor", "math.ceil"),
    "import": ("import math", "import cmath as math"),
    "order of statements": ("SCALE = 2.0\nNAME = \"left\"", "NAME = \"left\"\nSCALE = 2.0"),
    "statement": ("        second = math.floor(side)\n", ""),
    "statement of two": ("return first, second", "return first"),
    "indentation": ("None\n        return first", "None\n            return first"),
    "decorator": ("    def name", "    @property\n    def name"),
    "base class": ("class Box:", "class Box(dict):"),
    "annotation": ("side=1", "side: int = 1"),
    "name of a function": ("def name", "def label"),
    "asynchronous": ("def name", "async def name"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _forget():
    """What a process has read once it doesn't read again."""
    for function in (provenance.digest, provenance.digest_of_code):
        function.cache_clear()
    yield
    for function in (provenance.digest, provenance.digest_of_code):
        function.cache_clear()


class TestDigestOfCode:
    @pytest.fixture
    def digest(self, tmp_path):
        numbers = count()

        def _digest(text):
            path = tmp_path / f"{next(numbers)}.py"
            path.write_bytes(text.encode())
            return provenance.digest_of_code(path)

        return _digest

    def change(self, old, new):
        assert old in CODE
        changed = CODE.replace(old, new)
        assert changed != CODE
        return changed

    @pytest.mark.parametrize("change", SAME)
    def test_is_the_same_without(self, digest, change):
        assert digest(self.change(*SAME[change])) == digest(CODE)

    @pytest.mark.parametrize("change", OTHER)
    def test_is_another_after(self, digest, change):
        assert digest(self.change(*OTHER[change])) != digest(CODE)

    def test_changes_differ_from_each_other(self, digest):
        digests = [digest(text) for text in {self.change(*change) for change in OTHER.values()}]
        assert len(set(digests)) == len(digests) == len(OTHER)

    def test_a_string_that_is_no_docstring(self, digest):
        """The first statement of a function is one only if it stands alone."""
        texts = [
            'def f():\n    x = "a"\n',
            'def f():\n    x = "b"\n',
            'def f():\n    g("a")\n',
            'def f():\n    "a".g()\n',
        ]
        assert len({digest(text) for text in texts}) == 4

    def test_is_hexadecimal(self, digest):
        assert len(digest("")) == len(bytes.fromhex(digest(""))) * 2 == 64

    def test_no_code(self, digest):
        assert digest("") == digest('"""Only a docstring."""\n') == digest("# only a comment\n")
        assert digest("") != digest("pass\n")

    def test_names_in_other_alphabets(self, digest):
        assert digest("γ = 1.5\n") != digest("α = 1.5\n")


def imported(path):
    """The project's files that a file imports at its head, as it says."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ImportFrom) or node.module.split(".")[0] not in (
            "datamodules",
            "lightning_renyicl",
        ):
            continue
        home = ROOT / node.module.replace(".", "/")
        for alias in node.names:
            submodule = home / f"{alias.name}.py"
            found.add(submodule if submodule.exists() else home.with_suffix(".py"))
    return found


def closure(path):
    """A file and all that it imports, directly or not."""
    found, waiting = set(), {path}
    while waiting:
        found |= waiting
        waiting = {other for one in waiting for other in imported(one)} - found
    return {each.relative_to(ROOT).as_posix() for each in found}


TABLE = [RandomMask(0.2), Identity()]
DATA = {
    "tables/digits": [DigitsTable(TABLE)],
    "graphs/digits": [DigitsGraph([NodeDrop(0.2)] * 2)],
    "images/digits": [DigitsImage([Identity()] * 2, Identity())],
    "images/cifar": [CIFAR10([Identity()] * 2, Identity()), CIFAR100([Identity()] * 2, Identity())],
    "tables/fake": [FakeTable(TABLE)],
    "graphs/fake": [FakeGraphs([NodeDrop(0.2)] * 2)],
    "images/fake": [FakeImages([Identity()] * 2, Identity())],
}


class TestSources:
    @pytest.mark.parametrize("cls", [CPC, DV, MLCPC, NWJ, RMLCPC, Renyi])
    def test_of_an_objective(self, cls):
        expected = {
            f"lightning_renyicl/objectives/{name}.py" for name in ("bounds", "critic", "functional", "objective")
        }
        assert provenance.sources([cls()]).keys() == {*expected, "lightning_renyicl/distributed.py"}

    def test_of_data(self):
        found = set(provenance.sources([DigitsTable(TABLE)]))
        used = {"digits", "tables/digits", "base", "tables/scaling", "sampler", "seeding", "augmentations/base"}
        assert {f"datamodules/{name}.py" for name in used} <= found
        others = {"images/cifar", "fake", "__init__", "images/base", "augmentations/__init__", "graphs/packed"}
        assert not {f"datamodules/{name}.py" for name in others} & found

    @pytest.mark.parametrize(("file", "data"), [(file, one) for file, all_ in DATA.items() for one in all_])
    def test_of_data_are_what_its_file_imports(self, file, data):
        assert set(provenance.sources([data])) == closure(ROOT / f"datamodules/{file}.py")

    def test_of_an_objective_are_what_its_file_imports(self):
        assert set(provenance.sources([RMLCPC()])) == closure(ROOT / "lightning_renyicl/objectives/bounds.py")

    def test_of_an_augmentation(self):
        assert "datamodules/tables/augmentations/cells.py" in provenance.sources([RandomMask(0.2)])

    def test_of_several_are_those_of_each(self):
        objective, data = RMLCPC(), DigitsTable(TABLE)
        both = provenance.sources([objective, data])
        assert both == provenance.sources([objective]) | provenance.sources([data])
        assert list(both) == sorted(both)

    def test_are_digests(self):
        for name, digest in provenance.sources([RMLCPC()]).items():
            assert digest == provenance.digest_of_code(ROOT / name)

    def test_of_a_class_of_the_users(self):
        class Own(RMLCPC):
            """Defined outside the project's packages."""

        assert provenance.sources([Own()]) == provenance.sources([RMLCPC()])

    @pytest.mark.parametrize("instances", [[], [None], [LightningModule()], [Path()]])
    def test_of_nothing_of_ours(self, instances):
        assert provenance.sources(instances) == {}

    @pytest.fixture
    def modules(self, tmp_path, monkeypatch):
        """Three modules of a made-up package: the first has a class, and uses the others as each wants."""
        monkeypatch.setattr(provenance, "ROOT", tmp_path)
        made = []
        for name in ("first", "second", "third"):
            module = ModuleType(f"datamodules.{name}")
            module.__file__ = str(tmp_path / f"{name}.py")
            Path(module.__file__).write_text(f"name = {name!r}\n")
            monkeypatch.setitem(sys.modules, module.__name__, module)
            made.append(module)
        made[0].Data = type("Data", (), {"__module__": made[0].__name__})
        return made

    def test_of_modules_used_as_a_whole(self, modules):
        first, second, third = modules
        first.second, second.third, third.first = second, third, first  # round and round
        assert list(provenance.sources([first.Data()])) == ["first.py", "second.py", "third.py"]

    def test_of_functions_and_instances(self, modules):
        first, second, third = modules
        first.function = lambda: None
        first.function.__module__ = second.__name__
        second.instance = type("Other", (), {"__module__": third.__name__})()
        assert list(provenance.sources([first.Data()])) == ["first.py", "second.py", "third.py"]

    def test_not_of_what_is_unused(self, modules):
        first, _, third = modules
        third.first = first
        assert list(provenance.sources([first.Data()])) == ["first.py"]

    def test_of_base_classes(self, modules):
        first, second, _ = modules
        child = type("Child", (first.Data,), {"__module__": second.__name__})
        assert list(provenance.sources([child()])) == ["first.py", "second.py"]

    def test_none_is_changed(self):
        assert provenance.changed_sources({"sources": provenance.sources([RMLCPC(), DigitsTable(TABLE)])}) == []


class TestChangedSources:
    @pytest.fixture
    def file(self, tmp_path, monkeypatch):
        monkeypatch.setattr(provenance, "ROOT", tmp_path)
        path = tmp_path / "package" / "box.py"
        path.parent.mkdir()
        path.write_text(CODE)
        return path

    @pytest.fixture
    def result(self, file):
        return {"sources": {"package/box.py": provenance.digest_of_code(file)}}

    def rewrite(self, file, old, new):
        file.write_text(CODE.replace(old, new))
        provenance.digest_of_code.cache_clear()

    def test_unchanged(self, result):
        assert provenance.changed_sources(result) == []

    def test_a_comment(self, file, result):
        self.rewrite(file, *SAME["comment"])
        assert provenance.changed_sources(result) == []

    def test_code(self, file, result):
        self.rewrite(file, *OTHER["constant"])
        assert provenance.changed_sources(result) == ["package/box.py has changed"]

    def test_gone(self, file, result):
        file.unlink()
        assert provenance.changed_sources(result) == ["package/box.py has changed"]

    def test_of_several_only_those_that_have(self, file, result):
        for name in ("other", "third"):
            file.with_name(f"{name}.py").write_text("x = 1\n")
            result["sources"][f"package/{name}.py"] = provenance.digest_of_code(file.with_name(f"{name}.py"))
        file.with_name("other.py").write_text("x = 2\n")
        provenance.digest_of_code.cache_clear()
        assert provenance.changed_sources(result) == ["package/other.py has changed"]

    @pytest.mark.parametrize("result", [{}, {"sources": {}}, {"metrics": {"top1": 0.5}}])
    def test_a_result_that_names_none(self, result):
        assert provenance.changed_sources(result) == []

    def test_a_file_that_is_being_edited(self, file, result):
        self.rewrite(file, "import math", "import math(")
        assert provenance.changed_sources(result) == ["package/box.py has changed"]


BEFORE = 10**18  # nanoseconds


def write(path, content, mtime_ns=BEFORE):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, ns=(mtime_ns, mtime_ns))


def recorded(*paths):
    """A result of some files, through JSON as a result goes, and with nothing remembered."""
    result = json.loads(json.dumps({"data": {"name": "Rows", "files": provenance.fingerprints(paths)}}))
    provenance.digest.cache_clear()
    return result


class TestFingerprints:
    def test_of_a_file(self, tmp_path):
        write(tmp_path / "rows.csv", b"a,b\n1,2\n")
        assert provenance.fingerprints([tmp_path / "rows.csv"]) == {
            str(tmp_path / "rows.csv"): {
                "size": 8,
                "mtime_ns": BEFORE,
                "sha256": hashlib.sha256(b"a,b\n1,2\n").hexdigest(),
            }
        }

    def test_of_a_folder(self, tmp_path):
        write(tmp_path / "images" / "b" / "2.png", b"two")
        write(tmp_path / "images" / "a.png", b"one.")
        (tmp_path / "images" / "empty").mkdir()
        found = provenance.fingerprints([tmp_path / "images"])[str(tmp_path / "images")]
        assert found["size"] == 7
        assert found["sha256"] == hashlib.sha256(b"a.png 4\nb/2.png 3").hexdigest()

    def test_of_nothing(self):
        assert provenance.fingerprints([]) == {}


class TestChangedFiles:
    @pytest.fixture
    def file(self, tmp_path):
        write(tmp_path / "rows.csv", b"1,2,3")
        return tmp_path / "rows.csv"

    def test_unchanged(self, file):
        assert provenance.changed_files(recorded(file)) == []

    def test_touched(self, file):
        result = recorded(file)
        os.utime(file, ns=(BEFORE + 1, BEFORE + 1))
        assert provenance.changed_files(result) == []

    @pytest.mark.parametrize(
        ("content", "later"),
        [(b"1,2,4", 1), (b"1,2,4", -1), (b"1,2", 0), (b"1,2,3,4", 0), (b"", 0), (b"1,2", 1)],
        ids=["same size", "same size, older", "shorter, same time", "longer, same time", "empty", "shorter"],
    )
    def test_other_content(self, file, content, later):
        result = recorded(file)
        write(file, content, BEFORE + later)
        assert provenance.changed_files(result) == [f"{file} has changed"]

    def test_same_size_and_time_are_taken_for_the_same_and_not_read(self, file, monkeypatch):
        result = recorded(file)
        write(file, b"1,2,4")
        monkeypatch.setattr(provenance, "digest", lambda path: pytest.fail("it was read"))
        assert provenance.changed_files(result) == []

    def test_gone(self, file):
        result = recorded(file)
        file.unlink()
        assert provenance.changed_files(result) == []

    def test_of_several_only_those_that_have(self, file, tmp_path):
        write(tmp_path / "other.csv", b"1")
        write(tmp_path / "third.csv", b"1")
        result = recorded(file, tmp_path / "other.csv", tmp_path / "third.csv")
        write(tmp_path / "other.csv", b"2", BEFORE + 1)
        (tmp_path / "third.csv").unlink()
        assert provenance.changed_files(result) == [f"{tmp_path / 'other.csv'} has changed"]

    def test_a_file_that_is_a_folder_now(self, file):
        result = recorded(file)
        file.unlink()
        write(file / "rows.csv", b"1,2,3")
        assert provenance.changed_files(result) == [f"{file} has changed"]

    @pytest.mark.parametrize(
        "result",
        [{}, {"data": None}, {"data": {}}, {"data": {"name": "FakeTable"}}, {"data": {"files": {}}}],
        ids=str,
    )
    def test_a_result_that_names_none(self, result):
        assert provenance.changed_files(result) == []


class TestChangedFolder:
    @pytest.fixture
    def folder(self, tmp_path):
        write(tmp_path / "images" / "cat" / "1.png", b"12345")
        write(tmp_path / "images" / "dog" / "2.png", b"123")
        return tmp_path / "images"

    @pytest.fixture
    def result(self, folder):
        return recorded(folder)

    def test_unchanged(self, result):
        assert provenance.changed_files(result) == []

    def test_touched(self, folder, result):
        for path in [folder, *folder.rglob("*")]:
            os.utime(path, ns=(BEFORE + 1, BEFORE + 1))
        assert provenance.changed_files(result) == []

    @pytest.mark.parametrize("others_time", [False, True])
    def test_a_name(self, folder, result, others_time):
        before = folder.stat().st_mtime_ns
        (folder / "cat" / "1.png").rename(folder / "cat" / "3.png")
        if others_time:
            before += 1
        os.utime(folder, ns=(before, before))
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    def test_a_file_in_another_folder(self, folder, result):
        (folder / "cat" / "1.png").rename(folder / "dog" / "1.png")
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    def test_a_size(self, folder, result):
        write(folder / "cat" / "1.png", b"1234567")
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    def test_sizes_of_the_same_sum(self, folder, result):
        write(folder / "cat" / "1.png", b"1234")
        write(folder / "dog" / "2.png", b"1234")
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    @pytest.mark.parametrize("content", [b"", b"new"])
    def test_one_more(self, folder, result, content):
        write(folder / "dog" / "3.png", content)
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    def test_one_less(self, folder, result):
        (folder / "dog" / "2.png").unlink()
        assert provenance.changed_files(result) == [f"{folder} has changed"]

    def test_an_empty_folder_is_nothing(self, folder, result):
        (folder / "bird").mkdir()
        assert provenance.changed_files(result) == []

    def test_gone(self, folder, result):
        folder.rename(folder.with_name("elsewhere"))
        assert provenance.changed_files(result) == []


class Idle(LightningModule):
    """Validates nothing, for an objective."""

    def __init__(self):
        super().__init__()
        self.objective = RMLCPC()

    def validation_step(self, batch, batch_idx):
        pass


class TestResult:
    """What ``result.json`` says of code and data."""

    @pytest.fixture
    def result(self, tmp_path):
        def _result(data, *callbacks):
            quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
            trainer = Trainer(
                accelerator="cpu", callbacks=[*callbacks, ResultJson()], default_root_dir=tmp_path, **quiet
            )
            trainer.validate(Idle(), data, verbose=False)
            return json.loads((tmp_path / "result.json").read_text())

        return _result

    def test_sources(self, result):
        data = DigitsTable(TABLE)
        sources = result(data)["sources"]
        for name, digest in (provenance.sources([RMLCPC()]) | provenance.sources([data])).items():
            assert sources[name] == digest

    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            (DigitsTable([Identity(), RandomMask(0.2)]), {"cells"}),
            (DigitsTable([Identity(), Compose([Identity(), RandomChoice([RandomMask(0.2), Identity()])])]), {"cells"}),
            (DigitsImage([Identity()] * 2, RandomMask(0.2)), {"cells"}),
            (DigitsTable([Identity()] * 2), set()),
        ],
        ids=["second view", "nested", "of evaluation", "none"],
    )
    def test_sources_of_augmentations(self, result, data, expected):
        added = result(data)["sources"].keys() - provenance.sources([data, RMLCPC()]).keys()
        assert added == {f"datamodules/tables/augmentations/{name}.py" for name in expected}

    def test_sources_are_those_that_ran(self, result, monkeypatch):
        """Not those of a file that was edited while the run trained."""

        class Edit(Callback):
            def on_validation_start(self, *_):
                monkeypatch.setattr(provenance, "digest_of_code", lambda file: "edited")

        assert "edited" not in result(DigitsTable(TABLE), Edit())["sources"].values()

    def test_data_without_files(self, result):
        samples = {"train": 1047, "val": 300, "test": 450}
        assert result(DigitsTable(TABLE))["data"] == {"name": "DigitsTable", "samples": samples, "files": {}}

    def test_data_with_files(self, result, tmp_path):
        write(tmp_path / "rows.csv", b"1,2,3")

        class Rows(DigitsTable):
            @property
            def files(self):
                return [tmp_path / "rows.csv"]

        found = result(Rows(TABLE))
        assert found["data"]["name"] == "Rows"
        assert list(found["data"]["files"]) == [str(tmp_path / "rows.csv")]
        assert provenance.changed_files(found) == []
        write(tmp_path / "rows.csv", b"1,2,4", BEFORE + 1)
        provenance.digest.cache_clear()
        assert provenance.changed_files(found) == [f"{tmp_path / 'rows.csv'} has changed"]

    def test_data_that_say_nothing_of_themselves(self):
        assert described(Path("rows.csv")) == {"name": type(Path()).__name__}


class TestFilesOfCIFAR:
    PARTS = {  # noqa: RUF012
        CIFAR10: ["cifar-10-batches-py/" + name for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]],
        CIFAR100: ["cifar-100-python/train", "cifar-100-python/test"],
    }
    ARCHIVE = {CIFAR10: "cifar-10-python.tar.gz", CIFAR100: "cifar-100-python.tar.gz"}  # noqa: RUF012

    @pytest.mark.parametrize("cls", [CIFAR10, CIFAR100])
    @pytest.mark.parametrize("also_unpacked", [False, True])
    def test_are_those_that_are_read(self, tmp_path, cls, also_unpacked):
        write(tmp_path / self.ARCHIVE[cls], b"packed")
        for name in self.PARTS[cls] if also_unpacked else self.PARTS[cls][:-1]:
            write(tmp_path / name, b"unpacked")
        expected = self.PARTS[cls] if also_unpacked else [self.ARCHIVE[cls]]
        assert cls([Identity()] * 2, Identity(), root=str(tmp_path)).files == [tmp_path / name for name in expected]
