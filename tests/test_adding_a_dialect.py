"""The dialect of docs/adding-a-dialect.md is complete: it asks, builds, and is judged."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kernelwright.envs.dialects
from kernelwright.envs.answer import extract
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.dialects import NAMES
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.types import Candidate, Evaluation, Problem, Target, Task, Verdict
from tests.nouns import RELU_KERNEL, relu_problem

pytestmark = pytest.mark.sandbox

PAGE = Path(__file__).parents[1] / "docs" / "adding-a-dialect.md"
THROWS = RELU_KERNEL.replace("out[i] =", "if (i < 0) throw 1; out[i] =")


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page's dialect, as if its file and its name were in `envs/dialects/`."""
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (names,) = re.findall(r"^    NAMES = \((.*)\)$", text, re.MULTILINE)
    added = names.split(",")[-1].strip(' "')
    path = tmp_path / f"{added}.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"kernelwright.envs.dialects.{added}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, f"kernelwright.envs.dialects.{added}", module)
    monkeypatch.setattr(kernelwright.envs.dialects, "NAMES", (*NAMES, added))
    return added


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return relu_problem(tmp_path)


@pytest.fixture
def evaluator() -> Iterator[Evaluator]:
    one = Evaluator(JudgingConfig(), Target(name="test"))
    yield one
    one.close()


def judged(evaluator: Evaluator, problem: Problem, dialect: str, source: str) -> Evaluation:
    candidate = Candidate(problem_key=problem.key, dialect=dialect, source=source)
    return evaluator.judge(problem, candidate, timed=False, seed=1)


def test_it_asks_and_its_answers_are_found_and_judged(
    name: str, problem: Problem, evaluator: Evaluator
) -> None:
    asked = task_prompt(Task(problem=problem, dialect=name))
    assert asked.startswith("Write a C++20 kernel")
    assert asked.endswith("Nothing may throw.")
    source = extract(f"Like so:\n```cpp20\n{RELU_KERNEL}```", name)
    assert source is not None
    assert judged(evaluator, problem, name, source).verdict is Verdict.CORRECT
    wrong = judged(evaluator, problem, name, source.replace("x[i] : 0", "x[i] : 1"))
    assert wrong.verdict is Verdict.WRONG


def test_its_own_rule_holds(name: str, problem: Problem, evaluator: Evaluator) -> None:
    refused = judged(evaluator, problem, name, THROWS)
    assert (refused.verdict, refused.reason) == (Verdict.BUILD_FAILED, "compile_error")
    assert "exception" in refused.log


def test_a_dialect_that_is_not_listed_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no dialect 'no_such'; there are cpp, inline"):
        kernelwright.envs.dialects.known_dialect("no_such")
