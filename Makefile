# Rookery. `make` alone lists what can be asked for.
SHELL := /bin/bash
BIN := .venv/bin
PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3; do \
  command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v $$p; break; }; done)

# Tools that are not among the locked packages.
UV := 0.13.7
PIP_AUDIT := 2.10.1

PROGRAMS := tests/agents/programs/node_modules/.installed
MORE := tests/agents/more/node_modules/.installed

.PHONY: help system setup up test test-portable test-agents prove bench check docs lint format types imports lock audit clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

setup: system .venv/.locked ## make .venv with everything locked; install tmux where it may

# First: it takes a moment, and without tmux a minute of pip is for nothing.
system:
	@scripts/system-packages

.venv/.locked: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Rookery needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Installing the Python packages into .venv; this takes about a minute …"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
	@echo "Ready. Next:  make up"

up: setup ## set up, then run the daemon here
	@$(BIN)/rookery up

test: setup $(PROGRAMS) ## set up, then lint, types, imports and all tests
	@scripts/system-packages chromium
	@$(MAKE) --no-print-directory lint types imports
	$(BIN)/python scripts/reference.py --check
	$(BIN)/pytest -n 4 --dist worksteal

test-portable: setup $(PROGRAMS) ## the tests with real processes, without /proc and pidfds (as on macOS)
	ROOKERY_PORTABLE=1 $(BIN)/pytest -n 4 --dist worksteal tests/real tests/contract tests/unit/processes

# Exactly what is locked. The lock of "more" has no entries for other platforms' packages of
# opencode, which npm ci takes for a mistake; what it has is checked by npm install, too.
$(PROGRAMS): NPM_HOW := ci
$(MORE): NPM_HOW := install

$(PROGRAMS) $(MORE): %/node_modules/.installed: %/package.json %/package-lock.json
	@scripts/system-packages npm
	cd $* && npm $(NPM_HOW) --no-audit --no-fund --loglevel=error
	@touch $@

test-agents: setup $(PROGRAMS) $(MORE) ## the tests with all the real agent programs
	$(BIN)/pytest tests/real -m "real or more_agents" -k "agents"

prove: setup $(PROGRAMS) $(MORE) ## the long proofs: killed at every moment, and at random
	$(BIN)/pytest tests/prove -m prove -s

bench: setup $(PROGRAMS) ## measure against goals, beside the bare tool; fails on a missed goal
	$(BIN)/python -m bench

check: test ## the same as test

lint: ## format and lint, changing nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: ## mypy --strict over source and tests
	$(BIN)/mypy src tests bench scripts

docs: ## write docs/reference from the program itself
	$(BIN)/python scripts/reference.py

imports: ## check that packages import downwards only
	$(BIN)/lint-imports

format: ## format and repair what can be repaired
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: ## resolve the dependencies anew
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV)
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
	  --python-version 3.11 --group dev -o requirements.lock pyproject.toml

audit: setup ## look for known vulnerabilities in the locked packages
	@scripts/audit $(PIP_AUDIT)

clean: ## remove what setup made
	rm -rf .venv
