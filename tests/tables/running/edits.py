"""Replays of tiny runs by edited copies of the code; prints as JSON what differs from the code as it is.

A process of its own: it has imported what the project imports and nothing of the project, so that each of its forks
imports an edited copy at little cost.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = ("lightning_renyicl", "datamodules")
LIBRARIES = (
    "lightning.pytorch.cli",
    "jsonargparse",
    "torchmetrics.classification",
    "torch_geometric.data",
    "sklearn.ensemble",
    "sklearn.svm",
    "timm.optim",
    "tensorboard.summary.writer.event_file_writer",
    "pandas",
    "tqdm",
)
ROWS = """\
seed_everything: 0
trainer:
  max_epochs: 40
  callbacks:
    - class_path: OnlineProbe
    - class_path: InformationEstimate
    - class_path: FrozenFeatures
      init_args:
        protocols:
          - class_path: LinearSGD
            init_args: {learning_rates: [0.1, 1.0], epochs: 10}
          - class_path: KNN
          - class_path: PseudoInverse
          - class_path: GradientBoosting
            init_args: {trees: 20}
    - class_path: RawColumns
      init_args: {protocols: [{class_path: KNN}]}
model:
  class_path: TabularModule
  init_args:
    backbone: {class_path: MLP, init_args: {widths: [16, 16], maxout_sets: 2}}
    projector: {class_path: MLPHead, init_args: {widths: [8, 4]}}
    objective: {class_path: RMLCPC, init_args: {alpha: 0.01, gamma: 1.5, temperature: 0.3}}
    optimizer: {class_path: torch.optim.SGD, init_args: {lr: 0.5, momentum: 0.9}}
    scheduler: {class_path: lightning_renyicl.optim.WarmupCosine, init_args: {warmup_epochs: 5}}
    momentum: 0.9
data:
  class_path: FakeTable
  init_args:
    batch_size: 32
    num_samples: 200
    in_features: 6
    views: [{class_path: RandomMask, init_args: {rate: 0.5}}, {class_path: RandomMask, init_args: {rate: 0.5}}]
"""
GRAPHS = """\
seed_everything: 0
trainer:
  max_epochs: 20
  callbacks: [{class_path: RBFSVM, init_args: {folds: 2, inner_folds: 2}}]
model:
  class_path: GraphModule
  init_args:
    backbone: {class_path: GIN, init_args: {width: 8, layers: 2}}
    projector: {class_path: MLPHead, init_args: {widths: [16, 16]}}
    objective: {class_path: CPC, init_args: {alpha: 0.01, temperature: 0.2, symmetric: false}}
    optimizer: {class_path: torch.optim.Adam, init_args: {lr: 0.01}}
data:
  class_path: FakeGraphs
  init_args: {batch_size: 32, num_samples: 64, views: [{class_path: Identity}, {class_path: NodeDrop}]}
"""
PAIRS = """\
seed_everything: 0
trainer:
  max_epochs: 2
  callbacks: [{class_path: InformationError}]
model:
  class_path: CriticModule
  init_args:
    critic: {class_path: lightning_renyicl.mutual_information.JointCritic, init_args: {width: 16}}
    objective: {class_path: RMLCPC, init_args: {alpha: 0.01, gamma: 2.0, temperature: 1.0}}
    optimizer: {class_path: torch.optim.Adam, init_args: {lr: 0.001}}
data:
  class_path: StepwisePairs
  init_args:
    pairs: {class_path: GaussianPairs, init_args: {dimensions: 4}}
    nats: [2.0, 4.0]
    steps: 50
    batch_size: 32
