# One command each; every target makes the environment it needs. `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Processes that take tests, a file at a time.
WORKERS ?= 2
START   := $(shell date +%s)
PIP    := $(BIN)/python -m pip --disable-pip-version-check

# Compiled modules are kept, whatever the environment says: without them a process takes three times as long to start.
export PYTHONDONTWRITEBYTECODE :=
# A second thread that spins while it waits slows everything down where a core is busy.
export OMP_WAIT_POLICY := PASSIVE
export GOMP_SPINCOUNT  := 0
export TOKENIZERS_PARALLELISM := false

.PHONY: help evaluate demo quick test check format docs golden audit clean

help:              ## this list
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## / - /'

evaluate: $(VENV)/local.done   ## watch a tiny model at a joke, and a good player at the same, without a key; makes .venv first
	@ready=$$(date +%s) && $(BIN)/lotbench watch && end=$$(date +%s) && \
	echo "        make demo                         a leaderboard of three scripted players" && \
	echo "It took $$((end - $(START))) s: $$((ready - $(START))) s to install, $$((end - ready)) s for the games."

demo: $(VENV)/local.done       ## a leaderboard of three scripted players in the browser, without a key
	@test -d demo || $(BIN)/python -m tests.bench.pictures --runs demo || { rm -rf demo; exit 1; }
	@$(BIN)/lotbench view demo

quick: $(VENV)/dev.done        ## the fast tests, under two minutes
	$(BIN)/python -m pytest -q -n $(WORKERS)

test: $(VENV)/all.done         ## every test but those that need a paid API
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not live"

check: $(VENV)/dev.done        ## format, lint, types, import layers, prose
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.prose

format: $(VENV)/dev.done       ## put the code in order
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/docs.done         ## the pages of docs/ as a site with a search, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q --strict -f configs/docs.yml
	@echo "open site/index.html; for the search: $(BIN)/python -m http.server -d site"

golden: $(VENV)/dev.done       ## write drawings and golden files anew; the only way they change
	LOTBENCH_GOLDEN=write $(BIN)/python -m pytest -q -k "golden or drawing"

audit: $(VENV)/dev.done        ## known vulnerabilities of the pinned versions
	$(PIP) install -q pip-audit
	$(BIN)/pip-audit --strict -r constraints.txt --no-deps

clean:             ## remove the environment and caches
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

# uv installs in seconds what takes pip a minute or two; where it is not to be had, or fails, pip does it.
# The packages stand in $$what: a comma would end an argument of make's own functions.
define install
if test -x $(BIN)/uv && $(BIN)/uv pip install -q --python $(BIN)/python -c constraints.txt $$what; then :; \
else $(PIP) install -qq -c constraints.txt $$what; fi
endef

$(VENV)/bin/python:
	@echo "First, once: $(VENV) with lotbench and a tiny model, in a minute or two."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install -qq uv || echo "no uv: pip installs"

$(VENV)/local.done: $(VENV)/bin/python pyproject.toml constraints.txt
	@what='-e .[local]'; $(install)
	@$(BIN)/lotbench local install
	@touch $@

$(VENV)/dev.done: $(VENV)/bin/python pyproject.toml constraints.txt
	@what='-e .[local,dev]'; $(install)
	$(BIN)/lotbench local install
	touch $@

$(VENV)/docs.done: $(VENV)/bin/python pyproject.toml constraints.txt
	@what='mkdocs-material>=9.8,<10'; $(install)
	touch $@

$(VENV)/all.done: $(VENV)/dev.done
	@what='-e .[all,dev]'; $(install)
	touch $@
