"""Runs all benchmarks, or those whose module is named, and merges them into ``results/bench.json``."""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path

from tests.benchmarks import cli, step, tables, timing

SUITES = {"cli": cli.run, "table": step.run, "tables": tables.run}


def main(names: list[str]) -> None:
    """Prints a line a benchmark."""
    unknown = set(names) - set(SUITES)
    if unknown:
        sys.exit(f"error: ONLY takes {', '.join(SUITES)}, got {', '.join(sorted(unknown))}")
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    for name in names or SUITES:
        results = SUITES[name]()
        for key, result in results.items():
            print(f"{key}: {result['ratio']} ({result['median_s']} s / {result['floor_s']} s, n = {result['n']})")
        timing.merge(results, Path("results/bench.json"))


if __name__ == "__main__":
    main(sys.argv[1:])
