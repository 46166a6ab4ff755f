# `make demo` and `make test` set up everything they need; a GPU is used when there is one.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
OSM    ?=
DATA   ?=
EXTRAS ?= dev
READY  := $(VENV)/.ready-$(EXTRAS)

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-gpu lint docs clean

help: ## show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Flaneur needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@

setup: $(READY) ## make the virtual environment in .venv and install everything pinned

demo: setup ## a city, three mappers, a table and a page: out/demo/index.html  (OSM=extract.osm.pbf for a real one)
	$(BIN)/flaneur demo --out out/demo $(if $(OSM),--osm $(OSM))

test: setup ## all tests that need no GPU
	$(BIN)/python -m pytest -m 'not gpu'

test-gpu: setup ## the tests that need a CUDA device  (DATA=folder of a built data set: the benchmarks too)
	$(BIN)/python -m pytest -m gpu
	$(if $(DATA),$(BIN)/python benchmarks/gpu.py --scenes $(DATA))

lint: setup ## style, types and layering
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

docs: setup ## the documentation site, in site/  (EXTRAS=dev,docs)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean: ## remove what was made, but not the environment
	rm -rf out build dist site *.egg-info
