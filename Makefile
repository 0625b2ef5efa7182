# Everything a user needs; `make help` lists it. The work is done by lib/bookbuild (python -m bookbuild).
ifeq ($(wildcard lib/bookbuild/book.py),)
$(error make must run in the folder of the project (cd there, or make -C FOLDER), and runs in $(CURDIR))
endif
ifneq ($(findstring :,$(CURDIR)),)
$(error the path of the project must have no colon, which no environment of Python can have, got $(CURDIR))
endif
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
PYTHON ?= python3
PROFILE ?= standard
SCHEDULER ?=
PORT ?= 8000
NAME ?=
SEEDS ?= 0 1 2 3 4
ARGS ?=
VENV := .venv
RUN := $(VENV)/bin/python
# One test process a core, each with one thread.
PARALLEL := -n auto
# Tests of one file in one process, files in the order of tests/conftest.py: the one that builds the book early, those
# that read it last.
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

# The environment is made anew when its place, the Python or the pinned packages change: the name of its stamp is a
# checksum of them. The stamp comes last, so that an interrupted set-up is never taken for a finished one.
OLDEST := (3, 11)
NEWEST := (3, 13)
WHO := import os, sys; print(sys.version_info[:2], os.path.realpath(sys.executable))
KEY := $(shell { pwd; "$(PYTHON)" -c "$(WHO)"; cat requirements.lock; sed '/^\[tool/,$$d' pyproject.toml; } 2>/dev/null | cksum | tr ' ' -)
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check
LOCKED := --require-hashes --only-binary=:all:
# Behind a company's proxy only the certificates of the system are of use.
UV_RUN := UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1

# The environment with the packages of a file, and no others: by uv where it can be had, else by pip.
define packages
	@trap 'echo "setup: interrupted; the same command starts it again." >&2; exit 130' INT TERM; \
	uv=$$(command -v uv || ls $(VENV)/bin/uv 2>/dev/null) \
	|| { awk '/^[^ ]/ { on = /^uv==/ } on' requirements.lock >$(VENV)/uv.txt \
		&& $(PIP) $(LOCKED) -r $(VENV)/uv.txt 2>/dev/null && uv=$(VENV)/bin/uv; }; \
	{ [ -n "$$uv" ] && $(UV_RUN) "$$uv" pip sync --quiet --python $(RUN) $(LOCKED) $(1) \
		&& $(UV_RUN) "$$uv" pip install --quiet --python $(RUN) --no-deps --no-build-isolation -e .; } \
	|| { echo "uv is not to be had or failed; using pip, which takes a minute longer." >&2 \
		&& $(PIP) $(LOCKED) -r $(1) && $(PIP) --no-deps --no-build-isolation -e .; } \
	|| { echo "setup: installing the packages failed (the reason is printed above); is the package index within reach," \
		"and is there a wheel of each package for this machine?" >&2; exit 2; }
endef

.PHONY: setup
setup: $(VENV)/made-$(KEY) ## make the environment in .venv (the other targets do it by themselves)
	@:

$(VENV)/made-$(KEY):
	@"$(PYTHON)" -c "import sys; sys.exit(not $(OLDEST) <= sys.version_info[:2] <= $(NEWEST))" >/dev/null 2>&1 \
	|| { echo "setup: PYTHON must name a Python 3.11 to 3.13, got '$(PYTHON)':" \
		"$$("$(PYTHON)" --version 2>&1 | head -n 1)" >&2; exit 2; }
	@[ -w . ] || { echo "setup: the folder $(CURDIR) must be writable, and is not." >&2; exit 2; }
	@df -Pk . | awk 'END { if ($$4 < 2e6) { printf "setup: the disk of this folder must have 2.0 GB free, and has %.1f GB.\n", $$4 / 1e6; exit 2 } }' >&2
	@echo "Making the environment in $(VENV) (once)." >&2
	@rm -f $(VENV)/made-* $(VENV)/bench-*
	@began=$$(date +%s); why=$$("$(PYTHON)" -m venv --clear $(VENV) 2>&1) && echo $$began >$(VENV)/began \
	|| { echo "setup: cannot make the environment $(VENV): $$(echo "$$why" | tail -n 1)" >&2; exit 2; }
	$(call packages,requirements.lock)
	@echo $$(( $$(date +%s) - $$(cat $(VENV)/began) )) >$(VENV)/setup-seconds
	@touch $@

# What we compare with, in the same environment.
$(VENV)/bench-$(KEY): requirements-bench.lock $(VENV)/made-$(KEY)
	@$(UV_RUN) $(VENV)/bin/uv pip install --quiet --python $(RUN) $(LOCKED) -r $<
	@touch $@

.PHONY: book
book: setup ## run every notebook and render the book
	@$(RUN) -m bookbuild book --profile $(PROFILE)

.PHONY: pdf
pdf: setup ## the book as one PDF (needs Chromium; where it is, make book makes the PDF too)
	@$(RUN) -m bookbuild pdf --profile $(PROFILE)

LINT = $(RUN) -m ruff check . && $(RUN) -m ruff format --check . && $(RUN) -m mypy
UNITS := not statistical and not endtoend and not faults and not looks

