"""With a GPU a failure of an answer's is its own: it ends no process of ours that is then missed,
and takes nobody's time. On the stand-in driver of test_device.py."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs import candidate
from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.device import messages
from kernelwright.envs.dialects import planned, triton
from kernelwright.envs.dialects.base import Built
from kernelwright.envs.plan.plan import GpuReplay, Plan
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.types import Candidate, Evaluation, Problem, Target, Verdict
from tests import device_reference, ptx_device
from tests.test_device import OUT, code, kernel, launch

pytestmark = pytest.mark.sandbox
FOLDER = Path(__file__).parents[1] / "data" / "answers" / "dialects"
TRITON = (FOLDER / "triton.py").read_text()
FORGED = """
import json, os
if os.path.exists("/scratch/layouts.json"):
    launch = {"kernel": "k", "code": "a", "grid": [1] * 3, "block": [1] * 3, "shared_bytes": 0,
              "arguments": []}
    head = ".version 7.0\\n.target sm_80\\n.address_size 64\\n"
    kernel = {"name": "k", "code": "a", "target": "sm_80", "info": "",
              "ptx": head + ".visible .entry k()\\n{\\nret;\\n}\\n"}
    calls = [{"steps": n + 1, "buffers": n + 1, "left_out": None,
              "outputs": [{"tensor": "new.%d" % n, "offset": 0}]} for n in range(3)]
    plan = {"steps": [launch] * 3, "buffers": {"new.%d" % n: 8192 for n in range(3)},
            "constants": {}, "record": {"inputs": {}, "calls": calls, "tuned": False}}
    CHANGE
    count = len(json.load(open("/scratch/layouts.json")))
    os.write(3, json.dumps({"plans": [plan] * count, "kernels": [kernel]}).encode())
    os._exit(0)
"""
CHANGES = {
    "as it could be": ("pass", (Verdict.WRONG, "mismatch")),
    "constants in no buffer": (
        'plan["constants"] = {"none": "eJwDAAAAAAE="}; calls[2]["outputs"][0]["tensor"] = "none"',
        (Verdict.CHEATED, "launch_misused"),
    ),
    "constants in a tensor": (
        'plan["constants"] = {"x": "eJwDAAAAAAE="}; calls[2]["outputs"][0]["tensor"] = "x"',
        (Verdict.CHEATED, "launch_misused"),
    ),
    "constants that nothing reads": (
        'plan["constants"] = {"none": "eJwDAAAAAAE="}',
        (Verdict.WRONG, "mismatch"),
    ),
    "a result in an input": (
        'calls[2]["outputs"][0]["tensor"] = "x"',
        (Verdict.WRONG, "mismatch"),
    ),
}


@pytest.fixture
def evaluator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Evaluator]:
    monkeypatch.setattr(ReferenceProcess, "PROGRAM", device_reference.PROGRAM)
    gpu = ptx_device.device(tmp_path, architecture=86)
    for module in (planned, triton):
        monkeypatch.setattr(module, "gpus", lambda: (gpu,))
    one = Evaluator(JudgingConfig(), Target(name="here"), gpu)
    yield one
    one.close()


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(FOLDER / "problem.py")


def judged(
    evaluator: Evaluator, problem: Problem, dialect: str, source: str, *, timed: bool = False
) -> Evaluation:
    asked = Candidate(problem_key=problem.key, dialect=dialect, source=source)
    return evaluator.judge(problem, asked, timed=timed, seed=1)


@pytest.mark.parametrize("name", CHANGES)
def test_a_plan_that_an_answer_wrote_itself_ends_in_a_verdict_on_a_gpu_too(
    name: str, evaluator: Evaluator, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    monkeypatch.setattr(messages, "assembled", ptx_device.assembled)
    change, outcome = CHANGES[name]
    found = judged(evaluator, problem, "triton", FORGED.replace("CHANGE", change) + TRITON)
    assert (found.verdict, found.reason) == outcome, found.log


def all_answers_are(monkeypatch: pytest.MonkeyPatch, binary: bytes) -> None:
    """From now on answers in CUDA are this code, whatever they say."""

    def plan(spec: CaseSpec, _: int) -> Plan:
        one, scale = launch(spec, OUT), struct.pack("<f", dict(spec.scalars)["scale"]).hex()
        one = one.model_copy(update={"arguments": [*one.arguments[:-1], scale]})
        return Plan(steps=[one], buffers={}, kernels=[kernel("sm_80")])

    class Planned:
        entry = "kernel"

        def build(self, *_: object) -> Built:
            return Built(files=(), on_device=GpuReplay(trace=plan, assembler=""))

    monkeypatch.setattr(messages, "assembled", lambda *_: binary)
    monkeypatch.setattr(candidate.evaluator, "DIALECTS", {"cuda": Planned()})


def test_what_the_process_that_replays_makes_no_sense_of_is_no_loss_of_the_device(
    evaluator: Evaluator, problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_answers_are(monkeypatch, code(tmp_path))
    message = messages.replay_message

    def odd(*about: Any, **how: Any) -> dict[str, Any]:
        found = message(*about, **how)
        return {**found, "later": {**found["later"], "steps": [{}]}}

    monkeypatch.setattr(messages, "replay_message", odd)
    found = judged(evaluator, problem, "cuda", "x")
    assert (found.verdict, found.reason) == (Verdict.BUILD_FAILED, "unsupported:plan")
    assert "KeyError" in found.log


@pytest.mark.parametrize("timed", [False, True])
def test_rounds_on_a_gpu_add_up_as_elsewhere(
    timed: bool,
    evaluator: Evaluator,
    problem: Problem,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who takes nearly as long as a round may would keep the GPU from all others, until they and
    it are out of the judge's time."""
    all_answers_are(monkeypatch, code(tmp_path, rest="usleep(20000);"))
    evaluator.config = replace(evaluator.config, candidate_limit_s=0.01)
    found = judged(evaluator, problem, "cuda", "x", timed=timed)
    assert (found.verdict, found.reason) == (Verdict.TIMED_OUT, "candidate_limit"), found.log


@pytest.mark.slow
def test_all_cases_of_an_answer_in_triton_are_traced_in_one_run(
    evaluator: Evaluator, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is slow to import is so once, and within one limit."""
    pytest.importorskip("triton", reason="triton is not installed")
    monkeypatch.setattr(messages, "assembled", ptx_device.assembled)
    modes: list[str] = []
    compile_once = triton.compile_once  # type: ignore[attr-defined]

    def counted(*given: Any, **options: Any) -> object:
        modes.append(str(options["mode"]))
        return compile_once(*given, **options)

    monkeypatch.setattr(triton, "compile_once", counted)
    found = judged(evaluator, problem, "triton", TRITON)
    assert found.verdict is Verdict.CORRECT, found.log
    assert modes == ["trace"]  # for this GPU, and for the CPU that plays the same code
