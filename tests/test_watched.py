"""An answer played once more under NVIDIA's tools: what they say becomes facts, and no verdict. The
tools are stand-ins (fake_tools.py), which run the real process on the stand-in driver."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.candidate import watched
from kernelwright.envs.candidate.watched import Watched, looked_at
from kernelwright.envs.device import messages
from kernelwright.envs.device.driver import Driver
from kernelwright.envs.device.process import Replayer
from kernelwright.envs.device.profiler import ADVICE
from kernelwright.envs.device.sanitizer import CHECKERS
from kernelwright.envs.plan.plan import First, GpuReplay, Plan
from kernelwright.envs.plan.steps import Fill, Place
from kernelwright.envs.referee.layout import input_places, output_file_bytes
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.reference.draws import Draws
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.system.processes import living_below
from kernelwright.envs.system.tools import Tool, tool_path
from kernelwright.envs.types import Evaluation, Verdict
from tests import ptx_device
from tests.fake_nvidia_smi import on_path
from tests.fake_tools import (
    NO_PERMISSION,
    RACE,
    SANITIZER_OPTIONS,
    UNSET,
    commands,
    write_profiler,
    write_sanitizer,
)
from tests.nouns import correct, timing, verdict
from tests.test_device import DIALECTS, OUT, code, direct, kernel, launch

pytestmark = pytest.mark.sandbox
BOTH = tuple(Tool)
CLEAN = {f"sanitizer.{name}": 0.0 for name in CHECKERS}


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A right one, of one launch a call."""
    gpu = ptx_device.device(tmp_path_factory.mktemp("driver"), architecture=90)
    reference, sandboxes = ReferenceProcess(), Sandboxes()
    loaded = reference.load(load_problem(DIALECTS / "problem.py"))
    replay = GpuReplay(trace=lambda spec, _: direct(spec), assembler="")
    yield Watched(replay, loaded, Draws(reference, 1), gpu, sandboxes)
    reference.close()
    sandboxes.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where tools are found first."""
    monkeypatch.setenv("PATH", on_path(tmp_path))
    binary = code(tmp_path)
    monkeypatch.setattr(messages, "assembled", lambda *_: binary)
    return tmp_path


def facts_of(evaluation: Evaluation) -> Mapping[str, float]:
    return dict(evaluation.facts)


def test_a_clean_answer_has_no_errors_and_nothing_is_said(answer: Watched, folder: Path) -> None:
    write_sanitizer(folder)
    found = looked_at(correct(), answer, [Tool.SANITIZER])
    assert facts_of(found) == CLEAN
    assert found == replace(correct(), facts=found.facts)
    checked = [words for words in commands(folder) if "--tool" in words]
    assert [words[words.index("--tool") + 1] for words in checked] == list(CHECKERS)


def test_what_a_sanitizer_finds_is_a_fact_and_changes_no_verdict(
    answer: Watched, folder: Path
) -> None:
    write_sanitizer(folder, {"racecheck": RACE, "initcheck": UNSET * 2})
    for before in (correct(timing()), verdict(Verdict.WRONG)):
        found = looked_at(replace(before, log="built\n"), answer, [Tool.SANITIZER])
        wanted = {"sanitizer.racecheck": 1, "sanitizer.race": 1}
        wanted |= {"sanitizer.initcheck": 2, "sanitizer.uninitialised": 2}
        assert facts_of(found) == CLEAN | wanted
        assert found == replace(before, facts=found.facts, log=found.log)
        lines = found.log.splitlines()
        assert lines[:2] == ["built", "compute-sanitizer racecheck: 1 error"]
        assert "Write access at fused+0x550 and Read access at fused+0x580" in lines[2]
        assert found.log.endswith("\n")


@pytest.mark.parametrize(
    ("rest", "errors"),
    [
        ("volatile float y = x[n * k]; (void)y;", 1),  # other inputs would lie behind it
        ("volatile float y = out[n * m]; (void)y;", 1),
        ("volatile float y = x[n * k - 1] + out[n * m - 1]; (void)y;", 0),
    ],
    ids=["behind_an_input", "behind_the_output", "inside"],
)
def test_memcheck_sees_a_read_behind_any_tensor(
    rest: str, errors: int, answer: Watched, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = code(folder, rest=rest)
    monkeypatch.setattr(messages, "assembled", lambda *_: binary)
    write_sanitizer(folder)
    found = looked_at(correct(), answer, [Tool.SANITIZER])
    named = {"sanitizer.illegal_address": 1.0} if errors else {}
    assert facts_of(found) == CLEAN | {"sanitizer.memcheck": errors} | named
    assert found.verdict is Verdict.CORRECT


class Noting(Driver):
    """The driver, with a note of what is asked of it."""

    def __init__(self, library: str) -> None:
        self.sizes: list[int] = []
        self.filled: list[int] = []
        super().__init__(library)

    def allocate(self, size_bytes: int) -> int:
        self.sizes.append(size_bytes)
        return super().allocate(size_bytes)

    def fill(self, at: int, pattern: bytes, size_bytes: int) -> None:
        self.filled.append(at)
        super().fill(at, pattern, size_bytes)


@pytest.mark.parametrize("bare", [True, False])
def test_under_a_sanitizer_no_memory_is_the_judges_and_none_is_set_by_it(
    bare: bool, answer: Watched, folder: Path
) -> None:
    assert answer.on_device
    spec = answer.loaded.specs[0]
    asked = messages.Messages(answer.on_device, answer.gpu, answer.sandboxes, bare=bare)
    message = asked.of(spec)
    assert isinstance(message, bytes)
    driver = Noting(answer.gpu.library)
    replayer = Replayer(driver)
    driver.sizes.clear()
    replayer.prepare(json.loads(message))
    files = input_places(spec)[1], output_file_bytes(spec)
    replayer.round(*((ctypes.c_char * size)() for size in files))
    exact = sorted(one.size_bytes for one in spec.tensors)
    assert (sorted(driver.sizes) == exact) is bare
    assert (set(driver.filled) == {replayer.flush_at}) is bare


def test_a_first_call_is_not_counted_where_later_ones_differ(answer: Watched, folder: Path) -> None:
    def twice(spec: object, _: int) -> Plan:
        case = answer.loaded.specs[answer.loaded.timed]
        one = launch(case, OUT)
        size = case.outputs[0].size_bytes
        fill = Fill(at=Place(tensor="out", offset=0), fill="00000000", bytes=size)
        first = First(steps=[fill, one, one, one], outputs=[])
        return Plan(steps=[one], buffers={}, first=first, kernels=[kernel("sm_90")])

    write_profiler(folder)
    own = replace(answer, on_device=GpuReplay(trace=twice, assembler=""))
    found = looked_at(correct(timing()), own, [Tool.PROFILER])
    (words,) = commands(folder)
    assert words[words.index("--launch-skip") + 1] == "3"
    assert facts_of(found)["ncu.launches"] == 1


def test_what_a_profiler_counts_is_facts_of_a_correct_answer(answer: Watched, folder: Path) -> None:
    write_profiler(folder)
    found = looked_at(correct(timing()), answer, [Tool.PROFILER])
    facts = facts_of(found)
    assert facts == {
        "ncu.launches": 1,
        "ncu.time_ns": 2000,
        "ncu.dram_bytes": 1.5e6,
        "ncu.dram_share": pytest.approx(0.415),
        "ncu.achieved_occupancy": pytest.approx(0.62),
        "ncu.sectors_per_request": 8,
        "ncu.bank_conflicts": 3,
    }
    assert found == replace(correct(timing()), facts=found.facts)
    assert looked_at(verdict(Verdict.WRONG), answer, [Tool.PROFILER]) == verdict(Verdict.WRONG)


def test_without_permission_to_read_counters_one_line_says_what_helps(
    answer: Watched, folder: Path
) -> None:
    write_profiler(folder, error=NO_PERMISSION)
    found = looked_at(correct(timing()), answer, [Tool.PROFILER])
    assert found == replace(correct(timing()), log=f"ncu: ERR_NVGPUCTRPERM: {ADVICE}\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("==ERROR== The application returned an error code (1).\n", "The application returned"),
        ("nothing of use\n", "it counted no launch"),
    ],
)
def test_a_profiler_that_counts_nothing_says_why(
    text: str, line: str, answer: Watched, folder: Path
) -> None:
    write_profiler(folder, error=text)
    found = looked_at(correct(timing()), answer, [Tool.PROFILER])
    assert found.log.startswith(f"ncu: {line}")
    assert found.log.count("\n") == 1
    assert not found.facts


def test_a_checker_that_writes_no_report_is_named_and_the_others_count(
    answer: Watched, folder: Path
) -> None:
    write_sanitizer(folder, {"racecheck": "Error: Device not supported."})
    found = looked_at(correct(), answer, [Tool.SANITIZER])
    assert facts_of(found) == {n: v for n, v in CLEAN.items() if n != "sanitizer.racecheck"}
    assert found.log.startswith("compute-sanitizer racecheck: no report")


def test_options_that_a_version_lacks_are_left_out(answer: Watched, folder: Path) -> None:
    wanted = "initcheck-address-space"
    write_sanitizer(folder)
    assert facts_of(looked_at(correct(), answer, [Tool.SANITIZER])) == CLEAN
    assert not any(f"--{wanted}" in words for words in commands(folder))
    write_sanitizer(folder, options={**SANITIZER_OPTIONS, wanted: 1})
    assert facts_of(looked_at(correct(), answer, [Tool.SANITIZER])) == CLEAN
    (words,) = (words for words in commands(folder) if f"--{wanted}" in words)
    assert "initcheck" in words


def test_a_tool_that_does_not_end_is_killed_with_what_it_runs(
    answer: Watched, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "END_LIMIT_S", 0.5)
    monkeypatch.setattr(watched, "ROUND_LIMIT_S", 2.0)
    binary = code(folder, rest="for (volatile int i = 0;; i = 1);")
    monkeypatch.setattr(messages, "assembled", lambda *_: binary)
    write_profiler(folder)
    before = living_below(os.getpid())
    found = looked_at(correct(timing()), answer, [Tool.PROFILER])
    assert found.log == "ncu: it counted no launch: wall_limit\n"
    assert living_below(os.getpid()) <= before


def test_a_tool_that_is_missing_or_cannot_look_says_so(
    answer: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "tool_path", lambda *_: None)
    found = looked_at(correct(timing()), answer, BOTH)
    assert (
        found.log == "compute-sanitizer: it is not installed here\nncu: it is not installed here\n"
    )
    monkeypatch.setattr(watched, "tool_path", lambda *_: str(tmp_path))
    nowhere = looked_at(correct(), replace(answer, on_device=None), [Tool.SANITIZER])
    assert nowhere.log == "compute-sanitizer: nothing of this answer runs on the GPU\n"
    left_out = Plan(steps=[], buffers={}, kernels=[], left_out="textures")
    refused = replace(answer, on_device=GpuReplay(trace=lambda *_: left_out, assembler=""))
    told = looked_at(verdict(Verdict.WRONG), refused, [Tool.SANITIZER])
    assert told.log == "compute-sanitizer: there is nothing to replay: unsupported:textures\n"
    found = looked_at(correct(timing()), answer, [Tool.PROFILER])
    assert found.log.startswith("ncu: it counted no launch: it does not start")
    assert not found.facts


def test_a_tool_is_found_on_path_first_and_beside_nvcc_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, beside = tmp_path / "first", tmp_path / "beside"
    for one in (first, beside):
        one.mkdir()
        write_sanitizer(one)
    nvcc = beside / "nvcc"
    monkeypatch.setattr("kernelwright.envs.system.tools.TOOLKIT", tmp_path / "none")
    monkeypatch.setenv("PATH", str(first))
    assert tool_path(Tool.SANITIZER, str(nvcc)) == str(first / "compute-sanitizer")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tool_path(Tool.SANITIZER, str(nvcc)) == str(beside / "compute-sanitizer")
    assert tool_path(Tool.SANITIZER, None) is None
