# `make sweep` looks for wrong gradients; `make test` checks gradfuzz itself. Both work from an empty clone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.DEFAULT_GOAL := help
.PHONY: help sweep test test-all lint docs bench comparators tolerance pictures clean

help:
	@echo 'make sweep     ask the engine, JAX and Torch about generated loop programs (about two minutes)'
	@echo 'make test      ruff, mypy and the tests, without the slow ones'
	@echo 'make test-all  ruff, mypy and all tests'
	@echo 'make docs      build/site: the documents as a site that loads nothing from elsewhere'
	@echo 'make bench     the speed of the engine next to Torch, autograd and JAX, its memory in long loops,'
	@echo '               programs drawn and checked per second, what a process of its own costs a target'
	@echo 'make comparators  docs/comparators.md: what gradfuzz and other checks miss and accuse wrongly'
	@echo 'make tolerance    docs/tolerance.md: how far right answers stay within what is allowed'
	@echo 'make pictures     docs/pictures: what the reports of real sweeps look like (needs Chromium)'
	@echo 'make clean     remove the virtual environment, build outputs and caches'

# Exit code 1 says that there are findings, which is what a sweep is for.
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

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/bench
	$(BIN)/python benchmarks/loops.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/linalg.py
	$(BIN)/python benchmarks/generation.py
	$(BIN)/python benchmarks/workers.py

comparators tolerance: $(VENV)/bench
	$(BIN)/python -m benchmarks.$@

pictures: $(READY)
	$(BIN)/python -m benchmarks.pictures
	$(BIN)/python -m benchmarks.html_pictures

clean:
	rm -rf $(VENV) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Torch first and by its exact version, so that the build that the machine's package index offers stays.
$(VENV)/torch: | $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check --quiet torch==2.13.0
	touch $@

$(VENV)/bench: pyproject.toml $(READY)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -e '.[bench]'
	touch $@

$(READY): pyproject.toml $(VENV)/torch
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -e '.[all,dev]'
	touch $@
