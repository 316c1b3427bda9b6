# Every target sets up what it needs: the first call makes .venv and installs the locked packages into it.
#   make help

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/python -m uv
UV_VERSION := 0.13.8
CORES ?= all
# Datasets that `make data` brings; empty for those that the experiments of params.yaml use.
DATASETS ?=
# One paper of papers/ in place of all: its grid is what every command reads.
PAPER ?=
ifneq ($(PAPER),)
export PARTIALFAIR_PARAMS := papers/$(PAPER)/grid.yaml
endif
# What Snakemake's own report is on: everything, or demo_pages.
PAGES ?= pages
# The workbench and Snakemake's plugins, each a distribution of its own beside the library.
BESIDE := $(patsubst %/pyproject.toml,%,$(wildcard src/*/pyproject.toml))
# All of the paper's figure but `regularization`, which takes a third of the time.
DEMO_METHODS := unconstrained,idca,alm,group_auc,inter_group,intra_group
# Where `partialfair run demo --seeds 3` makes the simulated benchmark.
SIMULATED := reproduced/demo
STAGES := data splits runs evaluation report
TORCH := 2.13.0
TORCH_CPU_INDEX := https://download.pytorch.org/whl/cpu
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PYTHONPATH := $(CURDIR)/src
export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba

.PHONY: help records demo test test-long test-newest test-oldest test-gpu test-cluster test-plugins test-mutation resume data paper made report audit docs lint format bench first-hour crate lock torch clean

help:  ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*  ## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

# Real data that travel with the project, in a folder of its own: what is committed stays as it is. `make figure1` goes on
# from these runs.
demo: $(VENV)/.ready  ## Figure 1 on a9a, five methods and one seed, beside the committed one: no download, minutes -> reproduced/figure1
	@python -m partialfair reproduce figure1 --datasets a9a --methods $(DEMO_METHODS) --cores $(CORES)

# One process more than processors, up to eight, since some tests wait; the longest modules begin (tests/fixtures.py).
PYTEST := pytest -n $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 8 ? n + 1 : 8))) --dist loadscope --no-loadscope-reorder

# The tests start some two hundred processes, each of which would compile the package anew where the environment
# forbids Python to keep byte code.
test test-long: export PYTHONDONTWRITEBYTECODE :=

figure1:  ## a figure or table from one seed, beside the committed one -> reproduced/ (figure2, plada_table1, ...; ARGS="--seeds 5")

test: $(VENV)/.torch  ## the tests of whatever a change can break, in minutes; those on real data need PARTIALFAIR_DATA_MIRROR
	$(PYTEST) -m "not long" $(ARGS)

# A suite whose code is that of its last pass (tests/suites.json) is not run again. ARGS=--all runs every one, ARGS=--list
# names them, ARGS=kills runs one; PARTIALFAIR_KILLS=20 kills more often.
test-long: $(VENV)/.torch  ## the long suites whose code has changed: kills, emulated processors, whole-grid dry runs, audits, Slurm
	$(BIN)/python -m tests.suites $(ARGS)

# Not those that the lock pins: this is how one learns that a release of NumPy or SciPy breaks something. Each version of
# Python has packages of its own: NEWEST=3.13 for another than that of the environment.
NEWEST ?= $(BIN)/python
LIBRARY ?= metrics estimators algorithms audit constraints models tables cards torch_faces
test-newest: $(VENV)/.ready  ## the library's tests with the newest packages that pyproject.toml allows, in an environment of its own
	$(UV) venv --quiet --clear --python "$(NEWEST)" .cache/newest
	$(UV) pip install --quiet --upgrade --python .cache/newest/bin/python ".[convex,boosting,peers,dev]" "src/reproduction[workflow]"
	$(UV) pip list --quiet --python .cache/newest/bin/python | grep -E "^(numpy|scipy|pandas|numba|scikit-learn|pyarrow|torch) "
	PATH="$(CURDIR)/.cache/newest/bin:$(PATH)" NUMBA_CACHE_DIR=$(CURDIR)/.cache/newest/numba $(PYTEST) $(LIBRARY:%=tests/%) $(ARGS)

# As the resolver finds them: the first release that each range of pyproject.toml begins with, under the oldest Python.
# Some of the tests fit plug-ins of papers; the workbench that finds those comes without the newer packages it asks for.
OLDEST_TOO := "pyyaml>=6,<7" "rich>=15,<17" "pillow>=12,<14" scikit-posthocs==0.17.1
test-oldest: $(VENV)/.ready  ## the library's tests with the oldest packages that pyproject.toml allows, in an environment of its own
	mkdir -p .cache && echo 'torch ; python_version < "3"' > .cache/without-torch.txt
	$(UV) pip compile --quiet --python-version 3.11 --resolution lowest-direct --override .cache/without-torch.txt \
		--extra convex --extra boosting --extra peers --extra dev --output-file .cache/oldest.txt pyproject.toml
	$(UV) venv --quiet --clear --python 3.11 .cache/oldest
	$(UV) pip install --quiet --no-deps --python .cache/oldest/bin/python -r .cache/oldest.txt . src/reproduction
	$(UV) pip install --quiet --python .cache/oldest/bin/python $(OLDEST_TOO)
	$(UV) pip list --quiet --python .cache/oldest/bin/python | grep -E "^(numpy|scipy|pandas|numba|scikit-learn|pyarrow) "
	PATH="$(CURDIR)/.cache/oldest/bin:$(PATH)" NUMBA_CACHE_DIR=$(CURDIR)/.cache/oldest/numba $(PYTEST) $(LIBRARY:%=tests/%) $(ARGS)

test-gpu: $(VENV)/.torch  ## the tests that need a GPU and PyTorch's build for it: `make torch GPU=1` first
	PARTIALFAIR_GPU=1 $(PYTEST) -n 0 tests/gpu $(ARGS)

test-mutation: $(VENV)/.ready  ## deliberate faults in the core, one after the other: do the tests notice? ARGS="--only 'verdicts/*'"
	python -m tests.mutation.run $(ARGS)

test-cluster: $(VENV)/.torch  ## the demo on a real Slurm on this machine: installs it (root, apt-get), breaks things, compares
	tests/cluster/run.sh $(ARGS)

test-plugins: $(VENV)/.ready  ## the tests of Snakemake's plugins with the oldest and the newest release that they admit
	tests/warm_executor/releases.sh $(ARGS)

resume: $(VENV)/.ready  ## continue a run that was killed: cancel or await the jobs it left, unlock, repeat its command
	@python -m partialfair resume $(ARGS)

# A figure or table by its name in the grid: make figure1, make plada_table1 ARGS="--datasets a9a --seeds 2".
EXHIBITS := figure% table% auc_figure% auc_table% plada_figure% plada_table% stochastic_figure% stochastic_table% dp_figure% dp_table%
$(EXHIBITS): $(VENV)/.ready FORCE
	@python -m partialfair reproduce $@ --cores $(CORES) $(ARGS)

FORCE:

# Brought by the workflow's own rule, so that every raw file has its record.
data: $(VENV)/.ready  ## bring and verify the raw data: DATASETS="a9a bank" for some
	@PARTIALFAIR_AGAIN="make data" python -m partialfair run raw --cores $(CORES) --datasets "$(DATASETS)"
	python -m partialfair data verify $(DATASETS)
	@python -m partialfair data fetch --extras $(DATASETS) > /dev/null \
		|| echo "make: a file that only documents a dataset could not be had; nothing is made from it" >&2

# One call of Snakemake makes everything. The results are recorded for the audit as they are: DVC checksums them and runs
# nothing; its stages are those of the whole grid. Afterwards `snakemake -n` and `dvc status` have nothing to say.
paper: $(VENV)/.torch made  ## the papers' exhibits at their full protocol; PAPER=plada for one of papers/
	@python -m partialfair summary

made: data
	@PARTIALFAIR_AGAIN="make paper$(if $(PAPER), PAPER=$(PAPER))" python -m partialfair run paper --cores $(CORES)
	@if [ -z "$(PAPER)" ] && git rev-parse --git-dir > /dev/null 2>&1; then \
		dvc commit --quiet --force --no-relink $(STAGES) $$(for f in data/raw/*/*.dvc; do [ ! -e "$${f%.dvc}" ] || echo "$$f"; done); fi

# The simulated benchmark's pages are where `partialfair run demo --seeds 3` made them.
report: $(VENV)/.ready  ## Snakemake's own report of the last run, with provenance -> reports/snakemake.html (offline, one file)
	cd $(if $(filter demo_pages,$(PAGES)),$(SIMULATED),.) && snakemake --cores $(CORES) --allowed-rules exhibit_page $(PAGES) -- $(PAGES) \
		&& snakemake --report reports/snakemake.html $(PAGES)

# Damage is looked for first: `dvc repro` would take a changed table for a new one and train on it, and an edited exhibit
# for its stage's. At the end every metric is computed again from its model, and some runs, drawn at random, are trained
# again: RETRAIN=20 for more of them. DVC's stages are those of the whole grid; a paper's own is rerun by Snakemake alone.
RETRAIN ?= 5
RERUN = $(if $(PAPER),PARTIALFAIR_AGAIN="make audit PAPER=$(PAPER)" python -m partialfair run paper --cores $(CORES),dvc repro $(STAGES))
audit: data $(VENV)/.torch  ## check every result against its inputs, settings and source; rerun what is outdated; PAPER= for one paper
	python -m partialfair verify --damage
	$(RERUN)
	python -m partialfair verify --deep --complete --retrain $(RETRAIN)

# After a change of code that leaves the results as they are: without it, a fresh clone would make them anew.
records: $(VENV)/.ready  ## state that the committed results are those of the present grid and code -> reports/*/made_from.json
	python -m partialfair verify
	python -c "from reproduction.grid import agreement, config; agreement.adopt(config.load_config())"

docs: $(VENV)/.torch  ## results and documentation as one site -> site/index.html, offline, from committed results; writes the README's verdicts
	python -m sphinx -W --keep-going -q -t readme -b html -d .cache/docs docs site

lint: $(VENV)/.ready  ## style, types, what may import what, and the workflow's own checks
	ruff check .
	ruff format --check .
	mypy
	lint-imports --cache-dir .cache/import_linter
	snakefmt --check Snakefile workflow
	snakemake --lint
	python -m tests.style.budget
	python -m tests.style.language

format: $(VENV)/.ready  ## bring the code into the style that `make lint` checks
	ruff check --fix-only --quiet .
	ruff format .
	snakefmt Snakefile workflow

bench: $(VENV)/.torch  ## measure the solvers side by side -> reports/benchmarks.json, .csv, .png, docs/benchmarks.md (ten minutes)
	python tests/benchmarks/run.py $(ARGS)

# The first Python of these that can be used, or nothing.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' > /dev/null 2>&1 && echo $$p && break; done)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "partialfair needs Python 3.11, 3.12 or 3.13, and none is on the PATH; install one, or say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { echo "$(PYTHON) is not Python 3.11, 3.12 or 3.13; say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# uv installs the lock in seconds where pip takes minutes. The lock has a checksum for every file and holds no torch:
# only networks (Figure 12) need it, and `make torch` installs it. Byte code is compiled here because
# some environments forbid Python to write it later; without it a training job starts in 1.8 s instead of 0.7 s.
$(VENV)/.ready: requirements.lock pyproject.toml $(BESIDE:%=%/pyproject.toml) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes --no-deps -r requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps -e . $(BESIDE:%=-e %)
	touch $@

first-hour: $(VENV)/.ready  ## time `make demo` and one seed of an exhibit of each paper from a bare clone, beside their forecasts
	$(BIN)/python tests/benchmarks/first_hour.py $(ARGS)

crate: $(VENV)/.ready  ## the committed results as a Workflow Run RO-Crate -> ro-crate-metadata.json
	python -m partialfair crate

torch: $(VENV)/.ready  ## PyTorch for the CPU, which networks (Figure 12) and the peers extra need; GPU=1 for the CUDA build
	if [ -n "$(GPU)" ] || [ "$$(uname)" != Linux ]; then \
		$(BIN)/python -m pip install torch==$(TORCH); \
	else \
		$(BIN)/python -m pip install --retries 0 --extra-index-url $(TORCH_CPU_INDEX) torch==$(TORCH)+cpu \
			|| $(BIN)/python -m pip install torch==$(TORCH); \
	fi
	touch $(VENV)/.torch

$(VENV)/.torch: $(VENV)/.ready
	$(MAKE) torch

# torch is resolved away, since it would bring gigabytes of GPU libraries into the lock; the library, which is here; and the
# stubs that mlcroissant asks for, since mypy would read them.
lock: $(BIN)/python  ## resolve the dependencies anew -> requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	mkdir -p .cache && printf '%s ; python_version < "3"\n' torch partialfair pandas-stubs > .cache/without.txt
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(UV) pip compile --quiet --upgrade --python-version 3.11 \
		--generate-hashes --extra workflow --extra acs --extra convex --extra torch --extra boosting --extra peers --extra docs --extra dev \
		--override .cache/without.txt --output-file requirements.lock pyproject.toml src/reproduction/pyproject.toml

clean:  ## remove everything that was built, except raw data, reports and the environment
	rm -rf reproduced site docs/generated docs/examples data/processed data/runs data/manifest logs .cache .snakemake .pytest_cache .mypy_cache .ruff_cache .hypothesis
