# Environment: VENV names it, PYTHON makes it. Extra flags of pytest go into ARGS.
# Tables: SCALE is smoke, small or paper. JOBS runs at a time; DRY=1 only estimates; RERUN=stale makes runs again whose
# configuration, data or replay has changed; COLUMN=CIFAR-10 makes runs of such columns only; FLAGS go to every training,
# such as FLAGS=--data.root=FOLDER. On a cluster: LAUNCHER=slurm, with PARTITION, GPUS, CPUS and MINUTES of a job.
PYTHON := $(or $(PYTHON),python3)
VENV ?= .venv
ARGS ?=
SCALE ?= small
FIGURES := figure-mi figure-gaussian-mi
TABLES := $(addprefix table,1 2 3 4 5 6 7 8 9 10 11 12 13 14 15) table-digits table-own $(FIGURES)
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo notebooks own-data check-results show-augmentations test soak lint types imports format bench gpu-check tables $(TABLES)

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20
	@echo
	@echo 'tables take SCALE=smoke|small|paper JOBS=n COLUMN=label DRY=1 RERUN=stale FLAGS=--data.root=FOLDER RUNS=folder RESULTS=folder'
	@echo 'LAUNCHER=slurm PARTITION=name GPUS=n CPUS=n MINUTES=n'

$(VENV)/installed: setup.cfg pyproject.toml
	@$(PYTHON) -c '' || { echo 'PYTHON=$(PYTHON) does not run: name a Python 3.11 or later'; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed, PYTHON=$(PYTHON) is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(VENV)/installed ## train on digits as images, rows and graphs; runs/demo/demo.md and demo.png
	$(BIN)/python -m lightning_renyicl.demo

notebooks: $(VENV)/installed ## run the notebooks again and keep their outputs; ONLY=notebooks/NAME.ipynb
	$(BIN)/python notebooks/execute.py $(ONLY)

own-data: $(VENV)/installed ## public data as users' own files, in data/own, from archives in data and scikit-learn
	$(BIN)/python -m lightning_renyicl.tables.own_data

tables: $(VENV)/installed ## list the tables and their state
	@$(BIN)/python -m lightning_renyicl.tables --scale $(SCALE) $(if $(RUNS),--runs $(RUNS)) \
	  $(if $(FLAGS),--flags="$(FLAGS)")

table1: ## ImageNet, linear evaluation
table2: ## ImageNet, semi-supervised
table3: ## transfer to object classification
table4: ## methods with hard augmentations
table5: ## objectives and augmentations, images and rows
table6: ## graphs
table7: ## alpha
table8: ## MoCo v3, DINO and RényiCL with one augmentation
table9: ## noisy crop
table10: ## limited augmentation
table11: ## data sets of the transfer tasks
table12: ## few-shot classification
table13: ## linear transfer
table14: ## rows
table15: ## temperature
table-digits: ## objectives and augmentations on digits; not in the paper
table-own: own-data ## is pretraining worth it on one's own data; not in the paper
figure-mi: ## mutual information between views against accuracy
figure-gaussian-mi: ## mutual information of Gaussians

$(TABLES): $(VENV)/installed
	$(BIN)/python -m lightning_renyicl.tables $@ --scale $(SCALE) $(if $(JOBS),--jobs $(JOBS)) $(if $(filter-out 0,$(DRY)),--dry) \
	  $(if $(COLUMN),--column "$(COLUMN)") \
	  $(if $(RERUN),--rerun $(RERUN)) $(if $(RUNS),--runs $(RUNS)) $(if $(RESULTS),--results $(RESULTS)) \
	  $(if $(LAUNCHER),--launcher $(LAUNCHER)) $(if $(PARTITION),--partition $(PARTITION)) \
	  $(if $(GPUS),--gpus $(GPUS)) $(if $(CPUS),--cpus $(CPUS)) $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(FLAGS),--flags="$(FLAGS)")

check-results: $(VENV)/installed ## replay results with today's code; TABLE=table6 SAMPLE=n RECORD=1 JOBS=n RUNS=results/runs
	@$(BIN)/python -m lightning_renyicl.tables.check $(TABLE) $(if $(SAMPLE),--sample $(SAMPLE)) \
	  $(if $(filter-out 0,$(RECORD)),--record) $(if $(JOBS),--jobs $(JOBS)) $(if $(RUNS),--runs $(RUNS))

test: $(VENV)/installed ## the quick test suite; with DATA=folder also the tests on real data sets
	$(BIN)/python -m pytest -n 2 --dist worksteal $(if $(DATA),-m "not slow and not gpu") $(ARGS)

soak: $(VENV)/installed ## kill trainings at random, go on, and compare with undisturbed ones; KILLS=30 SEED=0
	$(BIN)/python -m tests.soak $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED))

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

show-augmentations: $(VENV)/installed ## a picture of what CONFIG=file does to images; runs/augmentations.png
	$(BIN)/python -m lightning_renyicl.cli.show $(addprefix --config ,$(CONFIG)) $(FLAGS)

bench: $(VENV)/installed ## speed as ratios; results/bench.json; with DATA=folder also on real graphs and photographs
	DATA="$(DATA)" $(BIN)/python -m tests.benchmarks $(ONLY)

gpu-check: ## the tests and figures that need a GPU, with PYTHON's own packages; results/bench.json
	PYTHONPATH=. $(PYTHON) -m pytest -m gpu -p no:cacheprovider tests $(ARGS)
	PYTHONPATH=. $(PYTHON) -m tests.benchmarks.gpu
