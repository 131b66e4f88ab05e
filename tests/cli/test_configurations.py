"""Every configuration runs, overlays change what they say, and the last word wins."""

from __future__ import annotations

import io
import json
import math
from itertools import cycle
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml
from PIL import Image
from torch_geometric.data import Data

from datamodules import StepwisePairs
from datamodules.graphs.tu import KNOWN
from lightning_renyicl import cli, objectives

CONFIGS = Path(__file__).parents[2] / "configs"
OBJECTIVES = {
    "cpc": ("CPC", {"alpha": 1 / 4096}),
    "graphcl": ("CPC", {"alpha": 0.0, "temperature": 0.2}),
    "infonce": ("CPC", {"alpha": None}),
    "mlcpc": ("MLCPC", {"alpha": 1 / 4096}),
    "rmlcpc": ("RMLCPC", {"alpha": 1 / 4096, "gamma": 2.0}),
    "dv": ("DV", {"alpha": 0.0}),
    "nwj": ("NWJ", {"alpha": 0.0}),
    "renyi": ("Renyi", {"gamma": 2.0}),
}
EPOCHS = {100: 0.15, 200: 0.075, 300: 0.075}
"""Base learning rates of the paper for ImageNet, by the length of training; none is given for 300 epochs."""
SHOWN = ("digits_image_hard", "cifar10_hard", "stl10_limited", "imagenet100_hard", "imagenet_multicrop")
"""Configurations of images that the quick suite trains; the others differ from them in data or strength alone."""
IMAGES = sorted(path.stem for path in CONFIGS.glob("*.yaml") if "VisionModule" in path.read_text())
BELOW = {
    "image": ["cifar100_hard.yaml"],
    "grids": ["cifar100_hard.yaml"],
    "graph": ["mutag.yaml"],
    "graphcl_legacy": ["mutag.yaml"],
    **{name: ["mutag.yaml"] for name in ["infograph", "joao", "joao_v2", "constant_feature"]},
    **{name: ["mutag.yaml", "methods/joao.yaml"] for name in ["joao0.01", "joao0.1", "joao1.0"]},
    "pairs": ["gaussian_mi.yaml"],
    "own": ["own_table.yaml"],
    "transfer": ["cifar100_hard.yaml"],
    "few_labels": ["own_table.yaml"],
    "imagenet_infomin": ["imagenet100_base.yaml"],
    "cifar10_infomin": ["cifar10_base.yaml"],
    **{f"{name}_crops": [f"{name}_base.yaml"] for name in ("imagenet", "cifar10", "cifar100")},
    "own_crops": ["cifar10_base.yaml"],
    "mixing2.0": ["covtype_none.yaml", "methods/imix_npair.yaml"],
    "imagenet_clsa": ["imagenet100_base.yaml"],
    "cifar10_clsa": ["cifar10_base.yaml"],
    "imagenet_smoke": ["imagenet100_base.yaml", "scale/image/smoke.yaml"],
}
"""What an overlay is for, by its name or that of its folder."""
PATHS = sorted(path for path in CONFIGS.rglob("*.yaml") if path.parent.name != "tables")
PUBLIC = {path.stem for path in (CONFIGS / "own").iterdir() if "data/" in path.read_text()}
"""Public data as a user's own files, which a test of real data trains on."""
UNTRAINED = [
    pytest.param(path, marks=pytest.mark.slow) if path.parent.name in ("grids", "augmentations", "transfer") else path
    for path in PATHS
    if path.stem not in {*IMAGES, *PUBLIC, "finetune", "linear_evaluation"} and path.parent.name != "objectives"
]
"""All that no test below trains; reading a configuration costs as much as a small training. Tables read the grids, and
test_transfer.py runs a few of the transfer tasks."""
DIGITS = ["digits_image_hard", "digits_table_hard", "digits_graph"]


@pytest.fixture
def resolve(command):
    """The objective that a command line comes to."""

    def _resolve(*args):
        outcome = command("fit", *args, "--print_config")
        assert outcome.code == 0, outcome.err
        return yaml.safe_load(outcome.out)

    return _resolve


def hub_folder(folder):
    """A few images of one colour as the Hugging Face hub has them."""
    folder.mkdir(parents=True)
    images = []
    for number in range(8):
        stored = io.BytesIO()
        Image.new("RGB", (32, 32), (30 * number, 90, 0)).save(stored, "JPEG")
        images.append({"bytes": stored.getvalue(), "path": None})
    for split in ("train", "test"):
        pd.DataFrame({"img": images, "label": [0, 1] * 4, "fine_label": [0, 1, 2, 3] * 2}).to_parquet(
            folder / f"{split}-00000-of-00001.parquet"
        )


