"""A policy and problems in, records out: judged for real, and the same after an interruption."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.data.runs.progress import Answered
from kernelwright.envs.judge import Judge
from kernelwright.envs.policy import Completion, Finish, OnFinished, Prompt, Sampling
from kernelwright.envs.types import Case, Problem, Record, Role, Verdict
from kernelwright.evals.evaluate.run import EvalSettings, evaluate
from kernelwright.evals.numbers.metrics import record_scores
from kernelwright.evals.page.levels import unjudged_lines
from kernelwright.rl.models.weights import ModelError

pytestmark = pytest.mark.sandbox

CODE = """
import torch
import torch.nn as nn
N = 16
M = 24
class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(N, M)]
def get_init_inputs():
    return []
"""
RELU = """```cpp
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t n, int64_t m, int64_t, int64_t) {
    for (int64_t i = 0; i < n * m; ++i) out[i] = x[i] > 0 ? x[i] : 0;
}
```"""
ANSWERS = (RELU, "It cannot be done.", RELU.replace("x[i] : 0", "x[i] : 1"))
PROBLEMS = tuple(
    Problem(
        name=f"relu_{size}",
        code=CODE.replace("16", str(size)),
        cases=(
            Case(name="given", sizes=()),
            Case(name="odd", sizes=(("N", 7),)),
            Case(name="hidden", sizes=(("M", 31),), role=Role.HELD_OUT),
        ),
    )
    for size in (16, 17)
)
BROKEN = replace(PROBLEMS[0], name="broken", code=PROBLEMS[0].code.replace("relu(x)", "relu(y)"))
SETTINGS = EvalSettings(
    stage="eval_after",
    dialect="cpp",
    samples=3,
    max_new_tokens=64,
    temperature=0.7,
    seed=0,
    batch=2,
    reward="default",
    versions={"torch": "2"},
)


class ScriptedPolicy:
    """Answers by seed and place, and remembers what it was asked."""

    def __init__(self, finish: Finish = Finish.STOP) -> None:
        self.finish = finish
        self.asked: list[tuple[int, int, int, float]] = []

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        asked = (len(prompts), sampling.seed, sampling.max_new_tokens, sampling.temperature)
        self.asked.append(asked)
        texts = (ANSWERS[(sampling.seed + place) % len(ANSWERS)] for place in range(len(prompts)))
        found = [Completion(text=text, finish=self.finish) for text in texts]
        for place, one in enumerate(found):
            if on_finished:
                on_finished(place, one)
        return found


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(1) as one:
        yield one


def known(record: Record) -> tuple[int, str, str, Verdict, str]:
    """What must not depend on when a record was made; a speed is measured anew."""
    evaluation = record.evaluation
    return record.row, record.problem, record.completion, evaluation.verdict, evaluation.reason


def test_every_row_is_asked_judged_and_priced(judge: Judge) -> None:
    policy, kept = ScriptedPolicy(), list[Record]()
    records = evaluate(policy, PROBLEMS, judge, SETTINGS, kept.extend)
    assert kept == records
    assert [one.row for one in records] == list(range(6))
    assert [one.problem for one in records] == ["relu_16"] * 3 + ["relu_17"] * 3
    assert [one.evaluation.verdict for one in records] == [
        Verdict.CORRECT,
        Verdict.NO_KERNEL,
        Verdict.WRONG,
    ] * 2
    assert [one.reward.total > 0 for one in records if one.reward] == [True, False, False] * 2
    assert records[1].evaluation.reason == "no_code_block"
    assert records[0].versions == {"torch": "2"}
    assert policy.asked == [(2, 0, 64, 0.7), (2, 2, 64, 0.7), (2, 4, 64, 0.7)]


@pytest.mark.parametrize(("whole", "right"), [(False, 2), (True, 0)])
def test_an_answer_that_reaches_the_limit_is_none_where_it_is_learned_from(
    judge: Judge, whole: bool, right: int
) -> None:
    """A measurement reads what it holds: here a whole kernel."""
    settings = replace(SETTINGS, whole=whole)
    policy = ScriptedPolicy(Finish.LENGTH)
    found = evaluate(policy, PROBLEMS, judge, settings, lambda _: None)
    assert sum(one.evaluation.verdict is Verdict.CORRECT for one in found) == right
    if whole:
        said = {(one.evaluation.verdict, one.evaluation.reason, one.source) for one in found}
        assert said == {(Verdict.NO_KERNEL, "truncated", None)}
    assert found[0].completion == RELU


class FailingPolicy(ScriptedPolicy):
    """Answers one prompt of the second batch, and then no more."""

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        if not self.asked:
            return super().complete(prompts, sampling, on_finished)
        super().complete(prompts[:1], sampling, on_finished)
        raise ModelError("no server answers")


def test_what_a_server_answered_before_it_failed_is_judged_and_kept(judge: Judge) -> None:
    kept, told = list[Record](), Told()
    with pytest.raises(ModelError, match="no server answers"):
        evaluate(FailingPolicy(), PROBLEMS, judge, SETTINGS, kept.extend, (), told)
    assert [one.row for one in kept] == [0, 1, 2]
    assert Counter(told.words) == {"written": 3, "judged": 3}


class Told:
    """What an evaluation tells, in order."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def one_written(self) -> None:
        self.words.append("written")

    def one_judged(self) -> None:
        self.words.append("judged")


