# Rookery. `make` alone lists the targets.
SHELL := /bin/bash
BIN := .venv/bin
PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3; do \
  command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v $$p; break; }; done)

# Versions of tools that are not in requirements.lock.
UV := 0.13.7
PIP_AUDIT := 2.10.1

PROGRAMS := tests/agents/programs/node_modules/.installed
MORE := tests/agents/more/node_modules/.installed

.PHONY: help system setup up test tests test-portable test-agents prove bench check docs lint format types imports lock audit clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

setup: system .venv/.locked ## create .venv with the locked packages; install tmux if permitted

# First, because it is quick, and installing packages for a minute is useless without tmux.
system:
	@scripts/system-packages

.venv/.locked: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Rookery needs Python 3.11 or newer: install it, or run make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up Rookery: creates .venv with about 90 Python packages (310 MB); takes about a minute."
	@$(PYTHON) -m venv .venv
	@scripts/progress "Installing the Python packages into .venv" $(BIN)/python -m pip install \
	  --progress-bar off --disable-pip-version-check --require-hashes -r requirements.lock
	@scripts/progress "Installing Rookery itself" $(BIN)/python -m pip install \
	  --progress-bar off --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
	@echo "Ready.$(if $(filter up test,$(MAKECMDGOALS)),,  Next:  make up)"

up: setup ## set up, then run the daemon here
	@$(BIN)/rookery up

test: setup $(PROGRAMS) ## set up, then lint, types, imports and all tests but the long ones
	@scripts/system-packages chromium
	@$(MAKE) --no-print-directory lint imports
	$(BIN)/python scripts/reference.py --check
	@$(MAKE) --no-print-directory -j2 types tests

tests:
	$(BIN)/pytest -n 6 --dist worksteal

test-portable: setup $(PROGRAMS) ## run the tests with real processes without /proc and pidfds (as on macOS)
	ROOKERY_PORTABLE=1 $(BIN)/pytest -n 4 --dist worksteal tests/real tests/contract tests/unit/processes

# Install exactly the locked versions. The lock file of "more" has no entries for opencode's
# packages of other platforms, which npm ci reports as an error; npm install checks the rest.
$(PROGRAMS): NPM_HOW := ci
$(MORE): NPM_HOW := install

$(PROGRAMS) $(MORE): %/node_modules/.installed: %/package.json %/package-lock.json
	@scripts/system-packages npm
	@cd $* && $(CURDIR)/scripts/progress "Installing the agents of $*/package.json with npm" \
	  npm $(NPM_HOW) --no-audit --no-fund --loglevel=error
	@touch $@

test-agents: setup $(PROGRAMS) $(MORE) ## run the long tests with the real agent programs
	$(BIN)/pytest tests/real tests/contract -m "agents or more_agents" -n 2 --dist worksteal

prove: setup $(PROGRAMS) $(MORE) ## run the long tests: kills at every moment and at random
	$(BIN)/pytest tests/prove -m prove -s

bench: setup $(PROGRAMS) ## run the benchmarks; fails if a goal is missed
	$(BIN)/python -m bench

check: test ## the same as test

lint: ## check format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: ## run mypy --strict on source and tests
	$(BIN)/mypy src tests bench scripts

docs: ## generate the pages of docs/reference and the current schema
	$(BIN)/python scripts/reference.py
	$(BIN)/python scripts/schema.py

imports: ## check that packages import downwards only
	$(BIN)/lint-imports

format: ## format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: ## update requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV)
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
	  --python-version 3.11 --group dev --all-extras --no-binary claude-agent-sdk --emit-build-options \
	  -o requirements.lock pyproject.toml

audit: setup ## check the locked packages for known vulnerabilities
	@scripts/audit $(PIP_AUDIT)

clean: ## remove what setup created
	rm -rf .venv
