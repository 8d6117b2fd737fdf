# README's commands. Everything they make is below .venv, .tox, .cache and artefacts.

VENV := .venv
PYTHON ?= python3

.PHONY: demo test reference clean

demo: $(VENV)/installed
	@.ci/system demo
	@$(VENV)/bin/python -m tests.whole.walk

test: $(VENV)/installed
	@.ci/system test
	@$(VENV)/bin/tox -qq run

# Write the generated pages of docs/reference anew.
reference: $(VENV)/installed
	$(VENV)/bin/python docs/generate.py

# editable_mode=compat: in the other mode twistd does not find its plugin.
$(VENV)/installed: setup.cfg setup.py
	@.ci/system python
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --upgrade pip
	@PYTHONWARNINGS=ignore $(VENV)/bin/python -m pip install --quiet --editable '.[demo,test]' \
		--config-settings editable_mode=compat tox
	@touch $@

clean:
	rm -rf $(VENV) .tox .cache artefacts .coverage* .hypothesis
