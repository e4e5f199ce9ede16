# Needs make and a Python of 3.11 or newer; everything else goes into .venv.
# Another interpreter: make PYTHON=python3.13 test

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SMALL_STAMP := $(VENV)/.installed-demo
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# pyright would ask for its newest release at every start.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: help demo test test-report lint types format record bench lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(SMALL_STAMP) ## run the main job offline: edit an agent's history and prove what was sent
	@$(BIN)/kedi-compile demo

test: lint types ## format check, lint, types, tests
	$(BIN)/pytest -n 2 --dist worksteal

test-report: $(STAMP) ## draw the report in a headless Chromium and look at it
	$(BIN)/pytest tests/report_browser

lint: $(STAMP) ## format check and lint
	$(BIN)/ruff format --check
	$(BIN)/ruff check

types: $(STAMP) ## mypy on everything, pyright on what users import
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(STAMP) ## format the sources and fix what ruff can fix
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# The cassettes of a vendor whose key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY) are recorded from the vendor, the
# others from the emulator. The demo's exchange is always the emulator's.
record: $(STAMP) ## record the cassettes and the demo again, and show it in README.md
	$(BIN)/pytest -m vcr --record-mode=rewrite
	PYTHONPATH=tests/support $(BIN)/python -m demo_recording
	PYTHONPATH=tests/support $(BIN)/python -m readme

bench: $(STAMP) ## measure the table of ratios
	$(BIN)/python -m benchmarks

# Run it with the oldest Python supported: some packages are only needed there.
lock: ## resolve every dependency afresh and write constraints.txt
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip --disable-pip-version-check --quiet install '.[all,bench,dev]'
	{ echo '# Written by `make lock`; every version that make installs.'; \
	  build/lock/bin/python -m pip freeze --exclude kedi-compile; } > build/constraints.txt
	mv build/constraints.txt constraints.txt
	rm -rf build/lock

clean: ## remove the environment, caches and built files
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The demo needs a small part of what the tests need, so it is installed by itself, and first.
$(STAMP): $(SMALL_STAMP)
	@echo 'Installing what the tests need into $(VENV), once: some 600 MB, a minute or two'
	@$(PIP) install -c constraints.txt --no-build-isolation -e '.[all,bench,dev]'
	@touch $@

# hatchling comes first and is used as installed: a build environment of pip's own would ignore the constraints.
$(SMALL_STAMP): pyproject.toml constraints.txt
	@echo 'Installing what the demo needs into $(VENV), once: less than a minute'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install -c constraints.txt hatchling editables
	@$(PIP) install -c constraints.txt --no-build-isolation -e '.[demo]'
	@touch $@
