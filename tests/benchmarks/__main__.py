"""Runs all benchmarks, or those whose module is named, and merges them into ``results/bench.json``."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from pathlib import Path

from tests.benchmarks import (
    cli,
    corruption,
    graph,
    loader,
    logistic,
    methods,
    small_step,
    step,
    svm,
    tables,
    timing,
    vision,
)

SUITES = {
    "cli": cli.run,
    "table": step.run,
    "small": small_step.run,
    "methods": methods.run,
    "logistic": logistic.run,
    "corruption": corruption.run,
    "vision": vision.run,
    "tables": tables.run,
}
ON_REAL_DATA = {"graph": graph.run, "eval": svm.run, "loader": loader.run}


def main(names: list[str]) -> None:
    """Prints a line a benchmark."""
    known = [*SUITES, *ON_REAL_DATA]
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"error: ONLY takes {', '.join(known)}, got {', '.join(sorted(unknown))}")
    root = Path(os.environ["DATA"]) if os.environ.get("DATA") else None
    if root is None and set(names) & set(ON_REAL_DATA):
        sys.exit(
            "error: graph, eval and loader need DATA=folder with TU archives in graphs/ and images/tiny_imagenet20.tar"
        )
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    for name in names or [*SUITES, *(ON_REAL_DATA if root else ())]:
        results = SUITES[name]() if name in SUITES else ON_REAL_DATA[name](root)
        for key, result in results.items():
            print(f"{key}: {result['ratio']} ({result['median_s']} s / {result['floor_s']} s, n = {result['n']})")
        timing.merge(results, Path("results/bench.json"))


if __name__ == "__main__":
    main(sys.argv[1:])
