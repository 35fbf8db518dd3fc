# Everything the project does, from a fresh machine with python3, make and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test quick lint soak mutants bench bench-peers clean

demo: $(VENV)/.test
	@$(BIN)/discreet demo

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal

# A cross-section of the tests, for between two edits: the first case of each test function that is not slow.
quick: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal --quick

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The long version: ten times the draws, twenty times the random and hostile questions, a thousand killed processes, a
# million entries. It takes hours; SLICE=2/5 runs the second fifth of it.
soak: $(VENV)/.test
	DISCREET_SOAK=1 $(BIN)/python -m pytest -n 2 --dist worksteal --slice $(or $(SLICE),1/1) tests/contract/test_statistics.py tests/contract/test_contract.py tests/ledger/test_ledger_crash.py tests/threats/test_fuzz.py tests/learn/test_kmeans.py tests/threats/test_lineage.py tests/threats/test_names.py tests/threats/test_equality.py tests/engines/test_widths.py tests/engines/test_sources.py tests/threats/test_work.py tests/threats/test_exhaustion.py tests/curator/test_history.py tests/plan/test_declared_anew.py tests/engines/test_index.py tests/curator/test_questions.py tests/engines/test_agreement_random.py tests/kernel/test_campaign_plans.py tests/kernel/test_acceptance.py $(wildcard tests/threats/test_campaign*.py)
	$(BIN)/python bench/ledger.py 1000000

# Break the promise on purpose, one way at a time; fails unless the tests notice every one.
mutants: $(VENV)/.test
	@$(BIN)/python scripts/mutants

bench: $(VENV)/.bench
	@$(BIN)/python bench/noise.py
	@$(BIN)/python bench/local.py
	@$(BIN)/python bench/ledger.py 100000
	@$(BIN)/python bench/history.py 100000
	@$(BIN)/python bench/curator.py
	@$(BIN)/python bench/sessions.py
	@$(BIN)/python bench/kernel.py
	@$(BIN)/python bench/quantiles.py
	@$(BIN)/python bench/learn.py
	@$(BIN)/python bench/tpch.py --data $(VENV)/tpch
	@$(BIN)/python bench/questions.py
	@$(BIN)/python bench/workload.py
	@$(BIN)/python bench/lab.py

# Beside other libraries, each in an environment of its own; those that cannot be installed are named in the table.
bench-peers: $(VENV)/.bench
	@$(BIN)/python bench/peers.py --envs $(VENV)/peers

$(VENV)/.test: pyproject.toml scripts/setup
	@PYTHON="$(PYTHON)" scripts/setup "$(VENV)" test

$(VENV)/.bench: $(VENV)/.test
	@PYTHON="$(PYTHON)" scripts/setup "$(VENV)" bench

clean:
	find . -name __pycache__ -not -path "./$(VENV)/*" -exec rm -rf {} +
	rm -rf $(VENV) src/discreet.egg-info build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
