# `make` builds everything and says where to look; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := all
# Installing for two roles at once would damage the environment.
.NOTPARALLEL:
.PHONY: all teacher install exercises check-exercises book pdf epub notebooks grader-wheel links class test test-all test-changed \
  test-portable hub hub-demo hub-test style lint serve clean help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The environment holds what a role needs while its file is there; the name holds what it was made
# from. Each role needs what the one before needs, and more.
KEY := $(shell cat pyproject.toml constraints.txt | cksum | tr -d ' ')
READER := $(VENV)/.reader-$(KEY)
TEACHER := $(VENV)/.teacher-$(KEY)
DEVELOPER := $(VENV)/.developer-$(KEY)
$(READER): EXTRAS = book
$(TEACHER): EXTRAS = book,grade
$(DEVELOPER): EXTRAS = book,grade,dev,peers,postgres,cluster,translate
$(READER): HOLDS = $(READER)
$(TEACHER): HOLDS = $(READER) $(TEACHER)
$(DEVELOPER): HOLDS = $(READER) $(TEACHER) $(DEVELOPER)
SAMPLE := 03_attention
# A hub makes accounts; nothing else here takes root.
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)
# A file's tests share what they set up, so they stay together; few processes, as each loads torch.
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# What computes: all but grading, publishing, servers, browsers, speed and texts about the tree.
NUMERIC := course_lib grader tests/grader/checks $(filter-out $(addprefix tests/,__pycache__ conftest.py benchmarks book browser \
  grader test_cli.py test_deploy.py test_layout.py test_size.py),$(wildcard tests/*))

all: class ## environment, book, exercises, a sample class graded; prints where to look
	@echo
	@echo "book       $(CURDIR)/_build/html/index.html"
	@echo "exercises  $(CURDIR)/exercises"
	@echo "gradebook  $(CURDIR)/_build/class/gradebook.db"
	@echo "feedback   $(CURDIR)/_build/class/feedback/dan-mistaken/$(SAMPLE)/$(SAMPLE).html"
	@echo "summary    $(CURDIR)/_build/class/summary/$(SAMPLE).txt"

$(READER) $(TEACHER) $(DEVELOPER):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, but %s is %s: make PYTHON=python3.11" % (sys.executable, sys.version.split()[0]))'
	$(PYTHON) -m venv $(VENV)
	@echo "installing $(EXTRAS) into $(VENV); this takes some minutes"
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	@rm -f $(VENV)/.reader-* $(VENV)/.teacher-* $(VENV)/.developer-*
	@touch $(HOLDS)

teacher: $(TEACHER) ## in .venv, what reading, learning and grading need

install: $(DEVELOPER) ## everything in .venv: what the book, the grader and the tests need

check-exercises: $(TEACHER)
	@$(BIN)/course exercises --check

exercises: $(TEACHER) ## write exercises/ again from solutions/
	@$(BIN)/course exercises

book: $(READER) ## the book in _build/html
	@$(BIN)/course book

pdf: $(DEVELOPER) book ## the book as one PDF, in _build
	@$(BIN)/course book --pdf

epub: book ## the book as an EPUB, in _build/epub
	@$(BIN)/course book --epub

notebooks: wheel ## pages and assignments as notebooks for Colab, with their wheel, in _build/notebooks
	@$(BIN)/course book --notebooks
	@cp _build/wheel/*.whl _build/notebooks

wheel: $(TEACHER) ## what students get as one file to install, in _build/wheel
	@rm -rf _build/wheel
	@$(BIN)/course handout _build/handout
	@$(BIN)/pip wheel --quiet --no-deps --wheel-dir _build/wheel _build/handout
	@ls -l _build/wheel/*.whl

grader-wheel: $(TEACHER) ## the grader alone, for another course, in _build/grader-wheel
	@rm -rf _build/grader-wheel && mkdir -p _build/grader-wheel/source
	@cp -r grader _build/grader-wheel/source
	@cd _build/grader-wheel/source && mv grader/pyproject.toml grader/README.md .
	@$(BIN)/pip wheel --quiet --no-deps --wheel-dir _build/grader-wheel _build/grader-wheel/source
	@ls -l _build/grader-wheel/*.whl

links: $(READER) ## check that every external link of the book still works; needs a network
	@$(BIN)/course book --links

class: $(TEACHER) check-exercises book ## grade a made-up class in _build/class
	@$(BIN)/course grade $(SAMPLE) --sample

test: $(DEVELOPER) lint check-exercises book ## style and types, then the tests, file by file on all cores
	@$(PYTEST) -m "not slow"

SINCE ?= HEAD
test-changed: $(DEVELOPER) ## only the tests that can see what differs from SINCE (HEAD)
	@$(PYTEST) -m "not slow" --changed $(SINCE)

# Each value of both settings comes once; the last run is as this machine computes unasked.
# Compiled code is kept by what it computes and not by whose units it is for: here none is taken.
# Pages train small models and say what came of it: they are executed, too.
test-portable: $(DEVELOPER) ## the numeric tests with the arithmetic of other vector units
	@for units in "ATEN_CPU_CAPABILITY=default MKL_ENABLE_INSTRUCTIONS=AVX2" \
	    "-u MKL_ENABLE_INSTRUCTIONS ATEN_CPU_CAPABILITY=avx2" \
	    "-u ATEN_CPU_CAPABILITY -u MKL_ENABLE_INSTRUCTIONS"; do \
	  echo "env $$units"; env $$units TORCHINDUCTOR_FX_GRAPH_CACHE=0 $(PYTEST) -q -m "not slow or pages" \
	    $(NUMERIC) tests/book/test_pages.py; \
	done

test-all: $(DEVELOPER) lint check-exercises book test-portable ## all tests, slow ones too, and the matrix
	@$(PYTEST)
	@$(BIN)/course matrix --seeds 20 --mutants

style: $(DEVELOPER) ## ruff, layers, declared dependencies
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/lint-imports && $(BIN)/deptry course_lib grader book tests

lint: style ## the same, and types
	@$(BIN)/mypy

serve: book ## serve the book on this machine
	@$(BIN)/course serve

hub: check-exercises ## a JupyterHub for the course on this machine, until Ctrl-C; asks for root
	@$(SUDO) $(BIN)/course hub

hub-demo: check-exercises ## the same with one instructor and three students
	@$(SUDO) $(BIN)/course hub demo

hub-test: $(DEVELOPER) check-exercises ## an instructor's and two students' way through a hub, in a browser
	@$(BIN)/python -m pytest -m hub -s tests/grader/hub

clean: ## remove what was built; the environment stays
	rm -rf _build solutions/*/*.ipynb

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16