def objective(config):
    found = config["model"]["init_args"]["objective"]
    return found["class_path"].rsplit(".")[-1], found.get("init_args", {})


def test_every_objective_has_an_overlay():
    assert {path.stem for path in (CONFIGS / "objectives").iterdir()} == set(OBJECTIVES)
    paths = [path for folder in ("objectives", "methods") for path in (CONFIGS / folder).iterdir()]
    named = {objective(yaml.safe_load(path.read_text()))[0] for path in paths}
    classes = {name for name in objectives.__all__ if issubclass(getattr(objectives, name), objectives.Objective)}
    assert named == classes - {"CosineCritic", "Objective"}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_overlay_sets_all_but_the_domains_own(resolve, fake, name):
    own = ["--model.objective.temperature", "0.3", "--model.objective.symmetric", "false"]
    own += ["--model.objective.same_view", "true"]
    found, arguments = objective(resolve("--config", fake, *own, "--config", CONFIGS / f"objectives/{name}.yaml"))
    expected_class, expected = OBJECTIVES[name]
    assert found == expected_class
    assert arguments == {"temperature": 0.3, "symmetric": False, "same_view": False, **expected}


@pytest.mark.parametrize("name", ["hcl", "jsd", "mine", "rince", "rpc"])
def test_overlay_of_a_method_sets_all_but_the_domains_own(resolve, fake, name):
    """What the objective before it had, or was given, does not stay; but for RPC's temperature, which is RPC's."""
    own = ["--model.objective.temperature", "0.3", "--model.objective.symmetric", "false"]
    overlay = CONFIGS / f"methods/{name}.yaml"
    found, arguments = objective(resolve("--config", fake, *own, "--config", overlay))
    stated = objective(yaml.safe_load(overlay.read_text()))
    assert (found, arguments) == (stated[0], {"temperature": 0.3, "symmetric": False, **stated[1]})
    assert ("temperature" in stated[1]) == (name == "rpc")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.relative_to(CONFIGS).as_posix())
def test_starts_with_its_command(path):
    first = path.read_text().splitlines()[0]
    name = path.relative_to(CONFIGS.parent).as_posix()
    assert first.startswith("#")
    assert f"--config {name}" in first


@pytest.mark.parametrize("path", UNTRAINED, ids=lambda path: path.relative_to(CONFIGS).as_posix())
def test_is_instantiated(path, tmp_path, monkeypatch, fake):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli.RenyiCLI, "_run_subcommand", lambda *_: None)  # nothing is set up, no data are read
    (tmp_path / "mine.csv").write_text("a,label\n" + "1,x\n2,y\n" * 20)  # but for the user's own
    if path.stem == "own_graphs":
        torch.save(
            [Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 0]]), y=y) for y in (0, 1) * 20], "mine.pt"
        )
    if path.stem in ("cifar10_hub", "cifar100_hub"):
        hub_folder(tmp_path / "data" / path.stem.removesuffix("_hub"))
    below = BELOW.get(path.stem, BELOW.get(path.parent.name, [fake]))
    if path.parent == CONFIGS / "scale/methods":
        below = [fake, f"methods/{path.name}"]
    base = [] if path.parent == CONFIGS else [arg for name in below for arg in ("--config", str(CONFIGS / name))]
    built = cli.run(["fit", *base, "--config", str(path)])
    assert sum(p.numel() for p in built.model.parameters() if p.requires_grad) > 0
    if not isinstance(built.datamodule, StepwisePairs):
        assert built.datamodule.num_classes > 1 or path.stem == "voc2007"  # whose images are of several
        least = 1 if path.stem.endswith("_crops") else min(2, built.model.objective.views)
        assert len(built.datamodule.views) >= least


