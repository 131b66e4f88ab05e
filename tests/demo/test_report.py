"""The demo's table says what the outcomes say, also where RényiCL loses."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jsonargparse")

from lightning_renyicl.demo import report, scores
from lightning_renyicl.demo.runs import CONFIGS, Job, Outcome, mean_and_std


def outcomes(renyicl):
    rng = np.random.default_rng(0)
    maps = {name: (rng.normal(size=(40, 2)), np.arange(40) % 10) for name in report.ENCODINGS}
    return [
        Outcome(
            job=Job(domain, seed),
            scores={
                "raw": {"all": 0.5, "few": 0.4},
                "untrained": {"all": 0.6 + 0.01 * seed, "few": 0.3},
                "renyicl": {"all": renyicl, "few": 0.8},
            },
            curve=[(1, 0.2), (2, 0.4)],
            maps=maps if seed == 0 else {},
            seconds=10.0 + seed,
        )
        for domain in CONFIGS
        for seed in range(3)
    ]


def test_cells_are_means_and_deviations_over_seeds():
    lines = report.table(outcomes(0.9)).splitlines()
    cells = [cell.strip() for cell in next(line for line in lines if line.startswith("| graph")).split("|")[1:-1]]
    row = ["50.0 ± 0.0", "40.0 ± 0.0", "61.0 ± 1.0", "30.0 ± 0.0", "90.0 ± 0.0", "80.0 ± 0.0", "11"]
    assert cells == ["graph", *row]
    assert "RényiCL is ahead of raw input and untrained encoder in every row." in lines


def test_it_says_where_another_is_ahead():
    text = report.table(outcomes(0.55))
    assert "As image with all labels, the untrained encoder is ahead of RényiCL." in text
    assert "in every row" not in text
    assert "10 a class, the" not in text


def test_the_picture_is_drawn(tmp_path):
    report.picture(outcomes(0.9), tmp_path / "demo.png")
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_spread_is_that_of_a_sample():
    assert mean_and_std([0.1, 0.3]) == pytest.approx((20.0, 10 * 2**0.5))


def test_a_probe_of_labels_themselves_is_right_and_of_noise_is_not():
    import torch

    from datamodules import DigitsTable
    from datamodules.augmentations import Identity

    data = DigitsTable([Identity(), Identity()])
    data.setup()
    pixels = scores.probe(data, data.raw_input, seed=0)
    assert pixels["few"] < pixels["all"]
    assert pixels["all"] > 0.9
    noise = scores.probe(data, lambda x: torch.randn(len(x), 8, generator=torch.Generator().manual_seed(0)), seed=0)
    assert noise["all"] < 0.2
    assert noise["few"] < 0.2
