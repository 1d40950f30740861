# Each target does its whole set-up on a fresh machine: a virtual environment, the packages, and (when root) the system packages.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq --no-compile -c constraints.txt
TORCH := $(shell sed -n 's/^torch==/torch==/p' constraints.txt)
SUDO_APT := $(shell [ "$$(id -u)" = 0 ] && command -v apt-get)

.PHONY: demo demo-train test test-long test-consumers test-gpu test-real recording recording-check check format clean system core train dev docker

# Until a recording of a model comes with evosyn, the simulated author answers, and everything says so.
DEMO := PYTHONPATH=tests/support $(BIN)/evosyn quickstart --teacher simulation.offline:create

demo: core
	$(DEMO)

demo-train: demo train
	$(DEMO) --train

test: docker
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not long and not consumers and not gpu and not real" tests

# What `make test` draws a sample of, whole: every hostile text on every backend, and whatever else takes long. Most of it
# waits for time limits, so four at a time.
test-long: docker
	$(BIN)/python -m pytest -n 4 --dist worksteal -m "long and not consumers and not gpu and not real" tests

# TRL, verl, verifiers and OpenRLHF beside the wheel of this project, in an environment that is thrown away afterwards.
test-consumers: system
	tests/consumers/run $(PYTHON)

# Training on a GPU that torch can use, real rewards and deepspeed included; where there is none its tests are skipped and
# say so. GPU_PYTHON runs it in an environment that is there already, such as the image of a cluster.
GPU_PYTHON ?=
test-gpu: $(if $(GPU_PYTHON),,dev)
	$(or $(GPU_PYTHON),$(BIN)/python) -m pytest -n 4 --dist worksteal -m gpu -rs --durations=10 tests/gpu

# A small model on this machine: its weights and llama.cpp's server are fetched and built once, outside of the tree. Alone on
# the machine. MODEL_FILE=FILE.gguf takes other weights, BASE_URL=http://... a server that is up.
MODEL_FILE ?=
BASE_URL ?=
test-real: dev
	EVOSYN_REAL_MODEL_FILE=$(MODEL_FILE) EVOSYN_REAL_BASE_URL=$(BASE_URL) \
		$(BIN)/python -m pytest -n 0 -m real -rs --durations=20 tests/real

# The replies that `replay:builtin:quickstart` gives; the same command goes on where RECORDING stands.
RECORDING ?= $(HOME)/.cache/evosyn-real/recording
recording: core
	$(BIN)/python -m tests.real.record make $(RECORDING) $(if $(BASE_URL),--base-url $(BASE_URL))

recording-check: core
	$(BIN)/python -m tests.real.record check

check: dev
	$(BIN)/ruff format --check evosyn tests benchmarks examples experiments
	$(BIN)/ruff check evosyn tests benchmarks examples experiments
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not long and not consumers and not docker and not train and not gpu and not real" \
		$(addprefix tests/,company domains evaluators evolve house pools reading strategies) $(wildcard tests/test_*.py)

format:
	$(BIN)/ruff format evosyn tests benchmarks examples experiments
	$(BIN)/ruff check --fix evosyn tests benchmarks examples experiments

# ------------------------------------------------------------------------------------------------------------- set-up
core: $(VENV)/.core system
train: $(VENV)/.train
dev: $(VENV)/.dev system

$(VENV)/.venv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "evosyn needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.core: $(VENV)/.venv pyproject.toml constraints.txt
	$(PIP) -e .
	touch $@

$(VENV)/.train: $(VENV)/.core
	$(PIP) $(TORCH)
	$(PIP) -e ".[train]"
	touch $@

$(VENV)/.dev: $(VENV)/.train
	$(PIP) -e ".[train,docker,view,dev]"
	$(PIP) --no-build-isolation deepspeed
	touch $@

# bubblewrap is what gives the sandbox its own namespaces; without it evosyn still runs, with less protection (evosyn doctor).
system:
ifneq ($(SUDO_APT),)
	@command -v bwrap >/dev/null || (apt-get update -qq && apt-get install -y -qq bubblewrap >/dev/null)
else
	@command -v bwrap >/dev/null || echo "note: bubblewrap is not installed; ask an administrator for the package 'bubblewrap'"
endif

# The Docker tests need a running engine and the image; where there is no engine they are skipped and say so.
docker: dev
	@if docker info >/dev/null 2>&1; then $(BIN)/evosyn sandbox build-image; \
	else echo "note: no Docker Engine is running; the tests of the Docker sandbox are skipped"; fi

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis runs data models
