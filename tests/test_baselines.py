"""torch.compile as a baseline: timed like a candidate, remembered, refused with a reason."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import kernelwright.rl.policies.hf
from kernelwright.data.suites.load import Suite
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.envs.system.processes import living_below, still_alive
from kernelwright.envs.types import Baseline, Case, Problem, Role
from kernelwright.envs.workers import compile_baseline
from kernelwright.envs.workers.compile_baseline import (
    CompiledBaseline,
    Place,
    cache_file,
    compiled_baselines,
)
from kernelwright.evals.evaluate.model import evaluate_model
from kernelwright.evals.evaluate.run import EvalSettings
from kernelwright.evals.numbers.compiled_baselines import BASELINES_FILE
from tests.nouns import timing

pytestmark = pytest.mark.sandbox

CODE = """
import torch
import torch.nn as nn
N = 64
M = 96
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(M) + 1)
    def forward(self, x):
        return torch.relu(x * self.scale)
def get_inputs():
    return [torch.randn(N, M)]
def get_init_inputs():
    return []
"""
ANSWER = """```cpp
#include <cstdint>
extern "C" void kernel(const float* x, const float* scale, float* out, int64_t n, int64_t m,
                       int64_t, int64_t, int64_t) {
    for (int64_t i = 0; i < n * m; ++i) {
        const float y = x[i] * scale[i % m];
        out[i] = y > 0 ? y : 0;
    }
}
```"""
CASES = (Case(name="given", sizes=()), Case(name="timed", sizes=(("N", 4096),), role=Role.TIME))
PROBLEM = Problem(name="scaled_relu", code=CODE, cases=CASES)
WHILE_COMPILED = "if torch.compiler.is_compiling():\n            return "


def with_forward(name: str, lines: str) -> Problem:
    """The problem with something in front of its forward's only line."""
    return replace(
        PROBLEM, name=name, code=CODE.replace("return torch", f"{lines}\n        return torch")
    )


REFUSED = with_forward("refused", WHILE_COMPILED + "x @ torch.zeros(3, 5)")
OTHERWISE = with_forward("otherwise", WHILE_COMPILED + "x + 1")


@pytest.fixture(scope="module")
def measured() -> CompiledBaseline:
    cache_file(PROBLEM).unlink(missing_ok=True)
    return compiled_baselines([PROBLEM], "cpp")[0]


def test_a_compiled_module_is_timed_in_turns_with_the_eager_one(measured: CompiledBaseline) -> None:
    assert measured.reason is None
    assert measured.timing
    assert measured.timing.block == compile_baseline.PACE.block
    assert len(measured.timing.log_ratios) >= compile_baseline.PACE.fewest_blocks
    assert measured.compile_s


