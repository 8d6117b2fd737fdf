# The commands of README. They write only to .venv, .cache and artefacts.

VENV := .venv
PYTHON ?= python3

.PHONY: help demo test coverage check owners packages soak mutants docs reference wheel clean

help:
	@echo "make demo       show the whole process in a browser"
	@echo "make test       run the checks and tests (ten minutes)"
	@echo "make coverage   run them with coverage, and check its bounds"
	@echo "make check      run the checks and the unit tests (five minutes)"
	@echo "make owners     run the tests of files of other users (needs root)"
	@echo "make packages   test the wheel and the packages for Debian 12 and 13 (needs root)"
	@echo "make soak       run a page next to every abuse for three minutes, and what runs long"
	@echo "make mutants    show which small changes of the guards no test notices (hours)"
	@echo "make docs       build the site and the manual pages in artefacts/"
	@echo "make reference  write the schemas and types that come from the code"
	@echo "make wheel      build the wheel and the source archive in dist/"
	@echo "make clean      remove .venv, caches and artefacts"

demo: $(VENV)/installed
	@.ci/system demo
	@$(VENV)/bin/python -m tests.e2e.walk

# -n auto: one process for each processor, and some more; see tests/conftest.py, which
# also orders the tests: --no-loadscope-reorder leaves the longest at the beginning.
# Each process would rewrite the asserts of every module: six seconds for none that fails.
PYTEST := $(VENV)/bin/python -m pytest -q --assert=plain \
	-n auto --dist loadscope --no-loadscope-reorder
MOST := --ignore=tests/model --ignore=tests/packaging

test: $(VENV)/installed
	@.ci/system test
	@$(VENV)/bin/python -m compileall -q -j 0 bridge tests  # or each process would
	@$(PYTEST) --durations=20 $(MOST)

# Twice the time in processes that are measured.
coverage: $(VENV)/installed
	@.ci/system test
	@$(PYTEST) --cov=bridge $(MOST)
	@mkdir -p .cache; $(VENV)/bin/python -m coverage report --include='bridge/protocol/*' \
		--fail-under=100 >.cache/protocol.txt || { cat .cache/protocol.txt; exit 1; }

# A faster subset: the checks, and what is tested from inside.
check: $(VENV)/installed
	@.ci/system test
	@$(PYTEST) -m 'not e2e and not corpus'

# Root can make files of other users, which the tests of an ordinary user imitate.
owners: $(VENV)/installed
	@.ci/system test
	@$(PYTEST) $$(grep -rlE 'planted\(|geteuid' tests --include='test_*.py')

# Test the wheel, and the Debian packages in systems of their own, which needs root.
packages: $(VENV)/installed
	@.ci/system test
	@$(PYTEST) tests/packaging

# Three minutes of a page next to every abuse: memory, files, threads and timers stay flat.
# Meanwhile the daemon is compared with its model.
soak: $(VENV)/installed
	@.ci/system demo
	@$(PYTEST) tests/model & model=$$!; status=0; \
	$(VENV)/bin/python -m benchmarks.soak --minutes=3 || status=$$?; \
	wait $$model || status=$$?; exit $$status

# In a clone, as it writes into the modules. make mutants MUTATED=web/guard takes minutes.
MUTATED ?= protocol/budgets web/guard http/target plugins/tree/manifest \
	plugins/tree/tree plugins/clone/files store/state
COSMIC := $(CURDIR)/.cache/cosmic-ray/bin

mutants: $(VENV)/installed
	@$(PYTHON) -m venv .cache/cosmic-ray
	@$(COSMIC)/python -m pip install --quiet cosmic-ray
	@rm -rf .cache/mutants; git clone --quiet . .cache/mutants
	@export PATH="$(CURDIR)/$(VENV)/bin:$$PATH"; cd .cache/mutants; \
	for module in $(MUTATED); do \
		folder=tests/$$(dirname $$module); own=$$folder/test_$$(basename $$module).py; \
		sed "s|MODULE|bridge/$$module.py|; s|TESTS|$$own $$folder|" tests/mutation.toml >m.toml; \
		rm -f m.sqlite; $(COSMIC)/cosmic-ray init m.toml m.sqlite || exit; \
		$(COSMIC)/cr-filter-operators m.sqlite m.toml || exit; \
		$(COSMIC)/cosmic-ray exec m.toml m.sqlite || exit; \
		$(COSMIC)/cr-report --surviving-only --show-diff m.sqlite; \
	done

# The site in artefacts/docs, and the manual pages in artefacts/man.
docs: $(VENV)/installed
	@$(VENV)/bin/python -m sphinx -q -W --keep-going -b html -d .cache/docs docs artefacts/docs
	@$(VENV)/bin/python -m sphinx -q -W --keep-going -b man -d .cache/docs docs artefacts/man
	@echo "artefacts/docs/index.html, artefacts/man"

# Write the committed files that come from the code.
reference: $(VENV)/installed
	$(VENV)/bin/python docs/generate.py

# Both contain the reference page's library, which no repository of ours has.
wheel: $(VENV)/installed
	@.ci/system demo
	@$(VENV)/bin/python -m bridge setup --download bridge/shipped
	@$(VENV)/bin/python -m build

# editable_mode=compat: in the other mode twistd does not find its plugin.
$(VENV)/installed: setup.cfg setup.py
	@.ci/system python
	@echo "Installing into $(VENV), with pip: this project, and what it and its extras demo," \
		"docs and test need (see setup.cfg)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --upgrade pip
	@PYTHONWARNINGS=ignore $(VENV)/bin/python -m pip install --quiet --editable '.[demo,docs,test]' \
		--config-settings editable_mode=compat
	@echo "Installed:" $$($(VENV)/bin/python -m pip list --format=freeze)
	@touch $@

clean:
	rm -rf $(VENV) .tox .cache artefacts build dist bridge/shipped .coverage* .hypothesis