.PHONY: check
check: setup ## lint, type check, units and doctests
	@$(LINT) && $(ONE_THREAD) $(RUN) -m pytest $(PARALLEL) $(BY_FILE) -q -m "$(UNITS)" $(ARGS)

# Lint and types are those of the pinned versions: other versions of NumPy declare other types.
RESOLUTION ?= lowest-direct
# What old versions of some packages call deprecated in new ones of others is no mistake of ours.
THEIRS := -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning
OTHER := .venv-$(RESOLUTION)

.PHONY: versions
versions: setup ## units and doctests with the lowest versions that are allowed, or the newest: RESOLUTION=highest
	@$(UV_RUN) $(VENV)/bin/uv venv --quiet --clear --python $(RUN) $(OTHER)
	@$(UV_RUN) $(VENV)/bin/uv pip install --quiet --python $(OTHER)/bin/python --resolution $(RESOLUTION) \
		--only-binary=:all: --no-binary=sgdnoise -e ".[book,test,cluster]"
	@$(ONE_THREAD) $(OTHER)/bin/python -m pytest $(PARALLEL) $(BY_FILE) -q -m "$(UNITS)" $(THEIRS) $(ARGS)

.PHONY: test
test: setup ## lint, type check and the test suite, with the JIT on and off
	@{ $(RUN) -m bookbuild kernels & } \
	&& $(LINT) \
	&& wait \
	&& $(ONE_THREAD) $(RUN) -m pytest $(PARALLEL) $(BY_FILE) -m "not faults and not looks" $(ARGS) \
	&& echo "The kernels once more, with the JIT off:" \
	&& NUMBA_DISABLE_JIT=1 $(ONE_THREAD) $(RUN) -m pytest $(PARALLEL) -q -m "kernel and not statistical" $$(grep -l mark.kernel tests/*.py) $(ARGS)

.PHONY: looks
looks: book ## look at every page of the book: screenshots, accessibility, the PDF
	@$(RUN) -m pytest $(PARALLEL) -m "looks or reads" --built $(ARGS)

.PHONY: faults
faults: setup ## kills, full disks, damaged files, a cluster, random input: several minutes
	@$(RUN) -m bookbuild kernels
	@$(ONE_THREAD) $(RUN) -m pytest $(PARALLEL) -m faults $(ARGS)

.PHONY: notebook
notebook: setup ## run one notebook: NAME=the_model PROFILE=smoke ARGS="-p seed 3"
	@$(RUN) -m bookbuild notebook "$(NAME)" --profile $(PROFILE) $(ARGS)

.PHONY: ledger
ledger: setup ## test all claims with several seeds, side by side: SEEDS="0 1 2 3 4" (hours; goes on where it was)
	@$(RUN) -m bookbuild ledger --profile $(PROFILE) --seeds "$(SEEDS)"

.PHONY: notebooks
notebooks: setup ## write an .ipynb beside each notebook's text, for Jupyter
	@$(RUN) -m bookbuild pair

.PHONY: serve
serve: setup ## serve the finished book on this machine: PORT=8000
	@[ -f _build/html/index.html ] || { echo "serve: there is no book yet; make it with: make book" >&2; exit 2; }
	@[ "$(PORT)" -ge 1 ] 2>/dev/null && [ "$(PORT)" -le 65535 ] \
	|| { echo "serve: PORT must be a number from 1 to 65535, got '$(PORT)'." >&2; exit 2; }
	@echo "Serving the book at http://127.0.0.1:$(PORT)/ (Ctrl-C ends it)."
	@$(RUN) -m http.server --bind 127.0.0.1 --directory _build/html $(PORT) >/dev/null 2>_build/serve.log \
	|| { echo "serve: port $(PORT) cannot be used ($$(tail -n 1 _build/serve.log)); name another with PORT=." >&2; exit 2; }

.PHONY: bench
bench: $(VENV)/bench-$(KEY) ## measure speed, as ratios in one run
	@mkdir -p _build/bench
	@for name in $(patsubst benchmarks/%.py,%,$(wildcard benchmarks/bench_*.py)); do \
		echo "$$name:" >&2; $(RUN) benchmarks/$$name.py --out _build/bench/$$name.json $(ARGS) \
		|| { echo "bench: benchmark $$name failed." >&2; exit 2; }; \
	done

.PHONY: readme
readme: setup ## remake the figure and the timings of the README
	@$(RUN) -m bookbuild readme

.PHONY: citation
citation: setup ## write .zenodo.json and codemeta.json anew from CITATION.cff
	@$(RUN) -m bookbuild citation

# Every package with hashes, for all supported Pythons, and without the address of any index.
COMPILE = $(UV_RUN) $(VENV)/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-annotate --no-header --no-emit-index-url
PINNED := --extra book --extra test --extra cluster

.PHONY: lock
lock: setup ## write requirements.lock and requirements-bench.lock anew from pyproject.toml
	@$(COMPILE) $(PINNED) -o requirements.lock && $(COMPILE) --extra bench -c requirements.lock -o requirements-bench.lock

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
