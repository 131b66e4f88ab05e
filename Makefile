# Environment: VENV names it, PYTHON makes it. Extra flags of pytest go into ARGS.
PYTHON := $(or $(PYTHON),python3)
VENV ?= .venv
ARGS ?=
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test lint types imports format bench gpu-check

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/installed: setup.cfg pyproject.toml
	@$(PYTHON) -c '' || { echo 'PYTHON=$(PYTHON) does not run: name a Python 3.11 or later'; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed, PYTHON=$(PYTHON) is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(VENV)/installed ## train on digits as images, rows and graphs; results/demo.md and demo.png
	$(BIN)/python -m lightning_renyicl.demo

test: $(VENV)/installed ## the quick test suite; with DATA=folder also the tests on real data sets
	$(BIN)/python -m pytest -n 2 --dist worksteal $(if $(DATA),-m "not slow and not gpu") $(ARGS)

lint: $(VENV)/installed ## style
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/installed ## static types
	$(BIN)/mypy

imports: $(VENV)/installed ## which package may import which
	$(BIN)/lint-imports

format: $(VENV)/installed ## mend style in place
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/installed ## speed as ratios; results/bench.json
	$(BIN)/python -m tests.benchmarks $(ONLY)

gpu-check: ## the tests that need a GPU, with PYTHON's own packages
	PYTHONPATH=. $(PYTHON) -m pytest -m gpu -p no:cacheprovider tests $(ARGS)
