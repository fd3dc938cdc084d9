# Each target makes what it needs in .venv and redoes it only when its lock file changes.
# Another Python: make run PYTHON=python3.12        More for pytest: make test ARGS="-k ledger -x"

PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
RUN := .venv/.stamp-run
DEV := .venv/.stamp-dev
DOCS := .venv/.stamp-docs
LOWEST := .venv-lowest/.stamp
AXE := tests/browser/node_modules/.package-lock.json
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes
LOCK := uv pip compile pyproject.toml --universal --python-version 3.11 --no-header --no-emit-index-url \
	--generate-hashes --no-strip-extras --quiet --extra report --extra excel

.PHONY: help install run test check app audit audits browser mutants nightly missing size words texts gaps docs lowest lock

help:
	@echo "make run      start the dashboard on this computer"
	@echo "make test     run the tests of the package, and of every page that it can be drawn"
	@echo "make check    lint, formatting and types"
	@echo "make app      run the tests of the dashboard's pages"
	@echo "make audits   run the slow tests if what they audit has changed since they were green, else a tenth of them"
	@echo "make audit    run all of them, whatever has changed"
	@echo "make oracles  compare a model with private-pgm's, in an environment of its own"
	@echo "make browser  run the tests that drive Chromium"
	@echo "make lowest   run the tests of the package with the lowest versions that pyproject.toml allows (Python 3.11)"
	@echo "make mutants  plant faults, and see that the tests catch each of them"
	@echo "make missing  say what a change lacks in lists, records, texts and sizes"
	@echo "make size     count the code, beside targets and allowances, and write down what fell"
	@echo "make words    find words that the glossary does not use, and write down what fell"
	@echo "make texts    bring translations up to date with what screens say"
	@echo "make gaps     list what is not translated"
	@echo "make nightly  run all of the above with all seeds"
	@echo "make docs     build the documentation, from docs/ and docstrings, as a site in build/docs/site"
	@echo "make lock     solve the lock files again (needs uv; newer versions: make lock ARGS=--upgrade)"

install: $(DEV) $(DOCS) $(AXE)

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

audit: $(DEV)
	@$(BIN)/python -m scripts.audits --all $(ARGS)

audits: $(DEV)
	@$(BIN)/python -m scripts.audits $(ARGS)

ORACLES := .venv/.stamp-oracles
.PHONY: oracles
oracles: $(DEV) $(ORACLES)
	@mkdir -p build
	@$(BIN)/python -m benchmarks.estimator_oracle build/given.npz
	@.venv/oracles/bin/python benchmarks/estimator_oracle.py build/given.npz

$(ORACLES): benchmarks/oracles.lock $(DEV)
	@echo "Installing the packages of $< into .venv/oracles ..."
	@$(PYTHON) -m venv .venv/oracles
	@.venv/oracles/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r $<
	@touch $@

nightly: check docs
	@$(MAKE) test app audit ARGS="--seeds all"
	@$(MAKE) browser oracles mutants ARGS=

browser: $(DEV) $(AXE)
	@$(BIN)/python -m pytest -m browser $(ARGS)

lowest: $(LOWEST)
	@.venv-lowest/bin/python -m pytest $(ARGS)

mutants: $(DEV)
	@$(BIN)/python scripts/mutants.py $(ARGS)

missing: $(DEV)
	@$(BIN)/python -m scripts.missing

size: $(DEV)
	@$(BIN)/python -m scripts.size $(ARGS)

words: $(DEV)
	@$(BIN)/python -m scripts.glossary $(ARGS)

texts: $(DEV)
	@$(BIN)/python -m scripts.words $(ARGS)

gaps: $(DEV)
	@$(BIN)/python -m scripts.words --gaps

docs: $(DOCS)
	@$(BIN)/python -m scripts.docs

lock:
	@command -v uv >/dev/null || { echo "make lock needs the uv program; install it and try again." >&2; exit 1; }
	@echo "requirements-dev.lock" && $(LOCK) --extra dev $(ARGS) -o requirements-dev.lock
	@echo "requirements-docs.lock" && $(LOCK) --extra docs -c requirements-dev.lock $(ARGS) -o requirements-docs.lock
	@echo "requirements.lock" && $(LOCK) $(ARGS) -o requirements.lock
	@echo "benchmarks/oracles.lock" && echo "mbi jax" | tr " " "\n" | uv pip compile - --universal --python-version 3.11 \
		--no-header --no-emit-index-url --generate-hashes --quiet $(ARGS) -o benchmarks/oracles.lock

$(RUN): requirements.lock
	$(call install,requirements.lock)

$(DEV): requirements-dev.lock
	$(call install,requirements-dev.lock)

$(DOCS): requirements-docs.lock
	$(call install,requirements-docs.lock)

$(LOWEST): pyproject.toml requirements-dev.lock scripts/lowest.py
	@$(PYTHON) scripts/lowest.py .venv-lowest
	@touch $@

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
