"""One run in several languages: each problem is a task in each, and its figures stand apart."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kernelwright.data.runs.records import read_records
from kernelwright.data.triples.templates import triples_of
from kernelwright.envs.types import Record, Reward, Verdict
from kernelwright.evals.evaluate.model import draws_line
from kernelwright.evals.evaluate.run import EvalSettings, count_left, evaluate
from kernelwright.evals.numbers.summary import RunFacts, read_summary, summarise
from kernelwright.evals.page.problem_table import problem_rows
from kernelwright.evals.page.showcase import held_out_pairs, training_pairs
from kernelwright.preflight.check import preflight
from kernelwright.preflight.estimate import evaluated_answers, taught_triples
from kernelwright.recipe.resolve import resolve
from kernelwright.rl.policies.hf import ScriptedPolicy
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.rft import kept
from kernelwright.rl.train.validation import reserve
from kernelwright.run.train import train
from tests import nouns
from tests.rollouts import ScriptedJudge, task
from tests.tiny_model import save_tiny

RECIPES = Path(__file__).parent / "fixtures" / "recipes"


def test_a_language_is_named_once() -> None:
    recipe = Recipe.model_validate({"name": "a", "data": {"more_dialects": ["triton", "cuda"]}})
    assert recipe.data.dialects == ("cpp", "triton", "cuda")
    with pytest.raises(ValidationError, match="one is named twice: cpp, cpp"):
        Recipe.model_validate({"name": "a", "data": {"more_dialects": ["cpp"]}})
    with pytest.raises(ValidationError, match="cobol"):
        Recipe.model_validate({"name": "a", "data": {"more_dialects": ["cobol"]}})


def test_what_keeps_a_run_from_beginning_names_the_language() -> None:
    words = ["data.more_dialects=[inline]"]
    (reason,) = preflight(resolve(RECIPES / "base.yaml", words).recipe)
    assert "there are no triples in inline" in reason


def test_examples_and_answers_of_every_language_are_counted() -> None:
    plain = resolve(RECIPES / "base.yaml", ["data.max_triples=null"]).recipe
    both = resolve(
        RECIPES / "base.yaml", ["data.max_triples=null", "data.more_dialects=[triton]"]
    ).recipe
    more = len(triples_of(plain.data.taught_suite, "triton"))
    assert more
    assert taught_triples(both) == (taught_triples(plain) or 0) + more
    assert evaluated_answers(both) == 2 * (evaluated_answers(plain) or 0)


@given(st.sets(st.text(min_size=1, max_size=4), max_size=8), st.integers(0, 9))
def test_a_problem_that_is_validated_on_is_trained_on_in_no_language(
    names: set[str], count: int
) -> None:
    one = [task(name) for name in sorted(names)]
    several = [replace(it, dialect=dialect) for it in one for dialect in ("cpp", "triton")]
    reserved, trained = reserve(several, count)
    assert not {it.problem.key for it in reserved} & {it.problem.key for it in trained}
    assert len(reserved) == 2 * min(count, len(one))
    assert {it.problem.key for it in reserved} == {it.problem.key for it in reserve(one, count)[0]}


SETTINGS = EvalSettings(
    stage="eval_after",
    dialect="cpp",
    more_dialects=("triton",),
    samples=2,
    max_new_tokens=16,
    temperature=1.0,
    versions={},
    batch=3,
)


@pytest.fixture
def without_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelwright.evals.evaluate.run.broken", lambda _: {})
    monkeypatch.setattr("kernelwright.evals.evaluate.run.task_prompt", lambda one: one.key)


@pytest.mark.usefixtures("without_modules")
def test_each_problem_is_asked_in_each_language_and_what_is_done_is_not_asked_again() -> None:
    problems = [task(name).problem for name in "abc"]
    answers = ["```cpp\nright 3\n```", "```python\nright 2\n```"] * 6
    every: list[Record] = []

    def asked(done: Any = (), **changed: Any) -> list[Record]:
        settings = replace(SETTINGS, **changed)
        judge: Any = ScriptedJudge()
        policy = ScriptedPolicy(answers)
        return evaluate(policy, problems, judge, settings, every.extend, done)

    found = asked()
    assert [one.row for one in found] == list(range(12))
    assert Counter((one.problem, one.dialect) for one in found) == {
        (name, dialect): 2 for name in "abc" for dialect in ("cpp", "triton")
    }
    done = {one.id for one in found[:7]}
    assert count_left(problems, SETTINGS, done) == 5
    shares = [asked(share=(rank, 2)) for rank in (0, 1)]
    assert sorted(one.row for share in shares for one in share) == list(range(12))


def row(number: int, dialect: str, problem: str, verdict: Verdict) -> Record:
    evaluation = nouns.verdict(verdict)
    where = {"dialect": dialect, "problem": problem, "problem_key": problem}
    return nouns.record("eval_after", 0, number, evaluation=evaluation, **where)


def test_figures_of_each_language_stand_apart() -> None:
    right, wrong = Verdict.CORRECT, Verdict.WRONG
    rows = [row(0, "cpp", "a", right), row(1, "triton", "a", wrong), row(2, "cpp", "b", right)]
    facts = RunFacts(
        model="m", dialect="cpp", target="t", suite="s", date="d", seconds={}, categories={}
    )
    summary = summarise(rows, facts)
    rates = {name: sides["after"]["correct_rate"] for name, sides in summary["dialects"].items()}
    assert rates == {"cpp": 1.0, "triton": 0.0}
    assert summary["held_out"]["after"]["pass_at_k"] == {"1": pytest.approx(2 / 3)}
    assert summary["held_out"]["after"]["problems"] == 2
    assert "dialects" not in summarise([rows[0], rows[2]], facts)


def test_what_pass_at_k_is_over_is_said_as_it_was_counted() -> None:
    facts = RunFacts(
        model="m", dialect="cpp", target="t", suite="s", date="d", seconds={}, categories={}
    )
    rows = [
        row(number, ("cpp", "triton")[number // 2], "a", Verdict.CORRECT) for number in range(4)
    ]
    both, one = (
        draws_line(summarise(some, facts)["held_out"]["after"]) for some in (rows, rows[:2])
    )
    assert both.endswith(" over 2 pairs of problem and language")
    assert one.endswith(" over 1 problems")


def test_the_kernels_of_two_languages_are_never_compared() -> None:
    right, wrong = Verdict.CORRECT, Verdict.WRONG
    rows = [row(0, "cpp", "a", right), row(1, "triton", "a", wrong)]
    rows += [
        replace(row(k, one, "a", wrong), stage="eval_before")
        for k, one in enumerate(("cpp", "triton"))
    ]
    pairs, table = held_out_pairs(rows, 10), problem_rows(rows, {"a": "norm"})
    assert [one.title for one in pairs] == ["a · cpp", "a · triton"]
    assert [len({it.dialect for _, it in one.shown}) for one in pairs] == [1, 1]
    assert [(one.name, one.category, one.cells["after"].correct) for one in table] == [
        ("a · cpp", "norm", 1),
        ("a · triton", "norm", 0),
    ]
    assert [one.key for one in pairs] == [one.key for one in table]
    (alone,) = held_out_pairs([rows[0], rows[2]], 10)
    assert (alone.title, alone.key) == ("a", "a")


def test_a_group_that_is_shown_is_of_one_language_and_skill_with_the_prompt_of_its_best() -> None:
    asked = [("cpp", "write", 0.0), ("cpp", "write", 1.0), ("cpp", "improve", 0.5)]
    rows = [
        replace(
            row(k, dialect, "a", Verdict.CORRECT if paid else Verdict.WRONG),
            stage="grpo",
            skill=skill,
            reward=Reward(parts={"correct": paid}),
            prompt=f"{dialect} {skill} {k}",
            completion=str(k),
        )
        for k, (dialect, skill, paid) in enumerate([*asked, ("triton", "write", 4.0)])
    ]
    (shown,) = training_pairs(rows, 10)
    assert shown.title == "step 1 · a · cpp · write"
    assert shown.verdicts == {"correct": 1, "wrong": 1}
    assert shown.prompt == "cpp write 1"


def test_rejection_sampling_keeps_a_kernel_of_each_language() -> None:
    rows = [
        replace(row(k, it, "a", Verdict.CORRECT), stage="rft")
        for k, it in enumerate(["cpp", "cuda"])
    ]
    assert len(kept(rows, 1)) == 2


def test_a_run_in_two_languages_trains_and_is_measured_in_both(tmp_path: Path) -> None:
    """Without what comes before a run: exploits of another language take minutes to try."""
    run, model = tmp_path / "run", save_tiny(tmp_path / "model")
    words = [f"model.name={model}", f"run_dir={run}", "data.more_dialects=[inline]"]
    words += ["stages=[grpo,eval]", "grpo.steps=2", "grpo.groups_per_step=4"]
    recipe = resolve(RECIPES / "tiny.yaml", words).recipe
    train(recipe, resume=False, fitted=recipe)
    records = read_records(run)
    measured = Counter((one.stage, one.dialect) for one in records)
    sides = [(f"eval_{when}", one) for when in ("before", "after") for one in ("cpp", "inline")]
    assert {measured[side] for side in sides} == {2}
    assert {one.dialect for one in records if one.stage == "grpo"} == {"cpp", "inline"}
    assert set(read_summary(run)["dialects"]) == {"cpp", "inline"}
    assert "cpp and inline" in (run / "report.html").read_text()
