# Everything a user needs; `make help` lists it. The work is done by lib/bookbuild (python -m bookbuild).
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
PYTHON ?= python3
PROFILE ?= standard
SCHEDULER ?=
PORT ?= 8000
NAME ?=
ARGS ?=
VENV := .venv
RUN := $(VENV)/bin/python
# One test process a core, each with one thread.
PARALLEL := -n auto
# Tests of one file in one process, files in their order: the one that builds the book early, those that read it last.
BY_FILE := --dist loadfile --no-loadscope-reorder
ONE_THREAD := NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# The environment is ours: compiled once, its packages are imported several times faster.
unexport PYTHONDONTWRITEBYTECODE
export SGDNOISE_SCHEDULER := $(SCHEDULER)

ifeq ($(and $(filter smoke standard paper,$(PROFILE)),$(filter 1,$(words $(PROFILE)))),)
$(error PROFILE must be smoke, standard or paper, got '$(PROFILE)')
endif

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "%-22s%s\n", $$1, $$2}'
	@echo "PROFILE=smoke|standard|paper sets the size of the runs (standard unless given);"
	@echo "SCHEDULER=tcp://host:8786 runs the sweeps of a book on a Dask cluster."

.PHONY: setup
setup: ## make the environment in .venv (the other targets do it by themselves)
	@"$(PYTHON)" -c "print" >/dev/null 2>&1 || { echo "setup: PYTHON must name a Python 3.11 to 3.13, got '$(PYTHON)', which is none." >&2; exit 2; }
	@"$(PYTHON)" lib/bookbuild/setup_env.py $(VENV)

.PHONY: book
book: setup ## run every notebook and render the book
	@$(RUN) -m bookbuild book --profile $(PROFILE)

.PHONY: pdf
pdf: setup ## the book as one PDF (needs Chromium; where it is, make book makes the PDF too)
	@$(RUN) -m bookbuild pdf --profile $(PROFILE)

.PHONY: test
test: setup ## lint, type check and the test suite, with the JIT on and off
	@began=$$(date +%s) \
	&& { $(RUN) -m bookbuild kernels & } \
	&& $(RUN) -m ruff check . \
	&& $(RUN) -m ruff format --check . \
	&& $(RUN) -m mypy \
	&& wait \
	&& $(ONE_THREAD) $(RUN) -m pytest $(PARALLEL) $(BY_FILE) -m "not faults and not looks" $(ARGS) \
	&& echo "The kernels once more, with the JIT off:" \
	&& NUMBA_DISABLE_JIT=1 $(ONE_THREAD) $(RUN) -m pytest $(PARALLEL) -q -m kernel $(ARGS) \
	&& $(RUN) -m bookbuild timed test $$(( $$(date +%s) - began ))

.PHONY: looks
looks: book ## look at every page of the book: screenshots, accessibility, the PDF
	@$(RUN) -m pytest $(PARALLEL) -m looks $(ARGS)

.PHONY: faults
faults: setup ## kills, full disks, damaged files, a cluster, random input: several minutes
	@$(RUN) -m bookbuild kernels
	@$(ONE_THREAD) $(RUN) -m pytest $(PARALLEL) -m faults $(ARGS)

.PHONY: notebook
notebook: setup ## run one notebook: NAME=the_model PROFILE=smoke ARGS="-p seed 3"
	@$(RUN) -m bookbuild notebook "$(NAME)" --profile $(PROFILE) $(ARGS)

.PHONY: notebooks
notebooks: setup ## write an .ipynb beside each notebook's text, for Jupyter
	@$(RUN) -m bookbuild pair

.PHONY: serve
serve: setup ## serve the finished book on this machine: PORT=8000
	@$(RUN) -m bookbuild serve --port $(PORT)

.PHONY: bench
bench: setup ## measure speed, as ratios in one run
	@"$(PYTHON)" lib/bookbuild/setup_env.py $(VENV) --bench
	@$(RUN) -m bookbuild bench $(ARGS)

.PHONY: readme
readme: setup ## remake the figure and the timings of the README
	@$(RUN) -m bookbuild readme

.PHONY: lock
lock: setup ## write requirements.lock anew from pyproject.toml
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(RUN) -m bookbuild.lock

.PHONY: format
format: setup ## format the code
	@$(RUN) -m ruff check --fix .
	@$(RUN) -m ruff format .

.PHONY: clean
clean: ## remove what was built, but not the environment
	@rm -rf _build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find lib tests notebooks benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean ## remove the environment too
	@rm -rf $(VENV)
