# The two commands that matter: `make book` builds the book into _build/html, `make test` runs every test.
# Both do their own set-up: environment.py makes a virtual environment in .venv from requirements.lock, with what the
# command needs and no more, and adds to it when another command needs more or the lock changes.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := setup-tests
FLAGS  ?=
unexport PYTHONDONTWRITEBYTECODE  # hundreds of processes import the same packages: compile them once

.DEFAULT_GOAL := help

.PHONY: help
help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.PHONY: setup-book setup-tests setup-workshop
setup-book setup-tests setup-workshop:
	@"$(PYTHON)" environment.py $(@:setup-%=%)

.PHONY: setup
setup: setup-workshop  ## make the virtual environment, with everything that any target needs

.PHONY: book
book: setup-book  ## build the book into _build/html
	$(BIN)/python book/build.py $(FLAGS)

.PHONY: setup-lite
setup-lite: setup-book  # fetch the parts of the browser exercises from PyPI and npm into .venv/lite
	@"$(PYTHON)" book/lite/parts.py

.PHONY: lite
lite: setup-lite  ## build the exercises in the browser into _build/html/lite (FLAGS=--online for publishing)
	$(BIN)/python book/lite/build.py $(FLAGS)

.PHONY: lite-test
lite-test: system $(READY) setup-lite  ## try every answer to every exercise in the browser, and an endless loop
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 0 -q tests/lite/whole.py tests/lite $(FLAGS)

.PHONY: serve
serve: setup-book  ## open the book and the exercises in a browser, rebuild the book on every change (FLAGS="--port 8421")
	$(BIN)/python book/serve.py $(FLAGS)

.PHONY: problems
problems: setup-book  ## build the instructors' edition, with the solutions to the problems, into _build/instructors
	$(BIN)/python book/build.py --solutions

.PHONY: pdf
pdf: setup-book  ## build the book as a PDF, into _build/latex (needs LaTeX)
	$(BIN)/python book/build.py --builder pdf

.PHONY: epub
epub: setup-book  ## build the book as an EPUB, for e-readers, into _build/epub
	$(BIN)/python book/build.py --builder epub

.PHONY: linkcheck
linkcheck: setup-book  ## check the links that lead out of the book
	$(BIN)/python book/build.py --builder linkcheck

.PHONY: test
test: system $(READY)  ## run every test (FLAGS="-k svm" for some)
	-@$(MAKE) --no-print-directory setup-lite
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q $(FLAGS)

.PHONY: system
system:  # install what the tests need from the system: a browser for the pages
	@sh tests/system.sh

.PHONY: coverage
coverage: system $(READY)  ## run the tests and report branch coverage of the library
	-@$(MAKE) --no-print-directory setup-lite
	@mkdir -p _build/coverage && $(BIN)/python -m coverage erase
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m coverage run -m pytest -n 2 --dist worksteal -q $(FLAGS); tests=$$?; \
	  $(BIN)/python -m coverage combine --quiet && $(BIN)/python -m coverage report --fail-under=95 && exit $$tests

.PHONY: lint
lint: setup-workshop  ## lint, check the format and the types
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

.PHONY: format
format: setup-workshop  ## format the code
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

.PHONY: bench
bench: $(READY)  ## run the benchmarks (ONLY=import for a part, FLAGS=--save for the book)
	$(BIN)/python -m tests.benchmarks $(ONLY) $(FLAGS)

.PHONY: bench-before
bench-before: $(READY)  ## check whether anything is slower than at BEFORE=<revision> (ONLY=svm FLAGS="--minutes 12")
	$(BIN)/python -m tests.benchmarks.before $(or $(BEFORE),HEAD) $(ONLY) $(FLAGS)

.PHONY: data
data: $(READY)  ## rebuild the measured data from the packages on PyPI and compare with kernelcourse/data
	$(BIN)/python -m tests.data $(FLAGS)

.PHONY: lock
lock:  ## resolve requirements.lock again from requirements.txt, with the newest versions
	@"$(PYTHON)" environment.py lock
	@"$(PYTHON)" book/lite/parts.py lock

.PHONY: clean
clean:  ## remove what was built (the virtual environment stays)
	rm -rf _build .coverage build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

.PHONY: test-hard
test-hard: system $(READY)  ## run the tests three times in random order on a busy machine (FLAGS="tests/grading" RUNS=3 SEED=)
	-@$(MAKE) --no-print-directory setup-lite
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.hard --runs $(or $(RUNS),3) $(if $(SEED),--seed $(SEED)) \
	  -n 2 --dist worksteal -q $(FLAGS)

.PHONY: mutants
mutants: $(READY)  ## change the library slightly and see whether a test notices (ONLY=kernelcourse/kernels COUNT=600 JOBS=2)
	$(BIN)/python -m tests.mutants $(if $(COUNT),--count $(COUNT)) $(if $(ONLY),--only $(ONLY)) $(if $(JOBS),--jobs $(JOBS)) $(FLAGS)

.PHONY: hints
hints: $(READY)  ## change the solutions and see whether the checks say what is wrong (ONLY="01 06" FLAGS=--show)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -W ignore -m tests.hints $(ONLY) $(FLAGS)

.PHONY: fingerprints
fingerprints: $(READY)  ## rebuild the fingerprints of mistakes whose solution or inputs have changed (ONLY="01 06")
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -W ignore -m kernelcourse.course.fingerprints $(ONLY)
