# Rookery. `make` alone lists what can be asked for.
SHELL := /bin/bash
BIN := .venv/bin
PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3; do \
  command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v $$p; break; }; done)

.PHONY: help setup up test check lint format types imports lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: .venv/.locked ## make .venv with everything locked; install system packages where it may
	@PYTHON="$(PYTHON)" scripts/system-packages

.venv/.locked: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Rookery needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

up: setup ## set up, then run the daemon here
	@$(BIN)/rookery up

test: setup ## set up, then lint, types, imports and all tests
	@$(MAKE) --no-print-directory lint types imports
	$(BIN)/pytest -n auto

check: test ## the same as test

lint: ## format and lint, changing nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: ## mypy --strict over source and tests
	$(BIN)/mypy src tests bench

imports: ## rooms look down, never up or sideways
	$(BIN)/lint-imports

format: ## format and repair what can be repaired
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: ## resolve the dependencies anew
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
	  --python-version 3.11 --group dev -o requirements.lock pyproject.toml

clean: ## remove what setup made
	rm -rf .venv
