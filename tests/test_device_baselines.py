"""torch.compile as a baseline of kernels on a GPU: timed there, and compared with nothing else."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.envs.codec import to_json
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.system.hardware import Gpu
from kernelwright.envs.types import Case, Problem, Role, Speedup, Trust, Verdict
from kernelwright.envs.workers import compile_baseline
from kernelwright.envs.workers.compile_baseline import (
    CompiledBaseline,
    Place,
    cache_file,
    compiled_baselines,
    environment_of,
    places_for,
)
from kernelwright.evals.evaluate.model import compile_line
from kernelwright.evals.numbers.compiled_baselines import (
    Known,
    keep_baselines,
    read_baselines,
    write_baselines,
)
from kernelwright.evals.numbers.metrics import against_compile
from kernelwright.evals.numbers.summary import RunFacts, write_summary
from kernelwright.evals.page.report import _against_compile as beside_compile
from kernelwright.evals.page.report import write_report
from tests import device_reference, ptx_device
from tests.nouns import correct, record, timing, verdict

pytestmark = pytest.mark.sandbox
CODE = """
import torch
N = 64
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(torch.sin(x))
def get_inputs():
    return [torch.randn(N, 512)]
"""
CASES = (Case(name="given", sizes=()), Case(name="timed", sizes=(("N", 2048),), role=Role.TIME))
PROBLEM = Problem(name="sine", code=CODE, cases=CASES)
HERE = min(os.sched_getaffinity(0))
MEASURES = """
import sys
sys.path.insert(1, {root!r})
from kernelwright.envs.referee.timing import Pace
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.workers import compile_baseline
from tests import device_reference
ReferenceProcess.PROGRAM = device_reference.PROGRAM
compile_baseline.PACE = Pace(budget_s=0.5)
compile_baseline.main()
"""
"""The process that measures, for a device that is made of a processor."""
OTHER = Gpu(uuid="GPU-1", name="H100", driver="580.1", architecture=90, memory_bytes=None)


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Gpu:
    return ptx_device.device(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def with_gpu(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> Gpu:
    """This machine has it."""
    monkeypatch.setattr(compile_baseline, "gpus", lambda: (gpu,))
    program = MEASURES.format(root=str(device_reference.ROOT))
    monkeypatch.setattr(compile_baseline, "PROGRAM", ("-c", program))
    return gpu


def test_where_candidates_run_on_a_gpu_torch_compile_does_and_elsewhere_on_a_core(
    with_gpu: Gpu,
) -> None:
    for dialect in ("inline", "triton", "cuda"):
        assert {one.gpu for one in places_for(dialect)} == {with_gpu}
    assert {one.gpu for one in places_for("cpp")} == {None}


def test_of_gpus_that_differ_one_kind_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = replace(OTHER, uuid="GPU-2")
    unlike = replace(OTHER, uuid="GPU-3", name="A100")
    monkeypatch.setattr(compile_baseline, "gpus", lambda: (OTHER, unlike, twin))
    monkeypatch.setattr(compile_baseline, "shared_cores", lambda *_: list(range(64)))
    found = places_for("triton")
    assert [one.gpu for one in found] == [OTHER, twin, OTHER, twin]
    assert len({one.core for one in found}) == len(found)


@pytest.mark.slow
def test_on_a_device_the_compiled_module_is_timed_there_and_kept(
    with_gpu: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_file(PROBLEM, with_gpu).unlink(missing_ok=True)
    (known,) = keep_baselines(tmp_path, [PROBLEM], "triton")
    found = known.compiled
    assert found.reason is None
    assert found.timing
    assert found.environment == with_gpu.environment
    assert read_baselines(tmp_path) == [known]
    monkeypatch.setattr(compile_baseline, "PROGRAM", ("-c", "raise SystemExit('started')"))
    assert compiled_baselines([PROBLEM], "triton") == [found]
    (on_a_core,) = compiled_baselines([replace(PROBLEM, code=f"{CODE}\n")], "cpp")
    assert on_a_core.reason == "measuring ended with 1: started"


@pytest.mark.slow
def test_what_an_empty_step_hides_on_a_device_is_no_baseline(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReferenceProcess, "PROGRAM", device_reference.PROGRAM)
    monkeypatch.setenv(device_reference.EMPTY_STEP, "100000000")
    found = compile_baseline.measure(PROBLEM, Place(core=HERE, gpu=gpu))
    assert (found.timing, found.reason) == (None, compile_baseline.NO_SPEED)


def test_a_device_that_does_not_answer_is_no_baseline_and_says_so(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReferenceProcess, "PROGRAM", device_reference.PROGRAM)
    monkeypatch.setenv("HOST_DRIVER_FAILS", "1")
    found = compile_baseline.measure(PROBLEM, Place(core=HERE, gpu=gpu))
    assert found.timing is None
    assert found.reason
    assert found.reason.startswith("ordinary memory: ")


def test_another_card_or_driver_is_measured_anew() -> None:
    others = [replace(OTHER, name="A100"), replace(OTHER, driver="580.2"), None]
    assert cache_file(PROBLEM, replace(OTHER, uuid="GPU-2")) == cache_file(PROBLEM, OTHER)
    assert len({cache_file(PROBLEM, one) for one in (OTHER, *others)}) == 4


HELD = Speedup(median=4.0, low=4.0, high=4.0)
ON_GPU = replace(correct(timing()), trust=Trust.REPLAYED, environment="a card")


@pytest.mark.parametrize(
    ("where", "speedup"),
    [
        ("a card", 0.5),
        ("another card", None),
        (environment_of(None), None),
        ("", None),  # of an older version, which measured on a core only
    ],
)
def test_a_speed_is_held_against_a_baseline_from_the_same_place_only(
    where: str, speedup: float | None
) -> None:
    samples = [(ON_GPU, HELD, where), (verdict(Verdict.WRONG), HELD, where)]
    found = against_compile(samples)
    left_out = speedup is None
    assert found.geomean_speedup == (None if left_out else pytest.approx(speedup))
    assert found.fast_1 == (None if left_out else 0.0)
    both = against_compile([*samples, (ON_GPU, HELD, "elsewhere")])
    assert both.fast_1 is None, "wrong answers of elsewhere are not told apart"
    assert (found.n, found.elsewhere) == (2 - left_out, int(left_out))


def test_an_older_baseline_is_one_of_kernels_on_a_core() -> None:
    on_core = replace(correct(timing()), environment="this core")
    found = against_compile([(on_core, HELD, "")])
    assert found.geomean_speedup == pytest.approx(0.5)
    assert found.elsewhere == 0


def test_a_report_leaves_out_what_was_timed_elsewhere_and_says_how_much(tmp_path: Path) -> None:
    compiled = CompiledBaseline(timing=timing(4000, 1000), compile_s=1.0, environment="a card")
    write_baselines(tmp_path, [Known(problem="p", problem_key="k", compiled=compiled)])
    rows = [
        record("eval", row=0, evaluation=ON_GPU),
        record("eval", row=1, evaluation=replace(ON_GPU, environment="another card")),
    ]
    lines = [to_json(one) for one in rows]
    (tmp_path / "records.jsonl").write_text("\n".join([*lines, ""]))
    facts = RunFacts(
        model="m", dialect="cuda", target="t", suite="s", date="d", seconds={}, categories={}
    )
    summary = json.loads(write_summary(tmp_path, facts).read_text())
    against = summary["held_out"]["measured"]["against_compile"]
    assert (against["n"], against["elsewhere"]) == (1, 1)
    assert against["geomean_speedup"] == pytest.approx(0.5)
    assert summary["compile"]["environments"] == {"p": "a card"}
    assert compile_line(against, summary["compile"]).endswith("1 samples left out: timed elsewhere")
    assert "without 1 timed elsewhere" in write_report(tmp_path).read_text()
    assert [beside_compile(summary)(one) is None for one in rows] == [False, True]
