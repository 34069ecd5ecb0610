# Each target sets up what it needs, from a bare python3 alone.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed-$(shell cat pyproject.toml | cksum | cut -d' ' -f1)
RECORDINGS ?=
UP_OPTIONS ?=

.PHONY: up test check bench rig setup clean

up: $(STAMP)
	$(BIN)/emds up $(if $(RECORDINGS),--recordings $(RECORDINGS)) $(UP_OPTIONS)

test: setup
	$(BIN)/python -m pytest

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m "not slow" -q

bench: $(STAMP)
	$(BIN)/python -m tests.bench

rig: setup
	$(BIN)/python -m tests.rig

setup: $(STAMP)
	sh .ci/system.sh

$(STAMP): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -e '.[test]'
	rm -f .venv/.installed-*
	touch $@

clean:
	rm -rf .venv .venv-bench .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info tests/node/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
