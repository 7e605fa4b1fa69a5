"""Kernel-Smith's steps: which kernel a group improves on, and what it earns for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from kernelwright.data.runs.records import RecordStore
from kernelwright.data.triple import JudgedTriple, Triple
from kernelwright.envs.types import Evaluation, Record, Verdict
from kernelwright.rl.methods import kernel_smith
from kernelwright.rl.methods.base import Row, RunView
from kernelwright.rl.methods.kernel_smith import Method, Options
from tests.landscape import named
from tests.nouns import correct, record, timing, verdict
from tests.one_step import one_step
from tests.rollouts import ScriptedJudge, block, player, row, sampled, task
from tests.tiny_model import save_tiny

TASK = task("a")


@pytest.fixture(autouse=True)
def _short_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_smith, "task_prompt", named)


def fast(times: float) -> Evaluation:
    return correct(timing(round(1_000 * times), 1_000))


def kernel(source: str, times: float, step: int = -1, parent: str | None = None) -> Record:
    return record(
        "grpo" if step >= 0 else "triples",
        step=max(0, step),
        problem="a",
        problem_key=TASK.problem.key,
        source=source,
        evaluation=fast(times),
        parent=TASK.candidate(parent).key if parent else None,
    )


def method(folder: Path, records: Sequence[Record] = (), **options: Any) -> Method:
    RecordStore(folder).append(records)
    return Method(Options(**options), RunView(seed=0, store=RecordStore(folder)))


def parents(folder: Path, records: Sequence[Record]) -> set[str | None]:
    """What groups of the next steps improve on."""
    asked = method(folder, records)
    found = [asked.parent(TASK, step) for step in range(5, 25)]
    return {one.source if one else None for one in found}


def test_parents_are_the_children_of_best_steps(tmp_path: Path) -> None:
    known = [
        kernel("first", 1.0),
        kernel("better", 1.3, 1, "first"),
        kernel("hardly", 1.4, 2, "better"),
        kernel("best", 2.0, 3, "better"),
        kernel("too late", 9.0, 40, "best"),
    ]
    assert parents(tmp_path, known) == {"better", "best"}


def test_before_a_best_step_they_are_examples_or_first_kernels(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    assert parents(tmp_path / "a", []) == {None}
    assert parents(tmp_path / "b", [kernel("x", 1.0), kernel("y", 1.1, 1, "x")]) == {"x"}
    assert parents(tmp_path / "c", [kernel("own", 0.5, 1)]) == {"own"}


def test_the_prompt_shows_the_parent_with_its_speed(tmp_path: Path) -> None:
    asked = method(tmp_path, [kernel("int x;", 1.5)]).prompt(TASK, 1)
    assert asked.text.startswith(
        "do a\nA kernel for this module, 1.50 times as fast as PyTorch:\n```cpp\nint x;\n```\nWrite"
    )
    assert asked.exemplars == (TASK.candidate("int x;").key,)


def child(evaluation: Evaluation, parent: Evaluation | None) -> Row:
    asked = replace(row(None).ask, parent="k", parent_source="int x;")
    return replace(row(None), ask=asked, evaluation=evaluation, parent_evaluation=parent)


def test_a_child_earns_its_gain_on_the_parent_up_to_a_bound(tmp_path: Path) -> None:
    group = [
        child(fast(3), fast(2)),
        child(fast(1), fast(2)),
        child(fast(30), fast(2)),
        child(verdict(Verdict.WRONG), fast(2)),
        child(verdict(Verdict.CHEATED), fast(2)),
        child(verdict(Verdict.UNJUDGED), fast(2)),
        child(correct(), fast(2)),
        child(fast(3), None),
        replace(row(None), evaluation=fast(3)),
    ]
    paid = method(tmp_path).credit(group)
    assert paid == [pytest.approx(1.5), 0.5, 4.0, 0.0, 0.0, None, None, None, pytest.approx(3.0)]


def test_the_parent_is_timed_in_the_batch_of_its_correct_children_and_else_not(
    tmp_path: Path,
) -> None:
    asked = method(tmp_path, [kernel("right 2", 3.0)])
    for words, timed in ((["right 4", "wrong"], ["right 4\n", "right 2"]), (["wrong"] * 2, None)):
        judge = ScriptedJudge()
        rows = asked.rollout([TASK], player(judge, [sampled(block(one)) for one in words], step=1))
        batches = [sources for sources, clocked in judge.calls if clocked]
        assert batches == ([timed] if timed else [])
        assert [one.parent_evaluation is not None for one in rows] == [bool(timed)] * 2
        assert asked.credit(rows) == ([2.0, 0.0] if timed else [0.0, 0.0])


def test_sft_shows_an_example_as_the_answer_to_a_slower_one(tmp_path: Path) -> None:
    asked = method(tmp_path, [kernel("slow", 1.0)])
    triples = [
        JudgedTriple(
            triple=Triple(problem=TASK.problem, dialect="cpp", reasoning="Why.", source=source),
            prompt="do a",
            evaluation=fast(times),
        )
        for source, times in (("slow", 1.0), ("quick", 2.0))
    ]
    found = asked.examples(triples)
    assert [one.prompt == "do a" for one in found] == [False, True, True]
    assert "slow" in found[0].prompt
    assert "quick" in found[0].completion


@pytest.mark.model
def test_advantages_are_gains_on_a_parent_less_their_mean(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    for name in "abcd":
        asked = task(name)
        store.append([replace(kernel("right 2", 3.0), problem_key=asked.problem.key)])
    words = ["right 4", "wrong", "right 2", "right 1"]
    answers = [sampled(block(one)) for one in words]
    found = one_step(
        save_tiny(tmp_path / "model"), tmp_path, answers, method="kernel_smith", group_size=4
    )
    gains = [2.0, 0.0, 1.0, 0.5]
    assert [one.credit for one in found.records if one.stage == "grpo"] == gains
    assert found.advantages == pytest.approx([one - fmean(gains) for one in gains], abs=1e-6)
