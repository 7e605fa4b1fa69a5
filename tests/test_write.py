"""`kernelwright write`: the best of a model's answers, by the real judge."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.commands.best_of_n import (
    BestOf,
    Habits,
    best_of,
    failures,
    habits_of,
    write_kernels,
)
from kernelwright.commands.problem_prompt import ask
from kernelwright.data.runs.progress import Answered
from kernelwright.data.runs.records import read_records
from kernelwright.envs.judge import NO_CODE_BLOCK, Judge
from kernelwright.envs.types import Record, Timing, Verdict
from kernelwright.rl.policies.hf import ScriptedPolicy
from tests import nouns
from tests.command import last_logged
from tests.nouns import RELU_KERNEL, RELU_MODULE
from tests.tiny_model import save_tiny

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).resolve().parents[1]
RELU = f"```cpp{RELU_KERNEL}```"


def correct(ns: int | None) -> Record:
    timing = Timing(baseline_ns=(1000,) * 3, candidate_ns=(ns,) * 3) if ns else None
    return nouns.record("write", 0, 0, evaluation=nouns.correct(timing))


WRONG = nouns.record("write", 0, 0, evaluation=nouns.verdict(Verdict.WRONG))
NOTHING = nouns.record("write", 0, 0, source=None, evaluation=NO_CODE_BLOCK)


@given(st.lists(st.sampled_from([0, 1, 50, 2000]) | st.none(), max_size=8))
def test_the_best_is_correct_and_none_that_was_timed_is_faster(ns: Sequence[int | None]) -> None:
    answers = [WRONG if one == 0 else correct(one) for one in ns]
    place = best_of(answers)
    assert (place is None) == all(one == 0 for one in ns)
    if place is not None:
        timed = [one for one in ns if one]
        assert ns[place] == (min(timed) if timed else None)


def test_the_commonest_failure_is_said_first() -> None:
    told = failures([NOTHING, WRONG, correct(5), WRONG])
    assert told == "2 wrong (because), 1 no_kernel (no_code_block)"


def test_the_right_answer_among_wrong_ones_is_found_by_the_real_judge(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(RELU_MODULE, encoding="utf-8")
    asked = ask(path, "cpp")
    policy = ScriptedPolicy(["no code", RELU.replace("> 0", "> 1"), RELU])
    watcher = Answered("write", 3)
    with Judge(workers=1) as judge:
        answers = write_kernels(policy, judge, asked, "cpp", BestOf(samples=3), watcher)
    assert [one.evaluation.verdict for one in answers] == ["no_kernel", "wrong", "correct"]
    assert (watcher.done, watcher.judged) == (6, 3)
    assert best_of(answers) == 2


def test_a_run_says_in_which_dialect_its_model_writes_and_how_long(tmp_path: Path) -> None:
    assert habits_of("smollm2-135m") == Habits("cpp", 512)
    (tmp_path / "recipe.resolved.yaml").write_text(
        "data: {dialect: triton}\neval: {max_new_tokens: 400}\n"
    )
    assert habits_of(str(tmp_path)) == Habits("triton", 400)
    assert habits_of(str(tmp_path), "cuda") == Habits("cuda", 400)
    (tmp_path / "recipe.resolved.yaml").write_text("- broken\n")
    assert habits_of(str(tmp_path), "cuda") == Habits("cuda", 512)
    with pytest.raises(ValueError, match="give --dialect"):
        habits_of(str(tmp_path))


@pytest.mark.slow
def test_a_model_that_writes_no_kernel_is_exit_code_1_with_the_verdicts(tmp_path: Path) -> None:
    model, path = save_tiny(tmp_path / "model"), tmp_path / "m.py"
    path.write_text(RELU_MODULE, encoding="utf-8")
    words = ["write", str(path), "--model", str(model), "-n", "2", "--max-new-tokens", "4"]
    for more in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "kernelwright", *words, *more],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 1, done.stderr
        said = "none of 2 answers is correct: 2 no_kernel (no_code_block)"
        assert said in done.stderr.splitlines()[-2:]
        assert "write 2/2 written, 2 judged" in last_logged(done.stderr)
    told = json.loads(done.stdout)
    assert told["best"] is None
    assert [one["verdict"] for one in told["answers"]] == ["no_kernel", "no_kernel"]
    assert len(read_records(tmp_path / "runs" / "write-m")) == 2


def test_a_python_file_for_a_cpp_kernel_is_a_module_that_computes_it(tmp_path: Path) -> None:
    path, out = tmp_path / "m.py", tmp_path / "fast.py"
    path.write_text(RELU_MODULE, encoding="utf-8")
    one_line = " ".join(["/* \ud800 */", *RELU_KERNEL.replace("#include <cstdint>", "").split()])
    model = f"tests.toy_provider:{one_line.replace('int64_t', 'long')}"
    words = ["write", str(path), "--model", model, "-n", "1", "--temperature", "0"]
    done = CliRunner().invoke(app, [*words, "--out", str(out)])
    assert done.exit_code == 0, done.output
    found = runpy.run_path(str(out))
    x = torch.randn(7)
    with torch.inference_mode():
        assert torch.equal(found["ModelNew"]()(x), torch.relu(x))
    assert "# correct (ok)" in out.read_text()
    refused = CliRunner().invoke(app, [*words, "--dialect", "cuda", "--out", str(out)])
    assert refused.exit_code != 0
    assert "no Python file calls cuda kernels" in refused.output or "nvcc" in refused.output
