# Everything runs in one virtual environment, made on first use.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test torture check format clean

setup: .venv/.ready

.venv/.ready: pyproject.toml constraints.txt
	@echo "setup: making .venv (compiling llama.cpp takes about 5 minutes the first time)"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

demo: setup
	$(BIN)/redraft run builtin:smoke --html report.html

test: setup
	$(BIN)/pytest

# Kill points by the thousand over everything that writes to disk; tests run a few of them.
torture: setup
	$(BIN)/python tests/bundles/torture.py --points 1050

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest tests/test_architecture.py

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache
