# The commands of README. They write only to .venv, .tox, .cache and artefacts.

VENV := .venv
PYTHON ?= python3

.PHONY: demo test docs reference clean

demo: $(VENV)/installed
	@.ci/system demo
	@$(VENV)/bin/python -m tests.whole.walk

test: $(VENV)/installed
	@.ci/system test
	@$(VENV)/bin/tox -qq run

# The site in artefacts/docs, and the manual pages in artefacts/man.
docs: $(VENV)/installed
	@$(VENV)/bin/python -m sphinx -q -W --keep-going -b html -d .cache/docs docs artefacts/docs
	@$(VENV)/bin/python -m sphinx -q -W --keep-going -b man -d .cache/docs docs artefacts/man
	@echo "artefacts/docs/index.html, artefacts/man"

# Regenerate the parts of the docs that come from the code.
reference: $(VENV)/installed
	$(VENV)/bin/python docs/generate.py

# editable_mode=compat: in the other mode twistd does not find its plugin.
$(VENV)/installed: setup.cfg setup.py
	@.ci/system python
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --upgrade pip
	@PYTHONWARNINGS=ignore $(VENV)/bin/python -m pip install --quiet --editable '.[demo,docs,test]' \
		--config-settings editable_mode=compat tox
	@touch $@

clean:
	rm -rf $(VENV) .tox .cache artefacts .coverage* .hypothesis
