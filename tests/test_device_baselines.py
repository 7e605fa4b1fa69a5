"""torch.compile as a baseline of kernels on a GPU: timed there, and compared with nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.envs.codec import to_json
from kernelwright.envs.referee.timing import Pace
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.system.hardware import Gpu, gpus
from kernelwright.envs.types import Baseline, Case, Problem, Role, Speedup, Trust, Verdict
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


NOTES_ITS_ENVIRONMENT = """
import json, os, sys
given = {name: one for name, one in os.environ.items() if name.startswith("TORCH")}
print(json.dumps({"reason": json.dumps(given, sort_keys=True)}))
"""


def test_a_tuned_baseline_is_compiled_in_inductors_mode_and_kept_apart(
    with_gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_LOGS", "+dynamo")
    monkeypatch.setattr(compile_baseline, "PROGRAM", ("-c", NOTES_ITS_ENVIRONMENT))
    other = replace(PROBLEM, code=f"{CODE}\n\n")
    plain, tuned = (
        compiled_baselines([other], "triton", mode=mode)[0]
        for mode in (Baseline.COMPILE, Baseline.MAX_AUTOTUNE)
    )
    assert (plain.reason, plain.mode) == ("{}", Baseline.COMPILE)
    assert json.loads(tuned.reason or "") == compile_baseline.TUNED
    assert tuned.mode is Baseline.MAX_AUTOTUNE
    files = {cache_file(PROBLEM, with_gpu, mode) for mode in Baseline if mode is not Baseline.EAGER}
    assert len(files) == 2
    assert cache_file(PROBLEM, with_gpu) == cache_file(PROBLEM, with_gpu, Baseline.COMPILE)


def test_what_a_tuned_baseline_sets_is_inductors_mode_without_graphs() -> None:
    code = (
        "import json, torch._inductor as one, torch._inductor.config as config\n"
        "mode = one.list_mode_options()['max-autotune-no-cudagraphs']\n"
        "print(json.dumps([mode, {name: getattr(config, name) for name in mode}]))"
    )
    words = [sys.executable, "-c", code]
    environment = {**os.environ, **compile_baseline.TUNED}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    mode, found = json.loads(done.stdout)
    assert mode == found == dict.fromkeys(mode, True)
    assert len(mode) == len(compile_baseline.TUNED)


@pytest.mark.gpu
@pytest.mark.parametrize("tuned", [False, True])
def test_on_a_gpu_torch_compile_is_timed_there_in_both_modes(
    tuned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not gpus():
        pytest.skip("needs a CUDA device")
    for name, value in compile_baseline.TUNED.items() if tuned else ():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(compile_baseline, "PACE", Pace(budget_s=0.5))
    rows = replace(PROBLEM, code=CODE.replace("torch.relu(torch.sin(x))", "torch.softmax(x, 1)"))
    found = compile_baseline.measure(rows, Place(core=HERE, gpu=gpus()[0]))
    assert found.reason is None
    assert found.timing
    assert found.environment == gpus()[0].environment
    assert 0.1 < found.timing.speedup.median < 100


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
    line = compile_line(against, summary["compile"])
    assert line.startswith("against torch.compile · ")
    assert line.endswith("1 samples left out: timed elsewhere")
    assert "without 1 timed elsewhere" in write_report(tmp_path).read_text()
    assert [beside_compile(summary)(one) is None for one in rows] == [False, True]


def test_a_summary_says_in_which_mode_its_baseline_was_compiled(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text(to_json(record("eval", evaluation=ON_GPU)) + "\n")
    facts = RunFacts(
        model="m", dialect="cuda", target="t", suite="s", date="d", seconds={}, categories={}
    )
    for mode, named in (
        ("compile", "torch.compile"),
        ("max-autotune", "torch.compile (max-autotune)"),
    ):
        compiled = CompiledBaseline(
            timing=timing(4000, 1000), compile_s=1.0, environment="a card", mode=Baseline(mode)
        )
        write_baselines(tmp_path, [Known(problem="p", problem_key="k", compiled=compiled)])
        summary = json.loads(write_summary(tmp_path, facts).read_text())
        assert summary["compile"]["mode"] == mode
        against = summary["held_out"]["measured"]["against_compile"]
        assert compile_line(against, summary["compile"]).startswith(f"against {named} · ")
        assert f">{named} itself is " in write_report(tmp_path).read_text()
