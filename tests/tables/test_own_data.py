"""Public data sets laid out as users' own files, and a step of training on each of them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_digits

from lightning_renyicl import cli
from lightning_renyicl.tables import own_data

ROOT = Path(__file__).parents[2]
TABLES = {"letter": 20_000, "adult": 48_842, "connect4": 67_557, "sleep": 105_908, "covtype": 20_000, "higgs": 35_298}
SETS = [(name, "own_table", rows) for name, rows in (TABLES | {"digits": 1_797}).items()]
SETS += [("mutag", "own_graphs", 188), ("proteins", "own_graphs", 1_113), ("nci1", "own_graphs", 4_110)]
SETS += [("tiny_imagenet", "own_images", 11_000), ("cifar10", "own_images", 20_000)]


def test_without_archives(tmp_path, monkeypatch, capsys):
    """Those of scikit-learn are laid out, others are named; what is there stays."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_data, "graphs", lambda name: (_ for _ in ()).throw(OSError(f"no {name}")))
    own_data.main()
    told = capsys.readouterr()
    assert told.out == "digits: data/own/digits.csv\n"
    assert [line.split()[0] for line in told.err.splitlines()] == ["tiny_imagenet20", "MUTAG", "PROTEINS", "NCI1"]
    assert "data/tiny_imagenet20.tar" in told.err
    written = pd.read_csv("data/own/digits.csv")
    bunch = load_digits()
    assert (written.drop(columns="target").to_numpy() == bunch.data).all()
    assert (written["target"] == bunch.target).all()
    before = Path("data/own/digits.csv").stat().st_mtime_ns
    own_data.main()
    assert Path("data/own/digits.csv").stat().st_mtime_ns == before


def test_half_an_archive_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("data/own").mkdir(parents=True)
    source = tmp_path / "tiny_imagenet20"
    (source / "train").mkdir(parents=True)
    (source / "train/a.txt").write_bytes(os.urandom(200_000))
    shutil.make_archive(str(tmp_path / "data/tiny_imagenet20"), "tar", tmp_path, "tiny_imagenet20")
    archive = tmp_path / "data/tiny_imagenet20.tar"
    content = archive.read_bytes()
    archive.write_bytes(content[:100_000])
    monkeypatch.setattr(own_data, "graphs", lambda name: name)
    own_data.main()
    assert "tiny_imagenet20 is left out: unexpected end of data" in capsys.readouterr().err
    assert [path.name for path in Path("data/own").iterdir()] == ["digits.csv"]
    archive.write_bytes(content)
    assert (own_data.images("tiny_imagenet20") / "train/a.txt").read_bytes() == (source / "train/a.txt").read_bytes()


@pytest.fixture(scope="module")
def laid_out(data_root, tmp_path_factory):
    """A folder with ``data`` as a user would have it."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "data").mkdir()
    for kind in ("graphs", "tables", "images"):
        for path in (Path(data_root) / kind).iterdir():
            (folder / "data" / path.name.replace("cifar10_jpeg", "cifar10")).symlink_to(path.absolute())
    before = Path.cwd()
    os.chdir(folder)
    try:
        own_data.main()
    finally:
        os.chdir(before)
    return folder


@pytest.mark.data
@pytest.mark.parametrize(("name", "config", "samples"), SETS, ids=[name for name, *_ in SETS])
def test_a_step_on_each(laid_out, tmp_path, monkeypatch, name, config, samples):
    monkeypatch.chdir(laid_out)
    configs = [ROOT / f"configs/{config}.yaml", ROOT / f"configs/own/{name}.yaml", ROOT / "configs/scale/smoke.yaml"]
    flags = [part for path in configs for part in ("--config", str(path))]
    cli.run(["fit", *flags, "--trainer.callbacks", "null", "--trainer.default_root_dir", str(tmp_path / "run")])
    result = json.loads((tmp_path / "run/result.json").read_text())
    assert sum(result["data"]["samples"].values()) == samples
