"""Rejection sampling: what a round asks, what it keeps, and how a run goes through its rounds."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kernelwright.data.runs.process import this_process
from kernelwright.envs.types import Case, Problem, Record, Task, Verdict
from kernelwright.evals.evaluate.run import EvalSettings
from kernelwright.evals.page.curves import learning_charts
from kernelwright.rl.methods.base import Example
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.recipe.supervised import RftSection
from kernelwright.rl.train.rft import as_sft, examples_of, kept, round_problems, unsolved
from kernelwright.run.run_folder import RunFolder
from kernelwright.run.train import Run
from tests import nouns
from tests.rollouts import ScriptedJudge
from tests.tiny_model import save_tiny


def problems(count: int) -> list[Problem]:
    cases = (Case(name="a", sizes=()),)
    return [Problem(name=f"p{k}", code=f"class Model: {k}", cases=cases) for k in range(count)]


def answer(
    key: str = "k", source: str = "int x;", words: int = 1, speed: int | None = None, **more: Any
) -> Record:
    """A correct answer of so many words, `speed` times as fast as its baseline."""
    timing = None if speed is None else nouns.timing(1_000 * speed, 1_000)
    text = f"{'word ' * words}{source}"
    given = {"problem_key": key, "source": source, "completion": text, **more}
    return nouns.record("rft", **{"evaluation": nouns.correct(timing), **given})


def kernel(one: Record) -> tuple[str, str]:
    return one.problem_key, "".join((one.source or "").split())


answers = st.builds(
    answer,
    key=st.sampled_from("ab"),
    source=st.sampled_from(["int x;", "int  x;", "int y;", "int z;"]),
    words=st.integers(0, 9),
    speed=st.none() | st.integers(1, 5),
    evaluation=st.sampled_from([nouns.correct(), nouns.verdict(Verdict.WRONG)]),
)


@given(st.lists(answers), st.integers(1, 3))
def test_what_is_kept_is_correct_distinct_and_limited_for_each_problem(
    records: list[Record], each: int
) -> None:
    found = kept(records, each)
    assert all(one.evaluation.verdict is Verdict.CORRECT for one in found)
    assert len(set(map(kernel, found))) == len(found)
    right = {kernel(one) for one in records if one.evaluation.verdict is Verdict.CORRECT}
    for key, count in Counter(key for key, _ in right).items():
        assert sum(one.problem_key == key for one in found) == min(count, each)


def test_the_shortest_answer_is_kept_first_then_the_fastest() -> None:
    short = answer(source="a", words=1, speed=1)
    middle = answer(source="b", words=5, speed=2)
    fast = answer(source="c", words=9, speed=4)
    assert kept([fast, middle, short], 1) == [short]
    assert kept([fast, middle, short], 2) == [short, fast]
    assert kept([fast, middle, short], 3) == [short, fast, middle]


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 3))
def test_rounds_go_through_the_whole_suite_before_any_problem_comes_again(
    count: int, each: int, seed: int
) -> None:
    section, suite = RftSection(problems=each), problems(count)
    rounds = -(-count // min(each, count))
    asked = [one for k in range(rounds) for one in round_problems(suite, k + 1, section, seed)]
    assert {one.key for one in asked} == {one.key for one in suite}
    assert len({one.key for one in asked[:count]}) == count
    assert round_problems(suite, 2, section, seed) == round_problems(suite[::-1], 2, section, seed)


def test_a_round_learns_from_all_rounds_so_far_and_replays_a_share_of_sft() -> None:
    taught = [Example(prompt="q", completion=f"t{k}") for k in range(9)]
    records = [answer(f"k{step}{k}", step=step) for step in (1, 2, 3) for k in range(4)]
    first, second = (
        examples_of(records, taught, RftSection(replay=0.5), number) for number in (1, 2)
    )
    assert (len(first), len(second)) == (4 + 2, 8 + 4)
    assert first[4:] != second[8:10]
    assert len(examples_of(records, taught, RftSection(replay=0), 1)) == 4


def test_a_round_replays_many_examples_where_sft_shows_each_several_times() -> None:
    """`data.balance` repeats rare loops: chosen by its text, one came as often as it is shown."""
    taught = [Example(prompt="q", completion=f"t{k}") for k in range(10) for _ in range(8)]
    records = [answer(f"k{k}", step=1) for k in range(40)]
    for number in range(1, 5):
        found = examples_of(records, taught, RftSection(replay=1), number)[40:]
        assert len(found) == 40
        assert len({one.completion for one in found}) > 7


def test_without_a_correct_answer_a_round_says_that_there_is_nothing_to_learn() -> None:
    wrong = answer(evaluation=nouns.verdict(Verdict.WRONG), step=1)
    with pytest.raises(ModelError, match="none of the 1 answers up to round 1 is correct"):
        examples_of([wrong], [], RftSection(), 1)


def test_what_no_first_answer_solved_in_a_language_is_asked_again() -> None:
    suite = problems(3)
    wrong = nouns.verdict(Verdict.WRONG)
    first = [answer(suite[0].key), *(answer(one.key, evaluation=wrong) for one in suite)]
    tasks = [Task(problem=one, dialect="cpp") for one in suite]
    others = [Task(problem=one, dialect="triton") for one in suite]
    assert unsolved(tasks, first) == tasks[1:]
    assert unsolved(others, first) == others, "in another language"


@given(st.lists(answers), st.booleans())
def test_what_was_always_solved_can_be_left_out(records: list[Record], skip: bool) -> None:
    mine = [
        replace(one, step=1, row=row, prompt=one.problem_key) for row, one in enumerate(records)
    ]
    section = RftSection(kept_per_problem=9, samples=9, replay=0, skip_solved=skip)
    right = {one.problem_key for one in mine if one.evaluation.verdict is Verdict.CORRECT}
    wrong = {one.problem_key for one in mine if one.evaluation.verdict is not Verdict.CORRECT}
    expected = (right & wrong or right) if skip else right
    if not expected:
        with pytest.raises(ModelError):
            examples_of(mine, [], section, 1)
        return
    assert {one.prompt for one in examples_of(mine, [], section, 1)} == expected


def test_one_answer_that_is_left_out_where_it_is_right_is_refused() -> None:
    with pytest.raises(ValidationError, match="raise samples or retries"):
        RftSection(samples=1, skip_solved=True)
    assert RftSection(samples=1, retries=1, skip_solved=True).retries == 1


def test_a_round_trains_at_its_own_rate_with_the_batches_of_sft() -> None:
    recipe = Recipe.model_validate({"name": "a", "rft": {"epochs": 3, "learning_rate": 1e-5}})
    section = as_sft(recipe).sft
    assert (section.epochs, section.learning_rate) == (3, 1e-5)
    assert section.batch_size == recipe.sft.batch_size


class Rounds(Run):
    """A run whose policy answers correctly; says what it was asked with which adapter."""

    def ask(
        self, adapter: Path | None, problems: Sequence[Problem], settings: EvalSettings
    ) -> None:
        self.asked = [*getattr(self, "asked", []), (adapter and adapter.name, settings.step)]
        done = {one.id for one in self.store.read()}
        found = [
            answer(one.key, step=settings.step, row=row, prompt="Add.")
            for row, one in enumerate(problems)
        ]
        self.store.append([one for one in found if one.id not in done])


class Retries(Rounds):
    """The same, but its policy solves two of three problems at their second answer."""

    def ask(
        self, adapter: Path | None, problems: Sequence[Problem], settings: EvalSettings
    ) -> None:
        self.asked = [*getattr(self, "asked", []), (settings.first_row, len(problems))]
        done, wrong = {one.id for one in self.store.read()}, nouns.verdict(Verdict.WRONG)
        asked = [one for one in problems for _ in range(settings.samples)]
        found = [
            answer(
                one.key,
                step=settings.step,
                row=row,
                prompt="Add.",
                evaluation=nouns.correct() if row % 3 == settings.first_row % 2 else wrong,
            )
            for row, one in enumerate(asked, settings.first_row)
        ]
        self.store.append([one for one in found if one.id not in done])


def test_a_round_asks_what_it_did_not_solve_again_and_learns_from_that(tmp_path: Path) -> None:
    section = {"rounds": 1, "samples": 1, "retries": 2, "skip_solved": True}
    run = rounds(tmp_path, Retries, section)
    run.rft()
    assert run.asked == [(0, 3), (3, 2)]
    assert sorted(one.row for one in run.store.read()) == list(range(7))
    trained = run.adapters["rft"] / "adapter_model.safetensors"
    weights = trained.read_bytes()
    (trained.parent / "kernelwright.json").unlink()
    again = rounds(tmp_path, Retries, section)
    again.rft()
    assert again.asked == run.asked, "retries of what an earlier attempt solved as well"
    assert len(again.store.read()) == 7
    assert trained.read_bytes() == weights


def rounds(folder: Path, kind: type[Run] = Rounds, changed: dict[str, Any] | None = None) -> Any:
    section = {"rounds": 2, "problems": 3, "replay": 0, **(changed or {})}
    sizes = {"batch_size": 2, "micro_batch_size": 2, "max_length": 256}
    recipe = Recipe.model_validate(
        {
            "name": "rounds",
            "run_dir": folder / "run",
            "stages": ["rft"],
            "model": {"name": str(save_tiny(folder / "model")), "lora": {"rank": 2}},
            "rft": section,
            "sft": sizes,
        }
    )
    opened = RunFolder(recipe.run_dir)
    opened.open(recipe, resume=recipe.run_dir.exists())
    judge: Any = ScriptedJudge()
    return kind(recipe, opened, judge, this_process(), lambda: None, resume=True)


def test_each_round_begins_with_the_adapter_of_the_last_and_a_done_one_is_not_done_again(
    tmp_path: Path,
) -> None:
    first = rounds(tmp_path)
    first.rft()
    assert first.asked == [(None, 1), ("rft-1-final", 2)]
    last = first.adapters["rft"] / "adapter_model.safetensors"
    weights = last.read_bytes()
    assert weights != (last.parents[1] / "rft-1-final" / last.name).read_bytes()
    (last.parent / "kernelwright.json").unlink()  # killed before it was whole
    again = rounds(tmp_path)
    again.rft()
    assert again.asked == [("rft-1-final", 2)]
    assert last.read_bytes() == weights


class Circle:
    """As a model is: it refers to itself."""

    def __init__(self) -> None:
        self.own = self


def test_no_model_of_a_round_is_kept_while_another_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but a collection frees it, and Python begins one by counts of objects."""
    living, beside = WeakSet[Circle](), list[int]()

    def loaded(*_: Any, **__: Any) -> Any:
        beside.append(len(living))
        living.add(one := Circle())
        return one

    def trained(*given: Any, **named: Any) -> None:
        loaded()
        given[2].mkdir(parents=True)
        (given[2] / "kernelwright.json").write_text("{}")

    def evaluated(
        policy: Any, problems: Any, judge: Any, settings: Any, keep: Any, *_: Any
    ) -> None:
        found = [answer(one.key, step=settings.step) for one in problems]
        keep([replace(one, row=settings.first_row + row) for row, one in enumerate(found)])

    monkeypatch.setattr(Run, "policy", loaded)
    monkeypatch.setattr("kernelwright.run.train.evaluate", evaluated)
    monkeypatch.setattr("kernelwright.rl.train.sft.run_sft", trained)
    gc.collect()
    gc.disable()
    try:
        rounds(tmp_path, Run).rft()
    finally:
        gc.enable()
    assert beside == [0, 0, 0, 0]


def test_a_report_draws_the_loss_of_each_round() -> None:
    metrics = [
        {"stage": f"rft-{number}", "step": step, "loss": 1.0 / step}
        for number in (10, 2)
        for step in (1, 2, 3)
    ]
    titles = [one.title for one in learning_charts([], metrics)]
    assert titles == [f"Rejection sampling, round {number}: loss" for number in (2, 10)]
