# `make sweep` looks for wrong gradients; `make test` checks gradfuzz itself. Both work from an empty clone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.DEFAULT_GOAL := help
.PHONY: help sweep test test-all smoke lint docs docs-release bench comparators tolerance power adapters
.PHONY: packages proofs board pictures trophies clean

help:
	@echo 'make sweep     ask the engine, JAX and Torch about generated loop programs (about two minutes)'
	@echo 'make test      ruff, mypy and the tests, without the slow ones (about 15 minutes)'
	@echo 'make test-all  ruff, mypy and all tests'
	@echo 'make smoke PYTHON=python3.12  each part of gradfuzz in short, with that Python and its newest JAX'
	@echo '               (about two minutes)'
	@echo 'make docs      build/site: the documentation as a self-contained site; start at index.html'
	@echo 'make docs-release  the same as the newest release on the branch gh-pages, beside the older ones'
	@echo 'make bench     docs/performance.md: check_gradient against gradcheck and check_grads, the engine'
	@echo '               against Torch, autograd and JAX, start, memory, worker processes (an hour)'
	@echo 'make comparators  docs/comparators.md: missed bugs and false alarms of gradfuzz and other'
	@echo '               gradient checks (a few minutes)'
	@echo 'make power        docs/power.md: right functions of JAX and Torch that are accused, and planted'
	@echo '               mistakes that pass (an hour)'
	@echo 'make packages     docs/packages.md: what is said of operations of 20 packages, those that are'
	@echo '               installed (an hour)'
	@echo 'make tolerance    docs/tolerance.md: errors of right answers over the allowed error (a few minutes)'
	@echo 'make adapters     docs/targets.md: what the installed adapters answer (minutes for each)'
	@echo 'make board        build/board: a site of sweeps of every system here (minutes for each)'
	@echo 'make pictures     docs/pictures: pictures of reports of real sweeps (a few minutes; needs Chromium)'
	@echo 'make trophies     which bugs of docs/trophies still stand, by the scripts of docs/findings, in the'
	@echo '               release that each names and in the newest one (an hour; 15 GB of environments)'
	@echo 'make clean     remove the virtual environment, build outputs and caches'

# Exit code 1 means findings, which are the purpose of a sweep.
sweep: $(READY)
	$(BIN)/gradfuzz sweep engine jax torch || [ $$? -eq 1 ]

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest -n 2 --dist loadgroup -m 'not slow'

test-all: lint
	$(BIN)/pytest -n 2 --dist loadgroup

# In an environment of its own, build/smoke-3.12, and with Torch, too, after SMOKE='--with torch'.
smoke:
	$(PYTHON) -m tests.smoke $(SMOKE)

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# One folder of the branch gh-pages for each release, and a menu of them on every page.
docs-release: $(READY)
	PATH=$(abspath $(BIN)):$$PATH DOCS_VERSIONS=mike NO_MKDOCS_2_WARNING=1 mike deploy --update-aliases \
	  $$($(BIN)/python -c 'import gradfuzz; print(gradfuzz.__version__)') latest
	PATH=$(abspath $(BIN)):$$PATH NO_MKDOCS_2_WARNING=1 mike set-default latest

bench: $(VENV)/bench
	$(BIN)/python -m benchmarks.performance

comparators tolerance: $(VENV)/bench
	$(BIN)/python -m benchmarks.$@

# It keeps what it has measured in build/power; another run goes on there.
power: $(READY)
	$(BIN)/python -m benchmarks.power

# It asks about the packages that are installed beside the others, and keeps its results in build/packages.
packages: $(READY)
	$(BIN)/python -m benchmarks.packages

adapters: $(READY)
	$(BIN)/python -m benchmarks.adapters

proofs: $(READY)
	$(BIN)/python -m benchmarks.proofs

board: $(READY)
	$(BIN)/python -m benchmarks.board

pictures: $(READY)
	$(BIN)/python -m benchmarks.pictures
	$(BIN)/python -m benchmarks.html_pictures

trophies: $(READY)
	$(BIN)/python -m benchmarks.trophy_runs
	$(BIN)/python -m benchmarks.trophies
	$(BIN)/python -m benchmarks.trophy_texts

clean:
	rm -rf $(VENV) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Torch is installed first and by its exact version, to keep the build of the machine's package index.
$(VENV)/torch: | $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check --quiet torch==2.13.0
	touch $@

$(VENV)/bench: pyproject.toml $(READY)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -e '.[bench]'
	touch $@

$(READY): pyproject.toml $(VENV)/torch
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -e '.[all,dev]'
	touch $@