@pytest.mark.parametrize("name", ["infonce", "nwj", "renyi", "rmlcpc"])
def test_an_objective_trains_a_critic_of_pairs(tmp_path, command, name):
    overlays = ["gaussian_mi", "scale/pairs/smoke", f"objectives/{name}"]
    configs = [arg for overlay in overlays for arg in ("--config", str(CONFIGS / f"{overlay}.yaml"))]
    assert command("fit", *configs).code == 0
    (run,) = (tmp_path / "runs").glob("*/seed0")
    metrics = json.loads((run / "result.json").read_text())["metrics"]
    assert {f"information_error/{nats}/invalid" for nats in (2, 4, 8, 16)} <= metrics.keys()
    logged = pd.read_csv(run / "metrics.csv")
    assert logged["train/nats"].dropna().unique().tolist() == [2, 4, 8, 16]
    for action in ("validate", "test") if name == "rmlcpc" else ():  # they know no objectives
        assert command(action, "--ckpt_path", run / "checkpoints/last.ckpt").code == 0
        metrics = json.loads((run / action / "result.json").read_text())["metrics"]
        assert {key.split("/")[1] for key in metrics} == {"16", "estimate", "other"}


def test_an_objective_whose_critic_tells_nothing_is_refused_in_a_line(command):
    configs = [
        arg for name in ("gaussian_mi", "scale/pairs/smoke") for arg in ("--config", str(CONFIGS / f"{name}.yaml"))
    ]
    outcome = command("fit", *configs, "--model.objective", "HCL")
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert "no mutual information can be read off a critic that HCL trains" in line


@pytest.mark.parametrize(("name", "domain"), zip(OBJECTIVES, cycle(DIGITS)))
def test_every_objective_trains(tmp_path, monkeypatch, domain, name):
    """In one domain each: an objective knows embeddings only."""
    monkeypatch.chdir(tmp_path)
    overlays = [domain, "scale/smoke", f"objectives/{name}"]
    configs = [arg for overlay in overlays for arg in ("--config", str(CONFIGS / f"{overlay}.yaml"))]
    quiet = ["--trainer.enable_progress_bar=false", "--trainer.enable_model_summary=false"]
    small = [
        *("--data.batch_size=16", "--trainer.accelerator=cpu"),
        *("--trainer.logger=false", "--trainer.enable_checkpointing=false"),
    ]
    command = cli.run(["fit", *configs, *quiet, *small])
    assert command.trainer.global_step == 2
    own = yaml.safe_load((CONFIGS / f"{domain}.yaml").read_text())["model"]["init_args"]["objective"]["init_args"]
    assert vars(command.model.objective).items() >= {"temperature": own["temperature"], **OBJECTIVES[name][1]}.items()
    assert type(command.model.objective).__name__ == OBJECTIVES[name][0]
    assert torch.isfinite(command.trainer.callback_metrics["train/loss"])
    assert all(torch.isfinite(p).all() for p in command.model.parameters())
    assert (tmp_path / f"runs/{domain}+smoke+{name}/seed0/result.json").exists()


@pytest.mark.parametrize(
    "name", [name if name in SHOWN else pytest.param(name, marks=pytest.mark.slow) for name in IMAGES]
)
def test_every_image_configuration_takes_a_step(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    overlays = [name, "scale/smoke", "scale/image/smoke"]
    overlays += ["scale/image/imagenet_smoke"] if name.startswith("imagenet") else []
    configs = [arg for overlay in overlays for arg in ("--config", str(CONFIGS / f"{overlay}.yaml"))]
    quiet = ["--trainer.enable_progress_bar=false", "--trainer.enable_model_summary=false", "--trainer.logger=false"]
    small = [
        *("--data.batch_size=4", "--data.num_samples=40", "--trainer.limit_train_batches=1"),
        *("--trainer.limit_val_batches=1", "--trainer.precision=32", "--trainer.accelerator=cpu"),
        # not 8: with AVX-512 oneDNN's backward of a strided 1 x 1 convolution of 8 channels writes beyond its memory
        *("--model.backbone.init_args.width=16", "--trainer.enable_checkpointing=false"),
    ]
    command = cli.run(["fit", *configs, *quiet, *small])
    assert command.trainer.global_step == 1
    assert command.datamodule.num_classes > 1
    assert len(command.datamodule.views) >= 2
    assert torch.isfinite(command.trainer.callback_metrics["train/loss"])
    assert all(torch.isfinite(p).all() for p in command.model.parameters())
    (scores,) = command.trainer.test(command.model, datamodule=command.datamodule, verbose=False)
    evaluated_linearly = not name.startswith(("digits", "imagenet_", "own_"))
    assert ("linear_sgd/top1" in scores) == evaluated_linearly


@pytest.mark.parametrize("epochs", EPOCHS)
def test_learning_rate_of_a_length_of_training(epochs):
    overlay = yaml.safe_load((CONFIGS / f"grids/epochs{epochs}.yaml").read_text())
    batch_size = yaml.safe_load((CONFIGS / "imagenet_multicrop.yaml").read_text())["data"]["init_args"]["batch_size"]
    rate = overlay["model"]["init_args"]["optimizer"]["init_args"]["lr"]
    assert rate == pytest.approx(EPOCHS[epochs] * math.sqrt(batch_size), abs=0.005)
    assert overlay["trainer"]["max_epochs"] == epochs


def test_configurations_of_a_protocol_differ_in_what_was_chosen_for_the_data_alone():
    protocols = []
    for name in ("mutag", "nci1", "proteins", "dd", "collab", "rdt_b", "rdt_m5k", "imdb_b"):
        protocol = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())
        data = protocol["data"]["init_args"]
        assert data.pop("name") in KNOWN
        data.pop("max_degree", None)
        assert data["views"].pop()["class_path"] == "GraphCL"
        protocols.append(protocol)
    assert all(protocol == protocols[0] for protocol in protocols)


