# The two commands that matter: `make book` builds the book into _build/html, `make test` runs every test.
# Both set themselves up: a virtual environment in .venv, made from requirements.lock and refreshed when it changes.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.installed
FLAGS  ?=

.DEFAULT_GOAL := help

.PHONY: help
help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, got " + sys.version)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

.PHONY: setup
setup: $(READY)  ## make the virtual environment

.PHONY: book
book: $(READY)  ## build the book into _build/html
	$(BIN)/python book/build.py $(FLAGS)

.PHONY: serve
serve: $(READY)  ## open the book in a browser and rebuild it on every change
	$(BIN)/python book/serve.py $(FLAGS)

.PHONY: pdf
pdf: $(READY)  ## build the book as a PDF (needs LaTeX)
	$(BIN)/python book/build.py --builder pdf

.PHONY: linkcheck
linkcheck: $(READY)  ## check the links that lead out of the book
	$(BIN)/python book/build.py --builder linkcheck

.PHONY: test
test: $(READY) system  ## run every test (FLAGS="-k svm" for some)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q $(FLAGS)

.PHONY: system
system:  # what the tests need from the system: a browser for the pages
	@sh tests/system.sh

.PHONY: coverage
coverage: $(READY) system  ## run the tests and report branch coverage of the library
	@mkdir -p _build/coverage && $(BIN)/coverage erase
	OPENBLAS_NUM_THREADS=1 $(BIN)/coverage run -m pytest -n 2 --dist worksteal -q $(FLAGS)
	@$(BIN)/coverage combine --quiet && $(BIN)/coverage report --fail-under=95

.PHONY: lint
lint: $(READY)  ## lint, check the format and the types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: format
format: $(READY)  ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: bench
bench: $(READY)  ## run the benchmarks (ONLY=import for a part, FLAGS=--save for the book)
	$(BIN)/python -m tests.benchmarks $(ONLY) $(FLAGS)

.PHONY: lock
lock: $(READY)  ## resolve requirements.lock again from requirements.txt
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --annotation-style line \
	  --upgrade requirements.txt --output-file requirements.lock

.PHONY: clean
clean:  ## remove what was built (the virtual environment stays)
	rm -rf _build .coverage build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
