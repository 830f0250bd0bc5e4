# One command each; every target makes the environment it needs. `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Processes that take tests, a file at a time.
WORKERS ?= 2
PIP    := $(BIN)/python -m pip --disable-pip-version-check

# A second thread that spins while it waits slows everything down where a core is busy.
export OMP_WAIT_POLICY := PASSIVE
export GOMP_SPINCOUNT  := 0
export TOKENIZERS_PARALLELISM := false

.PHONY: help evaluate quick test check format docs golden audit clean

help:              ## this list
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## / - /'

evaluate:          ## play three games with the embedded model, without a key; makes .venv first
	@test -e $(VENV)/local.done || echo "First, once: $(VENV) with lotbench and a model of 135 million parameters. With the games a minute and a half in all, by the network."
	@$(MAKE) --no-print-directory -s $(VENV)/local.done
	@echo "Now three games of four rounds on this machine, without a key or the network. The model is tiny: watch the game, not the score."
	$(BIN)/lotbench evaluate --config configs/try.toml
	@echo "Look at the games, picture by picture:  $(BIN)/lotbench view"
	@echo "Be the player yourself, without a key:   $(BIN)/lotbench play --browser"

quick: $(VENV)/dev.done        ## the fast tests, under two minutes
	$(BIN)/python -m pytest -q -n $(WORKERS)

test: $(VENV)/all.done         ## every test but those that need a paid API
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not live"

check: $(VENV)/dev.done        ## format, lint, types, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/dev.done       ## put the code in order
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/docs.done         ## the pages of docs/ as a site with a search, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q --strict -f configs/docs.yml
	@echo "open site/index.html"

golden: $(VENV)/dev.done       ## write drawings and golden files anew; the only way they change
	LOTBENCH_GOLDEN=write $(BIN)/python -m pytest -q -k "golden or drawing"

audit: $(VENV)/dev.done        ## known vulnerabilities of the pinned versions
	$(PIP) install -q pip-audit
	$(BIN)/pip-audit --strict -r constraints.txt --no-deps

clean:             ## remove the environment and caches
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/local.done: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install -q -c constraints.txt -e ".[local]"
	$(BIN)/lotbench local install
	touch $@

$(VENV)/dev.done: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install -q -c constraints.txt -e ".[local,dev]"
	$(BIN)/lotbench local install
	touch $@

$(VENV)/docs.done: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install -q -c constraints.txt "mkdocs-material>=9.8,<10"
	touch $@

$(VENV)/all.done: $(VENV)/dev.done
	$(PIP) install -q -c constraints.txt -e ".[all,dev]"
	touch $@