def test_what_was_measured_is_read_again_and_nothing_is_started(
    measured: CompiledBaseline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    done: list[bool] = []
    monkeypatch.setattr(subprocess, "Popen", refuse)
    renamed = replace(PROBLEM, name="the same by another name")
    found = compiled_baselines([PROBLEM, renamed], "cpp", lambda: done.append(True))
    assert found == [measured, measured]
    assert len(done) == 2


def test_another_torch_or_other_cases_are_measured_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    here = cache_file(PROBLEM)
    assert cache_file(replace(PROBLEM, cases=CASES[:1])) != here
    monkeypatch.setattr(compile_baseline, "version", lambda _: "2.0.0")
    assert cache_file(PROBLEM) != here


def test_an_error_of_one_measurement_reaches_who_asked_while_others_wait_for_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> CompiledBaseline:
        raise OSError("no space left on device")

    monkeypatch.setattr(compile_baseline, "places_for", lambda _: [compile_baseline.Place(core=0)])
    monkeypatch.setattr(compile_baseline, "_kept", lambda *_: None)
    monkeypatch.setattr(compile_baseline, "_measured", full)
    with pytest.raises(OSError, match="no space left"):
        compiled_baselines([PROBLEM] * 3, "cpp")


@pytest.mark.parametrize(
    ("problem", "why"),
    [(REFUSED, "fake tensor"), (OTHERWISE, "computes something else")],
    ids=lambda one: one.name if isinstance(one, Problem) else "",
)
@pytest.mark.slow
def test_what_torch_compile_refuses_or_gets_wrong_is_no_baseline(
    problem: Problem, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    found = compiled_baselines([problem], "cpp")[0]
    assert found.timing is None
    assert found.reason
    assert found.reason.startswith("torch.compile: ")
    assert why in found.reason
    assert not cache_file(problem).exists()
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_module_is_tuned_where_it_is_compiled_if_that_is_asked_for() -> None:
    """On a core that is in a sandbox. This one is refused there unless it is tuned."""
    told = 'TUNED = os.environ.get("TORCHINDUCTOR_MAX_AUTOTUNE") == "1"'
    lines = (
        "if torch.compiler.is_compiling() and not TUNED:\n            return x @ torch.zeros(3, 5)"
    )
    product = with_forward("product", f"{lines}\n        x = x @ (x.T @ x)")
    product = replace(product, code=f"import os\n{told}\n{product.code}")
    cache_file(product, mode=Baseline.MAX_AUTOTUNE).unlink(missing_ok=True)
    plain, tuned = (
        compiled_baselines([product], "cpp", mode=mode)[0]
        for mode in (Baseline.COMPILE, Baseline.MAX_AUTOTUNE)
    )
    assert "fake tensor" in str(plain.reason)
    assert tuned.reason in (None, compile_baseline.NO_SPEED), "a busy machine may hide its speed"


@pytest.mark.slow
def test_a_module_too_quick_for_the_clock_is_no_baseline() -> None:
    code = CODE.replace("torch.relu(x * self.scale)", "x * self.scale")
    tiny = replace(PROBLEM, name="tiny", code=code, cases=(Case(name="timed", sizes=(("N", 8),)),))
    cache_file(tiny).unlink(missing_ok=True)
    found = compiled_baselines([tiny], "cpp")[0]
    assert (found.timing, found.reason) == (None, compile_baseline.NO_SPEED)


def test_a_measurement_that_is_stopped_leaves_no_process() -> None:
    hangs = with_forward("hangs", "import time; time.sleep(999)")
    before = living_below(os.getpid())
    stop, found = threading.Event(), list[CompiledBaseline]()
    core = min(os.sched_getaffinity(0))
    thread = threading.Thread(
        target=lambda: found.append(
            compile_baseline._ask_process(hangs, Place(core=core), stop, Baseline.COMPILE)
        )
    )
    thread.start()
    while len(living_below(os.getpid()) - before) < 4:  # it, a sandbox, and the module's process
        assert thread.is_alive()
        time.sleep(0.05)
    stop.set()
    thread.join()
    assert found[0].timing is None
    assert not still_alive(living_below(os.getpid()) - before)


def test_a_problems_module_reaches_nothing_of_the_host(tmp_path: Path) -> None:
    """It is anybody's: the prompt may come from the Hub."""
    secret = tmp_path / "secret"
    secret.write_text("s")
    server = socket.create_server(("127.0.0.1", 0))
    lines = f"""import os, socket
        assert not os.path.exists({str(secret)!r}), "it sees files"
        try:
            open("/usr/share/written", "w")
            assert False, "it wrote to the system"
        except OSError:
            pass
        try:
            socket.create_connection({server.getsockname()}, 1)
            assert False, "it reached the network"
        except OSError:
            pass"""
    with server:
        reference = ReferenceProcess()
        try:
            assert (
                len(reference.load(with_forward("looks_around", lines)).specs) == 3
            )  # one of ours
        finally:
            reference.close()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"timing": timing()},
        {"timing": timing(), "compile_s": 1.0, "reason": "no"},
        {"compile_s": 1.0, "reason": "no"},
        {"reason": ""},
    ],
)
def test_a_baseline_is_either_timed_or_has_a_reason(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="reason"):
        CompiledBaseline(**fields)  # type: ignore[arg-type]


@pytest.mark.slow
def test_an_evaluation_against_compile_reports_it_beside_eager(
    measured: CompiledBaseline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = kernelwright.rl.policies.hf.ScriptedPolicy([ANSWER])
    monkeypatch.setattr(kernelwright.rl.policies.hf, "load_policy", lambda _: policy)
    settings = EvalSettings(
        stage="eval",
        dialect="cpp",
        samples=1,
        max_new_tokens=64,
        temperature=0.0,
        seed=0,
        batch=2,
        reward="default",
        versions={},
    )
    suite = Suite(spec="two", problems=(PROBLEM, REFUSED))
    evaluate_model(
        "scripted",
        suite,
        settings,
        tmp_path,
        judges=partial(open_judge, 1),
        baseline=Baseline.COMPILE,
    )
    summary = json.loads((tmp_path / "summary.json").read_text())
    side = summary["held_out"]["measured"]
    assert (side["n"], side["correct"]) == (2, 2)
    against = side["against_compile"]
    assert against["n"] == 1
    compiled = summary["compile"]
    assert measured.timing
    own = measured.timing.speedup.median
    assert compiled["speedups"]["scaled_relu"]["median"] == pytest.approx(own)
    assert compiled["geomean_speedup"] == pytest.approx(own)
    assert "fake tensor" in compiled["no_baseline"]["refused"]
    assert against["geomean_speedup"] > 0
    assert against["fast_1"] == float(against["geomean_speedup"] > 1)
    assert (tmp_path / BASELINES_FILE).exists()
    assert "against torch.compile" in (tmp_path / "report.html").read_text()
