# Each target installs what it needs. It requires only python3.
PYTHON ?= python3
BIN := .venv/bin
# RUN marks an environment for the service, STAMP one with tests and tools. Their names contain a checksum.
RUN := .venv/.run-$(shell cat pyproject.toml requirements-image.lock | cksum | cut -d' ' -f1)
STAMP := .venv/.installed-$(shell cat pyproject.toml requirements.lock | cksum | cut -d' ' -f1)
PORT ?= 8000
UI_PORT ?= 3000
RECORDINGS ?=
UP_OPTIONS ?=
TEST_OPTIONS ?=
# `make check` runs these, except slow tests: they do not start a server or fill a warehouse.
QUICK := tests/test_architecture.py tests/docs tests/sources tests/warehouse $(wildcard $(patsubst %,tests/%.py, \
  api/test_accounts api/test_catalogue api/test_code_samples api/test_formats api/test_forms_of_time api/test_gate \
  api/test_keys api/test_ledger api/test_openapi api/test_paging api/test_series api/test_settings api/test_windows \
  api/test_x402_buying api/test_x402_wire assets/test_runs* assets/test_summary assets/test_checks \
  fetch/test_session* geo/test_joins \
  geo/test_papers mcp/test_tools_* orchestration/test_compose orchestration/test_definitions orchestration/test_deploy \
  orchestration/test_gaps orchestration/test_webhooks_sending pages/test_page simulated/test_faults))
# Python stores compiled files even if the environment forbids it: tests start hundreds of interpreters.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help up test campaigns thorough check quick lint coverage bench faults fleet audit chain site setup lock layers plants hooks clean

up: $(or $(wildcard $(STAMP)),$(RUN)) ## start the API and Dagster; fill an empty warehouse first
	$(BIN)/emds up --port $(PORT) --ui-port $(UI_PORT) $(if $(RECORDINGS),--recordings $(RECORDINGS)) $(UP_OPTIONS)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

# The tests of one file run on one core, because many share a server.
test: setup ## run all tests but the campaigns
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "not campaign" $(TEST_OPTIONS)

# These tests kill parts of a fleet, plant faults, run days of schedules and an outage, and run schemathesis.
campaigns: setup ## run the tests that take minutes each
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m campaign $(TEST_OPTIONS) \
	  $$(grep -rl --include='test_*.py' mark.campaign tests)

# Run this before a release. It has 100,000 mutated bodies, and schemathesis has 100 examples per operation.
thorough: setup ## run all tests with many more examples
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --thorough $(TEST_OPTIONS)

# mypy runs on one core while tests start on the other.
check: $(STAMP) ## run lint and the quick tests
	$(MAKE) -j2 lint quick

quick: $(STAMP) ## run the quick tests
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "not slow" -q $(QUICK)

lint: $(STAMP) ## check format, style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

coverage: setup ## run all tests and measure coverage
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --cov --cov-report=term:skip-covered

# SECONDS is an hour by default. PLACE=bucket uses an S3 server on loopback.
faults: $(STAMP) ## plant random faults in copies of a small warehouse
	$(BIN)/python -m tests.campaigns.faults $(or $(SECONDS),3600) $(or $(SEED),1) $(or $(PLACE),folder)

# The test kills PostgreSQL, an object store, nginx, three replicas and Dagster in turn.
fleet: setup ## run a fleet on this machine under traffic
	FLEET_SECONDS=$(or $(SECONDS),600) FLEET_DAYS=$(or $(DAYS),365) $(BIN)/python -m pytest -m campaign tests/campaigns/test_fleet.py

# The first command works without the network. The last one fetches PyPI's advisories.
audit: $(STAMP) ## compare what is installed with the lock, and look up advisories
	$(BIN)/python .ci/audit.py
	$(PYTHON) -m venv .venv-audit && .venv-audit/bin/python -m pip install -q pip-audit
	.venv-audit/bin/pip-audit --disable-pip --require-hashes -r requirements-image.lock

bench: $(STAMP) ## measure the figures of docs/benchmarks.md
	$(BIN)/python -m tests.bench

chain: setup ## run the stand-ins of payments
	$(BIN)/python -m tests.stand_ins

# View it with `python3 -m http.server --directory build/demo/site`.
site: $(or $(wildcard $(STAMP)),$(RUN)) ## build a demo of the website as static files, in build/demo/site
	EMDS_HOME=build/demo/warehouse $(BIN)/emds fill
	EMDS_HOME=build/demo/warehouse $(BIN)/emds publish --to build/demo

setup: $(STAMP) ## install everything that tests need
	sh .ci/system.sh

$(RUN): pyproject.toml requirements-image.lock
	PYTHON=$(PYTHON) .ci/install.sh requirements-image.lock $@

$(STAMP): pyproject.toml requirements.lock
	PYTHON=$(PYTHON) .ci/install.sh requirements.lock $@

# uv locks the newest versions that pyproject.toml allows, for every platform.
lock: ## write both lock files anew
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q uv
	$(BIN)/uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --extra test --no-header \
	  pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --extra image --no-header \
	  --no-strip-extras \
	  -c requirements.lock pyproject.toml -o requirements-image.lock

# Run this after a change of geo_data/tables or of a zone's name.
layers: $(STAMP) ## write the geo layers anew
	$(BIN)/python -m geo_data.build layers

# Review the changes with `git diff geo_data/tables/plants.csv`.
plants: $(STAMP) ## compare the US plants with the newest list of EIA
	mkdir -p $(or $(FOLDER),build/plants)
	$(BIN)/python -m geo_data.build list $(or $(FOLDER),build/plants)
	$(BIN)/python -m geo_data.build plants $(or $(FOLDER),build/plants)

hooks: $(STAMP) ## install the pre-commit hooks
	$(BIN)/pre-commit install

# data/ contains keys and quotas. Remove it by hand.
clean: ## remove everything but the warehouses
	rm -rf .venv .venv-bench .venv-audit .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info tests/node/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@[ ! -d data ] || echo "data/ stays: the warehouses, with keys and quotas"
