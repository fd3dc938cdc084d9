# Each target makes what it needs in .venv and redoes it only when its lock file changes.
# Another Python: make run PYTHON=python3.12        More for pytest: make test ARGS="-k ledger -x"

PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
RUN := .venv/.stamp-run
DEV := .venv/.stamp-dev
DOCS := .venv/.stamp-docs
AXE := tests/browser/node_modules/.package-lock.json
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes
LOCK := uv pip compile pyproject.toml --universal --python-version 3.11 --no-header --no-emit-index-url \
	--generate-hashes --no-strip-extras --quiet --extra publish --extra report --extra excel

.PHONY: help run test check app slow browser audit mutants docs lock

help:
	@echo "make run      start the dashboard on this computer"
	@echo "make test     run the tests of the package, and of every page that it can be drawn"
	@echo "make check    lint, formatting and types"
	@echo "make app      run the tests of the dashboard's pages"
	@echo "make slow     run the long statistical tests, and rare data on every page"
	@echo "make browser  run the tests that drive Chromium"
	@echo "make mutants  plant faults, and see that the tests catch each of them"
	@echo "make docs     build the documentation, from docs/ and docstrings, as a site in build/docs/site"
	@echo "make lock     solve the lock files again (needs uv; newer versions: make lock ARGS=--upgrade)"

run: $(RUN)
	@$(BIN)/python -m dpcore.dashboard $(ARGS)

test: $(DEV)
	@$(BIN)/python -m pytest $(ARGS)

check: $(DEV)
	@echo "ruff check" && $(BIN)/ruff check .
	@echo "ruff format --check" && $(BIN)/ruff format --check .
	@echo "mypy" && $(BIN)/mypy

app: $(DEV)
	@$(BIN)/python -m pytest -m "app and not slow" $(ARGS)

slow audit: $(DEV)
	@$(BIN)/python -m pytest -m "slow and not browser" $(ARGS)

browser: $(DEV) $(AXE)
	@$(BIN)/python -m pytest -m browser $(ARGS)

mutants: $(DEV)
	@$(BIN)/python scripts/mutants.py $(ARGS)

docs: $(DOCS)
	@$(BIN)/python -m scripts.docs

lock:
	@command -v uv >/dev/null || { echo "make lock needs the uv program; install it and try again." >&2; exit 1; }
	@echo "requirements-dev.lock" && $(LOCK) --extra engines --extra dev $(ARGS) -o requirements-dev.lock
	@echo "requirements-docs.lock" && $(LOCK) --extra docs -c requirements-dev.lock $(ARGS) -o requirements-docs.lock
	@echo "requirements.lock" && $(LOCK) $(ARGS) -o requirements.lock

$(RUN): requirements.lock
	$(call install,requirements.lock)

$(DEV): requirements-dev.lock
	$(call install,requirements-dev.lock)

$(DOCS): requirements-docs.lock
	$(call install,requirements-docs.lock)

$(AXE): tests/browser/package-lock.json
	@command -v npm >/dev/null || { \
		echo "The browser tests need npm for the accessibility checker; install it and try again." >&2; exit 1; }
	@echo "Installing the accessibility checker of $< ..."
	@npm ci --prefix $(<D) --silent --ignore-scripts --no-audit --no-fund
	@touch $@

define install
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "dpcore needs Python 3.11 or newer; '$(PYTHON)' is not. Name another: make run PYTHON=python3.12" >&2; exit 1; }
@echo "Installing the packages of $(1) into .venv (a minute or so) ..."
@$(PYTHON) -m venv .venv
@$(PIP) -r $(1)
@touch $@
endef
