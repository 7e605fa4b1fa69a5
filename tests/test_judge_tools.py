"""`judge --sanitize` and `--profile`, and the recipe's `judge.profile`: what is refused, asked of
workers, and printed. The GPU and the tools are stand-ins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.commands.verdict_text import verdict_text
from kernelwright.data.runs.process import Process
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.codec import to_json
from kernelwright.envs.device.profiler import NO_PERMISSION
from kernelwright.envs.device.sanitizer import CHECKERS
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.system.hardware import gpus
from kernelwright.envs.system.tools import Tool, tool_path
from kernelwright.envs.types import Target, Trust, Verdict
from kernelwright.envs.workers.pool import Worker
from kernelwright.evals.numbers.summary import RunFacts, write_summary
from kernelwright.evals.page.report import write_report
from kernelwright.preflight import check
from kernelwright.rl.recipe.schema import JudgeSection, Recipe
from kernelwright.run.processes import judge_of
from scripts.on_gpu_stages import checkers, stand_in
from tests import ptx_device
from tests.fake_nvidia_smi import on_path
from tests.fake_tools import RACE, write_sanitizer
from tests.nouns import correct, record, timing

pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).parents[1]
DIALECTS = ROOT / "data" / "answers" / "dialects"
JUDGE = ["judge", str(DIALECTS / "problem.py")]
TRITON = [*JUDGE, str(DIALECTS / "triton.py"), "--dialect", "triton"]
COMMAND = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
COMMAND += "from scripts.on_gpu_stages.stand_in import cli; cli()"


@pytest.mark.parametrize("option", ["--sanitize", "--profile"])
def test_a_tool_that_cannot_look_is_refused_in_one_line(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(*words: str) -> str:
        found = CliRunner().invoke(app, [*words, option])
        assert found.exit_code == 1
        (line,) = found.output.splitlines()
        assert line.startswith(f"{option}: ")
        return line

    in_cpp = tmp_path / "answer.cpp"
    in_cpp.write_text("void kernel();")
    assert "cpp answers do not" in said(*JUDGE, str(in_cpp))
    assert "there is none here" in said(*TRITON)
    monkeypatch.setattr(check, "gpus", lambda: (ptx_device.without_driver(),))
    monkeypatch.setattr(check, "tool_path", lambda *_: None)
    assert "is neither on PATH, nor in /usr/local/cuda/bin, nor beside nvcc" in said(*TRITON)


@pytest.mark.slow
def test_judge_tells_what_the_tools_found_and_ends_by_the_verdict(tmp_path: Path) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    folder = tmp_path / "machine"
    folder.mkdir()
    stand_in._fill(folder)
    write_sanitizer(folder, {"racecheck": RACE})
    environment = {**os.environ, "PATH": on_path(folder), "LD_LIBRARY_PATH": str(folder)}
    words = [sys.executable, "-c", COMMAND, *TRITON, "--sanitize", "--profile"]

    def run(*more: str) -> str:
        done = subprocess.run(
            [*words, *more], capture_output=True, text=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    told = json.loads(run("--json"))
    assert (told["verdict"], told["trust"]) == ("correct", "replayed")
    facts = told["facts"]
    assert (facts["sanitizer.race"], facts["sanitizer.memcheck"]) == (1, 0)
    assert facts["ncu.dram_bytes"] == 1.5e6
    assert "Race reported between Write access" in told["log"]
    lines = run().splitlines()
    assert any(one.startswith("counted on the GPU: 2.0 us, 1.500 MB") for one in lines)
    assert (
        "compute-sanitizer, errors: memcheck 0, racecheck 1, initcheck 0, synccheck 0 (race)"
        in lines
    )


def test_facts_of_the_tools_are_told_below_the_verdict_and_in_the_report(tmp_path: Path) -> None:
    facts = (("sanitizer.memcheck", 2.0), ("sanitizer.illegal_address", 2.0), ("ncu.time_ns", 3e3))
    found = replace(correct(timing()), facts=facts)
    counted = "counted on the GPU: 3.0 us"
    assert verdict_text(found).splitlines()[1:] == [
        counted,
        "compute-sanitizer, errors: memcheck 2 (illegal_address)",
    ]
    rows = [record("eval_after", evaluation=found, source="__global__ void k();")]
    (tmp_path / "records.jsonl").write_text("".join(to_json(one) + "\n" for one in rows))
    about = RunFacts(
        model="m", dialect="cuda", target="t", suite="s", date="d", seconds={}, categories={}
    )
    write_summary(tmp_path, about)
    assert counted in write_report(tmp_path).read_text()


def test_a_recipes_profiler_reaches_the_workers_with_their_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = tmp_path / "words"
    program = f"import sys; print(*sys.argv[3:], file=open({str(noted)!r}, 'w'))"
    monkeypatch.setattr(Worker, "PROGRAM", ("-c", program))
    device = ptx_device.without_driver()
    monkeypatch.setattr("kernelwright.envs.judge.shared_gpus", lambda *_: (device,))
    for profile in (False, True):
        section = JudgeSection(workers=1, profile=profile)
        with judge_of(section, Process(rank=0, world=1)) as judge:
            (worker,) = judge._pool._hired  # type: ignore[attr-defined]
            worker.process.wait(60)
        assert noted.read_text(encoding="utf-8").split() == [
            device.uuid,
            "ieee",
            *["ncu"] * profile,
        ]


def test_a_recipe_that_asks_for_a_profiler_says_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def why(dialect: str, **judge: object) -> str | None:
        recipe = {"name": "r", "data": {"dialect": dialect}, "judge": {"profile": True, **judge}}
        return check._profile(Recipe.model_validate(recipe))

    assert "judge.profile: ncu looks at what runs on a GPU, and cpp" in str(why("cpp"))
    assert "there is none here" in str(why("triton"))
    assert why("triton", ray_address="auto") is None, "each node sees to its own"
    monkeypatch.setattr(check, "gpus", lambda: (ptx_device.without_driver(),))
    monkeypatch.setattr(check, "tool_path", lambda *_: "/ncu")
    assert why("triton") is None


@pytest.mark.gpu
def test_on_a_gpu_a_right_answer_is_clean_and_counted_and_a_wrong_one_is_named() -> None:
    if not gpus():
        pytest.skip("needs a CUDA device")
    for tool in Tool:
        if tool_path(tool, nvcc_path()) is None:
            pytest.skip(f"{tool} is not installed")
    one = Evaluator(JudgingConfig(), Target(name="here"), gpus()[0], tools=list(Tool))
    with closing(one):
        right, outside = (
            one.judge(checkers.PROBLEM, checkers.candidate(asked), timed=True, seed=1)
            for asked in (checkers.ASKED["right"], checkers.ASKED["outside"])
        )
    assert (right.verdict, right.trust) == (Verdict.CORRECT, Trust.REPLAYED), right.log
    facts = dict(right.facts)
    assert {name: facts.get(f"sanitizer.{name}") for name in CHECKERS} == dict.fromkeys(CHECKERS, 0)
    assert outside.verdict is not Verdict.CORRECT
    assert dict(outside.facts)["sanitizer.illegal_address"] >= 1, outside.log
    if NO_PERMISSION in right.log:
        pytest.skip("the driver lets only root read counters")
    assert facts["ncu.launches"] == 1, right.log
    assert facts["ncu.dram_bytes"] > 0
    assert 0 < facts["ncu.achieved_occupancy"] <= 1
