"""Verdicts become records in one place, and a triple's parts stay apart beside its verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.runs.process import this_process
from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.judged import Batch, Response, judged
from kernelwright.envs.types import Candidate, Evaluation, Problem, Verdict
from kernelwright.rewards.price import price
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.run.run_folder import RunError, RunFolder
from kernelwright.run.train import Run
from tests.rollouts import ScriptedJudge, block, task


class Telling(ScriptedJudge):
    """Says of each candidate when it is done, and keeps those that it got."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.got: list[Candidate] = []

    def evaluate_many(
        self,
        jobs: Sequence[tuple[Problem, Any]],
        *,
        on_done: Callable[[], None] | None = None,
        **options: Any,
    ) -> list[Evaluation]:
        self.got += [candidate for _, candidate in jobs]
        for _ in jobs:
            if on_done:
                on_done()
        return super().evaluate_many(jobs, **options)


def test_each_response_has_its_record_in_order_and_is_told_of_once() -> None:
    judge, told = Telling(), list[int]()
    texts = (block("wrong"), "no code", block("right"), block("odd"))
    responses = [
        Response.of_completion(task(name), row, f"do {name}", text)
        for row, (name, text) in enumerate(zip("abcd", texts, strict=True))
    ]
    batch = Batch(stage="s", step=3, price=partial(price, "default"), versions={"torch": "2"})
    found = judged(judge, responses, batch, timed=False, on_done=lambda: told.append(1))
    assert len(told) == 4
    assert [one.id for one in found] == [("s", 3, row) for row in range(4)]
    assert [one.problem for one in found] == list("abcd")
    assert [one.evaluation.verdict for one in found] == [
        Verdict.WRONG,
        Verdict.NO_KERNEL,
        Verdict.CORRECT,
        Verdict.UNJUDGED,
    ]
    assert [one.completion for one in found] == list(texts)
    assert [one.reward is None for one in found] == [False, False, False, True]
    assert {one.versions["torch"] for one in found} == {"2"}
    assert all(not timed for _, timed in judge.calls)


def test_what_an_answer_may_leave_to_pytorch_is_told_to_the_judge_and_kept() -> None:
    judge = Telling()
    whole = Response.of_completion(task(), 0, "do", block("right"))
    free = replace(whole, row=1, torch_allowed=True)
    found = judged(judge, [whole, free], Batch(stage="s"))
    assert [one.torch_allowed for one in judge.got] == [False, True]
    assert [one.torch_allowed for one in found] == [False, True]
    assert [one.reward for one in found] == [None, None]


def run_of(folder: Path, judge: ScriptedJudge) -> Run:
    recipe = Recipe.model_validate(
        {"name": "a", "run_dir": folder, "seed": 3, "data": {"max_triples": 5}}
    )
    process = this_process()
    return Run(recipe, RunFolder(folder), judge, process, lambda: None, resume=True)


def test_triples_keep_their_parts_and_get_their_verdicts_from_the_run(tmp_path: Path) -> None:
    run_of(tmp_path, ScriptedJudge()).judge_triples()
    run = run_of(tmp_path, ScriptedJudge())
    found = run.judged_triples()
    assert [one.triple for one in found] == run.triples()
    assert all(one.triple.pattern and one.triple.reasoning for one in found)
    records = run.store.read()
    assert [one.prompt for one in found] == [one.prompt for one in records]
    assert [one.evaluation for one in found] == [one.evaluation for one in records]


def test_a_run_whose_examples_are_others_by_now_is_not_gone_on_with(tmp_path: Path) -> None:
    run = run_of(tmp_path, ScriptedJudge())
    run.judge_triples()
    *_, last = run.store.read()
    RecordStore(tmp_path).append([replace(last, row=5)])
    with pytest.raises(RunError, match="begin a new run"):
        run.judged_triples()


def test_a_judged_example_whose_record_was_lost_is_left_out(tmp_path: Path) -> None:
    run = run_of(tmp_path, ScriptedJudge())
    run.judge_triples()
    kept = run.store.read()[:3]
    run.store.rewind("triples", 0)
    run.store.append(kept)
    assert [one.triple for one in run.judged_triples()] == run.triples()[:3]