def test_each_answer_is_told_as_it_is_written_and_as_it_is_judged(judge: Judge) -> None:
    told = Told()

    def keep(records: Sequence[Record]) -> None:
        told.words.append(f"{len(records)} kept")

    evaluate(ScriptedPolicy(), PROBLEMS, judge, SETTINGS, keep, watcher=told)
    assert told.words == ["written", "written", "judged", "judged", "2 kept"] * 3


def test_an_interrupted_evaluation_ends_with_the_same_records(judge: Judge) -> None:
    whole = evaluate(ScriptedPolicy(), PROBLEMS, judge, SETTINGS, lambda _: None)
    done = {one.id for one in whole[:2]}
    policy = ScriptedPolicy()
    rest = evaluate(policy, PROBLEMS, judge, SETTINGS, lambda _: None, done)
    assert [known(one) for one in rest] == [known(one) for one in whole[2:]]
    assert [seed for _, seed, _, _ in policy.asked] == [2, 4]


def test_rows_of_another_stage_are_not_done(judge: Judge) -> None:
    done = {("eval_before", 0, row) for row in range(6)}
    greedy = replace(SETTINGS, samples=1, temperature=0.0)
    rows = evaluate(ScriptedPolicy(), PROBLEMS, judge, greedy, lambda _: None, done)
    assert [one.id for one in rows] == [("eval_after", 0, 0), ("eval_after", 0, 1)]


@pytest.mark.parametrize("wrong", [{"temperature": 0.0}, {"samples": 0}, {"batch": 0}])
def test_settings_that_make_no_sense_cannot_be_built(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="sample"):
        replace(SETTINGS, **wrong)


def test_a_problem_whose_module_does_not_run_costs_no_other_one_and_no_rate(judge: Judge) -> None:
    problems, policy = (PROBLEMS[0], BROKEN, PROBLEMS[1]), ScriptedPolicy()
    kept: list[Record] = []
    told = Answered("eval", 9)
    found = evaluate(policy, problems, judge, SETTINGS, kept.extend, watcher=told)
    assert sorted(one.row for one in kept) == list(range(9))
    assert (told.done, told.judged) == (18, 9)
    silent = [one for one in found if one.problem == "broken"]
    assert [one.row for one in silent] == [3, 4, 5]
    assert {(one.evaluation.verdict, one.evaluation.reason) for one in silent} == {
        (Verdict.UNJUDGED, "reference_failed")
    }
    assert "name 'y' is not defined" in silent[0].evaluation.log
    assert record_scores(found).n == 6
    assert unjudged_lines(found) == [f"broken cannot be judged: {silent[0].evaluation.log}"]
    assert [count for count, *_ in policy.asked] == [2, 1, 2, 1], "batches of two rows of nine"
    again = evaluate(policy, problems, judge, SETTINGS, kept.extend, {one.id for one in kept})
    assert again == []


def test_an_evaluation_of_which_nothing_was_judged_fails(tmp_path: Path) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "odd.py").write_text(BROKEN.code, encoding="utf-8")
    words = ["eval", "tests.toy_provider:right", "--suite", f"modules:{tmp_path / 'modules'}"]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "out"), "--json"])
    assert done.exit_code == 1, done.output
    assert json.loads(done.stdout)["held_out"]["measured"]["unjudged"] == 1
    assert "odd cannot be judged: NameError: name 'y' is not defined" in done.stderr
    assert "nothing was judged: there is no rate" in done.stderr
