# Two commands are enough for a newcomer: `make demo` and `make test`.
# Each makes its own virtual environment in .venv and installs what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: fuzz branches mutants soak bits demo test tests lint browser bench reproduce truth coverage tuning evidence docs freeze clean help

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/'

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v <= (3, 13) else "lincat needs Python 3.11 to 3.13, this is %d.%d: run make PYTHON=python3.12" % v)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

demo: $(READY) ## learn CartPole's return distributions and write a page about them
	$(BIN)/lincat evaluate --out demo --force

test: $(READY) browser ## everything that CI runs: lint, types, layers, docs, tests
	$(MAKE) --jobs 3 lint docs tests

# Workers begin at different ends of the tests: neighbours share fixtures, and kernels to be compiled.
tests: $(READY) # all of them, on all cores
	$(BIN)/pytest -n auto --dist worksteal

lint: $(READY) ## ruff, mypy --strict, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

browser: ## Chromium for the tests of the report page, where it can be installed; else they are skipped
	@if ! command -v chromium >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo 'installing Chromium for the tests of the report page'; \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium) >/dev/null 2>&1 || true; fi

fuzz: $(READY) ## damaged files for every parser: tracebacks, hangs, memory; ARGS='--inputs 5000' for fewer
	$(BIN)/python -m tests.attack.fuzz $(ARGS)
	@$(BIN)/pip install --quiet --disable-pip-version-check 'atheris>=3.0' 2>/dev/null || true
	$(BIN)/python -m tests.attack.guided $(ARGS)

# Tests of kernels, where these are called by somebody who has nothing else to compile.
LOOPS := tests/kernels tests/core/test_apart.py tests/core/test_bellman.py tests/theory/test_stability.py \
  $(addprefix tests/features/test_,tiles.py fourier.py rbf.py scaling.py) tests/processes/test_sampling.py \
  tests/inference/test_returns_to_go.py $(addprefix tests/learners/test_,variance_reduced_ctd.py growing.py) \
  tests/data/test_transitions.py

branches: $(READY) ## which branches the tests run, kernels without their compiler too; half an hour
	rm -rf .coverage .coverage.* $(VENV)/branches
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/branches $(BIN)/coverage run -m pytest -n auto --dist worksteal \
	  --deselect tests/cli/test_full_disk.py::test_files_that_may_not_grow $(ARGS)
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -n 0 -q -p tests.kernels.interpreted $(LOOPS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage json --quiet -o $(VENV)/branches.json
	$(BIN)/python -m tests.attack.branches $(VENV)/branches.json

mutants: $(READY) ## small faults in core, learners, inference, that the tests should notice; twenty minutes
	$(BIN)/python -m tests.attack.mutants $(ARGS)

bench: $(READY) ## the speed bars, as ratios measured in one run; ARGS='--write docs/benchmarks.md' keeps them
	$(BIN)/lincat bench $(ARGS)

reproduce: $(READY) ## the paper's tables and figures, and docs/reproduction.md from them
	$(BIN)/lincat reproduce --write-docs docs

truth: $(READY) ## problems of known truth, with nothing given but gamma, and docs/truth.md from them
	$(BIN)/python -m lincat.truth --write docs/truth.md $(ARGS)

coverage: $(READY) ## how often intervals hold, and docs/coverage.md from it; ARGS='--runs 100' for fewer logs
	$(BIN)/python -m lincat.coverage --write docs/coverage.md $(ARGS)
	$(BIN)/python -m lincat.coverage.differences --write docs/differences.md

tuning: $(READY) ## the automatic step size beside the best constant one, and its table in docs/learners.md
	$(BIN)/python -m lincat.tuning --write docs/learners.md $(ARGS)

evidence: $(READY) ## what the theorems say beside what is measured, and docs/theory.md from it; some minutes
	$(BIN)/python -m lincat.evidence --write docs/theory.md --images docs/images $(ARGS)

soak: $(READY) ## 1,000 killed runs, errors at every write, 10^8 transitions; ARGS='--kills 100' for less
	$(BIN)/python -m tests.attack.soak $(ARGS)

bits: $(READY) ## 1,000 flipped bits in run folders; ARGS='--flips 100' for less
	$(BIN)/python -m tests.attack.bits $(ARGS)

docs: $(READY) ## the documentation, as HTML in docs/_build
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

freeze: $(READY) ## pin the installed versions in constraints.txt
	head -1 constraints.txt > constraints.new
	$(BIN)/pip list --format=freeze | grep -viE '^(lincat|pip|setuptools)==' >> constraints.new
	mv constraints.new constraints.txt

clean: ## remove what the other targets made
	rm -rf $(VENV) .coverage .coverage.* demo docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