"""
CONFIGS = {"rows": ROWS, "graphs": GRAPHS, "pairs": PAIRS}


@dataclass(frozen=True)
class Edit:
    """A change of a file of the code.

    Attributes:
        file: its path.
        old: a text that it has once, which makes way.
        new: what takes its place.
        config: the run that is replayed.
        shows: a part of the names of all values that have to differ, and no others; the empty string: whatever.
    """

    file: str
    old: str
    new: str
    config: str = "rows"
    shows: str = ""

    def apply(self, tree: Path) -> None:
        path = tree / self.file
        text = path.read_text()
        assert text.count(self.old) == 1, f"{self.file} has {text.count(self.old)} times {self.old!r}"
        path.write_text(text.replace(self.old, self.new))


@dataclass(frozen=True)
class Move(Edit):
    """The move of a module, whose imports follow."""

    def apply(self, tree: Path) -> None:
        (tree / self.file).rename(tree / self.new)
        dotted = [name.removesuffix(".py").replace("/", ".") for name in (self.file, self.new)]
        for path in tree.rglob("*.py"):
            text = path.read_text()
            if dotted[0] in text:
                path.write_text(text.replace(f"{dotted[0]} import", f"{dotted[1]} import"))


CORE = "lightning_renyicl"
REAL = {
    "momentum that is constant": Edit(
        f"{CORE}/momentum.py",
        "progress = min(step / (total_steps - 1), 1.0) if total_steps > 1 else 1.0",
        "progress = 0.0",
    ),
    "loss times two": Edit(f"{CORE}/modules/base.py", '{"loss": loss, "feat', '{"loss": 2 * loss, "feat'),
    "GIN without BatchNorm": Edit(f"{CORE}/encoders/gin.py", "x = norm(perceptron(", "x = (perceptron(", "graphs"),
    "no warm-up": Edit(f"{CORE}/optim.py", "= round(warmup_epochs * steps_per_epoch)", "= 0"),
    "last tenth of the schedule": Edit(
        f"{CORE}/optim.py", "return (1.0 + math.cos(", "return 0.0 if progress > 0.9 else (1.0 + math.cos("
    ),
    "worst cost of RBFSVM": Edit(
        f"{CORE}/evaluation/nested_svm.py", "int(means.argmax())", "int(means.argmin())", "graphs", "svm/"
    ),
    "rate of OnlineProbe": Edit(
        f"{CORE}/evaluation/online_probe.py", "lr=self.learning_rate", "lr=2 * self.learning_rate", shows="nline"
    ),
    "momentum of LinearSGD": Edit(
        f"{CORE}/evaluation/linear_sgd.py", "momentum=0.9", "momentum=0.8", shows="linear_sgd"
    ),
    "samples of KNN": Edit(f"{CORE}/evaluation/knn.py", "samples = train + val", "samples = train", shows="knn"),
    "constant of PseudoInverse": Edit(
        f"{CORE}/evaluation/pseudo_inverse.py", "value=1.0", "value=0.0", shows="pseudo_inverse"
    ),
    "trees of GradientBoosting": Edit(
        f"{CORE}/evaluation/gradient_boosting.py", "max_iter=self.trees", "max_iter=1", shows="boosting"
    ),
    "columns of RawColumns": Edit(
        "datamodules/base.py", "rows: Tensor = x.flatten(1)", "rows: Tensor = x.flatten(1).tanh()", shows="raw/"
    ),
    "variance of InformationError": Edit(
        f"{CORE}/callbacks/information_error.py", "correction=0", "correction=1", "pairs", "information_error"
    ),
    "views of InformationEstimate": Edit(
        f"{CORE}/callbacks/information_estimate.py", "target[1])", "target[0])", shows="mutual_information/"
    ),
}
NONE = {
    "a timeout": Edit("datamodules/download.py", "TIMEOUT = 30.0", "TIMEOUT = 31.0"),
    "wording of an error": Edit(f"{CORE}/objectives/functional.py", "alpha must be in", "alpha is to be in"),
    "a new objective": Edit(
        f"{CORE}/objectives/bounds.py", "class RMLCPC(", "class Another(CPC):\n    pass\n\n\nclass RMLCPC("
    ),
    "a parameter renamed": Edit(
        "datamodules/base.py",
        "function: Callable[[Tensor], Tensor]) -> Any:",
        "convert: Callable[[Tensor], Tensor]) -> Any:\n    function = convert",
    ),
    "a module moved": Move("datamodules/base.py", "", "datamodules/in_memory.py"),
}


def replay(edit: Edit | None, config: str, folder: Path) -> dict[str, list[float]]:
    """What a fork logs that imports a copy of the code."""
    tree = folder / "tree"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tree / package, ignore=shutil.ignore_patterns("__pycache__"))
    if edit is not None:
        edit.apply(tree)
    (folder / "configs").mkdir()
    (folder / f"configs/{config}.yaml").write_text(CONFIGS[config])
    child = os.fork()
    if not child:
        log = os.open(folder / "log.txt", os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        try:
            os.chdir(folder)
            sys.path.insert(0, str(tree))
            from lightning_renyicl.tables.running.replay import Replay
            from lightning_renyicl.tables.training import Run, Training

            run = Run(Training("edits", "small", config, (f"configs/{config}.yaml",), "test"), 0, Path("runs"))
            Replay(run, Path("replay.json"))()
            assert Path(sys.modules["datamodules"].__file__).is_relative_to(tree)
        except (Exception, SystemExit):
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError((folder / "log.txt").read_text())
    return json.loads((folder / "replay.json").read_text())["values"]


def main() -> None:
    for library in LIBRARIES:
        import_module(library)
    edits = REAL | NONE
    jobs = [(name, None, name) for name in CONFIGS] + [(name, edit, edit.config) for name, edit in edits.items()]
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folders = [Path(name) / str(number) for number in range(len(jobs))]
        values = dict(
            zip([job[0] for job in jobs], pool.map(lambda job, at: replay(*job[1:], at), jobs, folders), strict=True)
        )
    sys.path.insert(0, str(ROOT))
    from lightning_renyicl.tables.running.replay import Recorded, differences

    found: dict[str, dict[str, list[str]]] = {}
    for kind in ("", "another"):
        pairs = {name: (values[edit.config], values[name]) for name, edit in edits.items()}
        found[kind] = {name: differences(Recorded(one), Recorded(two, kind)) for name, (one, two) in pairs.items()}
    print(json.dumps({"replays": values, "differences": found[""], "across": found["another"]}))


if __name__ == "__main__":
    main()
