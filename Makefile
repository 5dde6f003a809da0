# Needs Python 3.11 or newer and make. Every target that needs the environment sets it up first.

# The first Python that is new enough; choose another with `make venv PYTHON=python3.12`.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	echo $$python; break; fi; done)

VENV := .venv
BIN := $(VENV)/bin
# Touched when the environment matches the two files that describe it.
READY := $(VENV)/.ready
# Touched when the environments of others, which only `make bench` needs, are there too.
PEERS_READY := $(VENV)/.peers-ready

# A process for each core, but not so many that they fill the memory; a file's tests stay together.
PYTEST = $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

# More arguments, for pytest or the benchmarks: `make test ARGS="-k king -x"`, `make bench ARGS=--quick`.
ARGS ?=
MINUTES ?= 30

.DEFAULT_GOAL := help
.PHONY: help venv demo table test test-all lint format bench results fuzz clean

help: ## list these targets
	@echo "usage: make TARGET"; echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | \
		while IFS='|' read -r name text; do printf '%-12s %s\n' "$$name" "$$text"; done

venv: $(READY) ## set up .venv with the pinned versions (other targets do it by themselves)

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/pip || test -n "$(PYTHON)" || \
		{ echo "Python 3.11 or newer is needed; name it with PYTHON=..." >&2; exit 1; }
	@echo "Setting up $(VENV) (the first time this downloads several hundred MB)"
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check \
		-c constraints.txt -e '.[train,table,openspiel,dev]'
	@touch $@
	@echo "$(VENV) is ready: $$($(BIN)/python --version)"

demo: $(READY) ## learn the practice table and measure the policy, about three minutes
	@$(BIN)/cuckoo demo

table: $(READY) ## play against the agents in a browser, with a coach
	@$(BIN)/cuckoo table $(ARGS)

test: $(READY) ## the quick tests, under ten minutes
	@$(PYTEST) -m "not slow" $(ARGS)

test-all: $(READY) ## every test, the slow ones too
	@$(PYTEST) $(ARGS)

lint: $(READY) ## style, format, types, and who may import whom
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(READY) ## put the code into the project's format
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

bench: $(READY) $(PEERS_READY) ## measure speed beside the environments of others, six minutes
	@$(BIN)/python benchmarks/bench.py $(ARGS)
	@$(BIN)/python benchmarks/render.py

$(PEERS_READY): $(READY)
	@echo "Adding the environments of others to $(VENV)"
	@if $(BIN)/python -m pip install -qq --disable-pip-version-check \
		-c constraints.txt -e '.[bench]'; then touch $@; else \
		echo "Not all can be installed here; the table will say which are missing." >&2; fi

results: $(READY) ## measure the published figures again and put them into the documents, hours
	@$(BIN)/python benchmarks/results.py
	@$(BIN)/python benchmarks/table.py
	@$(BIN)/python benchmarks/render.py

fuzz: $(READY) ## random games against the plain referee for MINUTES (30)
	@$(BIN)/python tests/fuzz.py --minutes $(MINUTES)

clean: ## remove build artefacts and caches (keeps .venv and runs)
	@rm -rf build dist *.egg-info .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
