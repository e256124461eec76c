# Everything below needs make and python3 (3.11 or newer); the rest is installed into .venv.
#
#   make demo        build a human with 43 joints, differentiate its torques, check them, plot and animate them
#   make test        style, types, layers and the tests that take seconds
#   make test-slow   the tests that take minutes
#   make benchmark   times per sample on this machine
#   make benchmark-motion   iterations and times of motion prediction on this machine
#   make benchmark-dynamics   simulation beside Exudyn, Pinocchio and scipy; time against accuracy
#   make benchmark-gradients   gradients beside the simulation, and beside Exudyn's differences
#   make benchmark-optimization   designs beside scipy with finite differences; threads and two Dask workers
#   make numbers     all benchmarks, and their figures into README.md and docs (BENCHMARK_ARGS=--quick: in minutes)
#   make wheels      dist/: the sdist, a pure wheel, and one with machine code for each Python in PYTHONS
#   make clean       remove .venv and what the tools leave behind

PYTHON         ?= python3
VENV           := .venv
BIN            := $(VENV)/bin
PIP            := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Two workers: each compiles the kernels it needs on a fresh machine, more would only repeat that work.
PYTEST_ARGS    ?= -n auto --maxprocesses 2
DEMO_ARGS      ?=
BENCHMARK_ARGS ?=
# Wheels with machine code are made for these, each in an environment of its own.
PYTHONS        ?= $(PYTHON)

.PHONY: demo test test-slow benchmark benchmark-motion benchmark-dynamics benchmark-gradients benchmark-optimization numbers wheels lint clean help
.DEFAULT_GOAL := help

help:
	@sed -n '3,13s/^# *//p' Makefile

demo: $(VENV)/.installed-demo
	@$(BIN)/mechgrad demo $(DEMO_ARGS)

test: lint
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m "not slow"

test-slow: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m slow

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

benchmark: $(VENV)/.installed-test
	$(BIN)/python benchmarks/inverse_dynamics.py $(BENCHMARK_ARGS)

benchmark-motion: $(VENV)/.installed-test
	$(BIN)/python benchmarks/motion.py $(BENCHMARK_ARGS)

benchmark-dynamics: $(VENV)/.installed-test
	$(BIN)/python benchmarks/work_precision.py $(BENCHMARK_ARGS)
	$(BIN)/python benchmarks/dynamics.py $(BENCHMARK_ARGS)
	$(BIN)/python benchmarks/hard.py $(BENCHMARK_ARGS)
	$(BIN)/python benchmarks/machines.py $(BENCHMARK_ARGS)

benchmark-gradients: $(VENV)/.installed-test
	$(BIN)/python benchmarks/gradients.py $(BENCHMARK_ARGS)

benchmark-optimization: $(VENV)/.installed-test
	$(BIN)/python benchmarks/optimization.py $(BENCHMARK_ARGS)

numbers: $(VENV)/.installed-test
	$(BIN)/python benchmarks/write_numbers.py $(BENCHMARK_ARGS)

wheels: $(VENV)/.created
	rm -rf dist build/packs
	$(PIP) install build
	$(BIN)/python -m build
	@for python in $(PYTHONS); do tools/wheel_with_packs.sh $$python || exit 1; done

# The stamps make a second run start at once; a change of pyproject.toml installs again.
$(VENV)/.installed-test: $(VENV)/.created pyproject.toml
	@echo "installing mechgrad with its test tools into $(VENV) (once) ..."
	@$(PIP) install --editable ".[test,viz]"
	@touch $(VENV)/.installed-demo $@

$(VENV)/.installed-demo: $(VENV)/.created pyproject.toml
	@echo "installing mechgrad into $(VENV) (once) ..."
	@$(PIP) install --editable ".[viz]"
	@touch $@

$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null || { echo "mechgrad needs Python 3.11 or newer, and '$(PYTHON)' was not found." \
	  "Install it, or name one: make PYTHON=/path/to/python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "mechgrad needs Python 3.11 or newer, %s is %d.%d. \
	Name a newer one: make PYTHON=/path/to/python3.12 ..." % (sys.executable, *sys.version_info[:2]))'
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "could not create $(VENV): the venv module of $(PYTHON) is missing" \
	  "(on Debian and Ubuntu it is the package python3-venv)." >&2; exit 1; }
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis mechgrad-demo*.png mechgrad-demo*.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
