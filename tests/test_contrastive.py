"""The contrastive prompt: what it shows, when, and to whom."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.starter import load_starter
from kernelwright.data.triple import JudgedTriple, Triple
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.types import (
    CaseCheck,
    Check,
    Evaluation,
    Problem,
    Record,
    Task,
    Timing,
    Verdict,
)
from kernelwright.rl.methods.base import RunView
from kernelwright.rl.methods.contrastive import Exemplar, Exemplars, Method, Options, draw

PROBLEM = load_starter("train")[0]
TASK = Task(problem=PROBLEM, dialect="cpp")


def record(step: int, row: int, speedup: float, problem: Problem = PROBLEM) -> Record:
    return Record(
        stage="grpo",
        step=step,
        row=row,
        problem=problem.name,
        problem_key=problem.key,
        dialect="cpp",
        prompt="p",
        completion="c",
        source=f"int kernel_{step}_{row};",
        evaluation=Evaluation(
            verdict=Verdict.CORRECT,
            reason="ok",
            check=Check(rounds=(CaseCheck(case="small", passed=True, error=0.0),)),
            timing=Timing(baseline_ns=(int(1000 * speedup),) * 3, candidate_ns=(1000,) * 3),
        ),
        reward=None,
    )


def method(folder: Path, records: list[Record]) -> Method:
    store = RecordStore(folder)
    store.append(records)
    return Method(Options(), RunView(seed=0, store=store))


def known(records: list[Record]) -> Exemplars:
    found = Exemplars()
    found.add(records)
    return found


def test_a_prompt_shows_only_kernels_judged_before_its_step() -> None:
    records = [record(step, 0, 1.0 + step) for step in range(4)]
    shown = known(records).before(TASK.key, 2)
    assert [one.source for one in shown] == ["int kernel_0_0;", "int kernel_1_0;"]


def test_judged_triples_are_there_from_the_first_step_and_eval_records_never() -> None:
    triple = replace(record(0, 0, 2.0), stage="triples")
    measured = replace(record(0, 1, 3.0), stage="eval_before")
    shown = known([triple, measured]).before(TASK.key, 0)
    assert [one.speedup for one in shown] == [2.0]


def test_kernels_that_are_not_correct_or_not_timed_are_not_shown() -> None:
    untimed = replace(
        record(0, 0, 1.0), evaluation=replace(record(0, 0, 1).evaluation, timing=None)
    )
    wrong = replace(
        record(0, 1, 1.0), evaluation=Evaluation(verdict=Verdict.WRONG, reason="mismatch")
    )
    assert known([untimed, wrong]).before(TASK.key, 5) == []


@given(
    st.lists(st.floats(0.05, 50), min_size=2, max_size=12), st.integers(0, 2**32), st.floats(0.1, 2)
)
def test_the_two_come_from_different_bands_slowest_first(
    speedups: list[float], seed: int, width: float
) -> None:
    exemplars = [Exemplar(key=str(i), source="", speedup=s) for i, s in enumerate(speedups)]
    chosen = draw(exemplars, random.Random(seed), count=2, band_width=width, temperature=0.5)
    bands = {math.floor(math.log2(one.speedup) / width) for one in exemplars}
    assert len(chosen) == (2 if len(bands) > 1 else 0)
    if chosen:
        slow, fast = (math.floor(math.log2(one.speedup) / width) for one in chosen)
        assert slow < fast


def test_a_group_shares_its_prompt_and_the_next_step_may_differ(tmp_path: Path) -> None:
    asked = method(tmp_path, [record(0, row, 2.0**row) for row in range(8)])
    first, again = asked.prompt(TASK, 1), asked.prompt(TASK, 1)
    assert first == again
    assert len(first.exemplars) == 2
    assert len({asked.prompt(TASK, step).text for step in range(1, 30)}) > 1


def test_the_prompt_prints_the_measured_speedups_of_what_it_shows(tmp_path: Path) -> None:
    asked = method(tmp_path, [record(0, 0, 0.5), record(0, 1, 4.0)]).prompt(TASK, 1)
    assert "Speedup 0.50:\n```cpp\nint kernel_0_0;" in asked.text
    assert "Speedup 4.00:\n```cpp\nint kernel_0_1;" in asked.text
    assert asked.text.startswith(task_prompt(TASK))


def test_python_is_shown_and_asked_for_as_python(tmp_path: Path) -> None:
    task = replace(TASK, dialect="inline")
    shown = [replace(one, dialect="inline") for one in (record(0, 0, 0.5), record(0, 1, 4.0))]
    asked = method(tmp_path, shown).prompt(task, 1)
    assert "Speedup 0.50:\n```python\nint kernel_0_0;" in asked.text
    assert asked.text.endswith(
        "one complete module in a ```python block, with the same `ModelNew`."
    )
    assert "```cpp" not in asked.text


def test_with_fewer_than_two_bands_the_prompt_is_the_task(tmp_path: Path) -> None:
    asked = method(tmp_path, [record(0, 0, 2.0), record(0, 1, 2.0)]).prompt(TASK, 1)
    assert asked.text == task_prompt(TASK)
    assert asked.exemplars == ()


def judged(record: Record, problem: Problem, reasoning: str) -> JudgedTriple:
    """The triple that a record was made of."""
    triple = Triple(problem=problem, dialect="cpp", reasoning=reasoning, source=record.source or "")
    return JudgedTriple(triple=triple, prompt=record.prompt, evaluation=record.evaluation)


def test_sft_shows_the_prompt_with_exemplars_and_the_answer_in_three_parts(tmp_path: Path) -> None:
    slow, fast = (
        replace(
            record(0, row, speed),
            stage="triples",
            prompt=task_prompt(TASK),
            source=f"int kernel_0_{row};\n",
        )
        for row, speed in enumerate((0.5, 2.0))
    )
    other = replace(PROBLEM, tags=("other",), code=f"{PROBLEM.code}\n")
    wrong = Evaluation(verdict=Verdict.WRONG, reason="mismatch")
    triples = [
        judged(slow, PROBLEM, "Plan: way 0."),
        judged(fast, PROBLEM, "Plan: way 1."),
        judged(slow, other, "Plan: way 0."),
        judged(replace(fast, evaluation=wrong), other, "Plan: way 1."),
    ]
    found = method(tmp_path, [slow, fast]).examples(triples)
    plain = [one.triple.completion() for one in triples[:3]]
    assert [one.completion for one in found[1:]] == plain
    assert plain[1] == "Plan: way 1.\n\n```cpp\nint kernel_0_1;\n```"
    contrasted = found[0]
    assert "Speedup 0.50:" in contrasted.prompt
    assert "Speedup 2.00:" in contrasted.prompt
    assert contrasted.completion == (
        "Analysis: the last kernel is the fastest, 4.00 times as fast as the first.\n"
        "Design: Plan: way 1.\nCode:\n\n```cpp\nint kernel_0_1;\n```"
    )
