# Everything the project does, from a fresh machine with python3, make and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint soak bench clean

demo: $(VENV)/.test
	@$(BIN)/python examples/admissions.py

test: lint
	$(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The long version of the statistical tests: ten times the draws.
soak: $(VENV)/.test
	DISCREET_SOAK=1 $(BIN)/python -m pytest tests/test_statistics.py tests/test_contract.py

bench: $(VENV)/.bench
	@$(BIN)/python bench/noise.py

$(VENV)/.test: pyproject.toml scripts/setup
	@PYTHON="$(PYTHON)" scripts/setup "$(VENV)" test

$(VENV)/.bench: $(VENV)/.test
	@PYTHON="$(PYTHON)" scripts/setup "$(VENV)" bench

clean:
	find . -name __pycache__ -not -path "./$(VENV)/*" -exec rm -rf {} +
	rm -rf $(VENV) src/discreet.egg-info build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