def test_printed_configuration_comes_to_itself(command, tmp_path, fake):
    first = command("fit", "--config", fake, "--model.objective", "CPC", "--print_config")
    (tmp_path / "printed.yaml").write_text(first.out)
    second = command("fit", "--config", "printed.yaml", "--print_config")
    assert (first.code, second.code) == (0, 0)
    assert yaml.safe_load(second.out) == yaml.safe_load(first.out)
    assert command("fit", "--config", "printed.yaml", "--trainer.max_epochs", "1").code == 0


def test_a_bare_class_keeps_arguments_of_the_same_name(resolve, fake):
    found, arguments = objective(resolve("--config", fake, "--model.objective", "CPC"))
    assert found == "CPC"
    assert arguments == {"alpha": 0.01, "temperature": 0.3, "symmetric": True, "same_view": False}


class TestTheLastWins:
    @pytest.mark.parametrize(("order", "epochs"), [("ab", 7), ("ba", 3), ("a flag", 5), ("flag a", 3)])
    def test_of_configurations_and_flags(self, resolve, tmp_path, fake, order, epochs):
        (tmp_path / "a.yaml").write_text("trainer: {max_epochs: 3}\n")
        (tmp_path / "b.yaml").write_text("trainer: {max_epochs: 7}\n")
        words = {"a": ["--config", "a.yaml"], "b": ["--config", "b.yaml"], "flag": ["--trainer.max_epochs", "5"]}
        parts = order.split() if " " in order else order
        config = resolve("--config", fake, *[arg for part in parts for arg in words[part]])
        assert config["trainer"]["max_epochs"] == epochs

    def test_of_flags(self, resolve, fake):
        config = resolve("--config", fake, "--data.batch_size", "8", "--data.batch_size=32")
        assert config["data"]["init_args"]["batch_size"] == 32

    def test_a_checkpoint_comes_before_them(self, resolve, tmp_path, fake):
        stored = {"_class_path": "datamodules.FakeTable", "batch_size": 4, "num_samples": 44}
        parts = {"state_dict": {}, "optimizer_states": [{"param_groups": [{}]}], "lr_schedulers": [], "callbacks": {}}
        parts |= {"loops": {"fit_loop": {"state_dict": {}}}, "datamodule_hyper_parameters": stored}
        torch.save({"pytorch-lightning_version": "2.6.0", **parts}, tmp_path / "x.ckpt")
        config = resolve("--config", fake, "--ckpt_path", "x.ckpt", "--data.batch_size", "8")
        assert config["data"]["init_args"]["batch_size"] == 8
        assert config["data"]["init_args"]["num_samples"] == 80


@pytest.mark.parametrize("name", ["imagenet100_hard", "imagenet_hard", "imagenet_multicrop"])
def test_global_views_of_imagenet_are_the_authors(name):
    """The mean colour fills what RandAugment uncovers, and the second view is solarised before it is gray."""
    data = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())["data"]["init_args"]
    first, second = ([one["class_path"] for one in v["init_args"]["augmentations"]] for v in data["views"][:2])
    assert first[2:5] == ["GaussianBlur", "RandAugment", "Grayscale"]
    assert second[2:6] == ["GaussianBlur", "RandAugment", "Solarize", "Grayscale"]
    for view in data["views"][:2]:
        assert view["init_args"]["augmentations"][3]["init_args"]["fill"] == [124, 116, 104]
