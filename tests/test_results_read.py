"""A results folder of KernelBench is read back: its own verdicts stand beside the judge's."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.runs.records import read_records
from kernelwright.data.suites.load import load_suite
from kernelwright.envs.judged import Response
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.envs.types import Case, Evaluation, Problem, Task, Verdict
from kernelwright.evals.evaluate.answers import Answer, AnswersError, Stored, place_of
from kernelwright.evals.evaluate.eval_results import (
    FILE,
    read_levels,
    said_correct,
    write_eval_results,
    write_levels,
)
from kernelwright.evals.evaluate.stored import evaluate_answers, show_levels
from kernelwright.evals.numbers.summary import read_summary
from tests.nouns import CODE, correct, record, timing, verdict
from tests.stored_answers import write_answers, write_suite

EVALUATIONS = st.one_of(
    st.sampled_from(Verdict).map(verdict),
    st.builds(timing, st.integers(1, 10**6), st.integers(1, 10**6)).map(correct),
)
JUDGED = st.dictionaries(
    st.tuples(st.integers(1, 4), st.integers(1, 9), st.integers(0, 3)), EVALUATIONS, min_size=1
)


def answer(level: int, number: int, sample: int) -> Answer:
    case = Case(name="time", sizes=())
    problem = Problem(name=f"level{level}/{number}_P", code=CODE, cases=(case,))
    task = Task(problem=problem, dialect="inline")
    response = Response(task=task, row=0, prompt="", completion="x", source="x")
    return Answer(file="f", sample=sample, response=response)


def texts(paths: Sequence[Path], root: Path) -> dict[str, str]:
    return {str(one.relative_to(root)): one.read_text() for one in paths}


@given(JUDGED)
def test_results_that_are_read_and_written_again_are_the_same_files(
    judged: dict[tuple[int, int, int], Evaluation],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        first, second = Path(name, "first"), Path(name, "second")
        answers = [(answer(*at), one) for at, one in judged.items()]
        written = write_eval_results(first, answers)
        levels = {level for level, _, _ in judged}
        known = {at for at, one in judged.items() if one.verdict is not Verdict.UNJUDGED}
        if len(levels) > 1 and len({level for level, _, _ in known}) == 1:
            return  # its file says no level then, and several are asked for
        found = read_levels(first, levels)
        assert texts(write_levels(second, found), second) == texts(written, first)
        assert said_correct(found) == {at: judged[at].verdict is Verdict.CORRECT for at in known}


@pytest.mark.parametrize(
    "samples",
    [
        [{"sample_id": 0, "correctness": True}],
        {"sample_id": 0, "correctness": True},
        {"0": {"sample_id": 0, "correctness": True}},
    ],
)
def test_earlier_forms_of_the_file_are_read(samples: Any, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps({"7": samples}))
    assert said_correct(read_levels(tmp_path, {2})) == {(2, 7, 0): True}
    assert read_levels(tmp_path, {1, 2}) == {}, "of which of them is it?"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "[" * 100_000,
        '{"one": []}',
        '{"1": 3}',
        '{"1": [3]}',
        '{"1": [{"sample_id": "0", "correctness": true}]}',
        '{"1": [{"sample_id": 0, "correctness": 1}]}',
    ],
)
def test_a_damaged_file_is_one_line_that_names_it(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(AnswersError, match=rf"{FILE}: not KernelBench's results") as raised:
        read_levels(tmp_path, {1})
    assert len(str(raised.value).splitlines()) == 1


def test_a_record_knows_its_answers_place_and_a_models_has_none() -> None:
    name = "(a stored answer: level_2_problem_13_sample_4_kernel.py)"
    assert place_of(record("eval", prompt=name)) == (2, 13, 4)
    assert place_of(record("eval", prompt="write a kernel")) is None


@pytest.mark.sandbox
def test_a_results_folder_becomes_records_and_its_own_verdicts_stand_beside_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"level_1_problem_1_sample_{n}_kernel.{end}" for n, end in enumerate(("py", "cpp"))]
    answers = write_answers(tmp_path / "run", names)
    rows = [{"sample_id": n, "compiled": True, "correctness": True} for n in range(2)]
    (answers / FILE).write_text(json.dumps({"1": rows}))
    suite = load_suite(f"kernelbench:{write_suite(tmp_path / 'suite')}?levels=1")
    judges, out = partial(open_judge, 1), tmp_path / "out"
    evaluate_answers(Stored(answers), suite, out, {}, judges=judges)
    show_levels(out, suite, answers)
    (level,) = read_summary(out)["levels"]
    assert level["stored_results"] == {"n": 2, "correct": 2, "only_theirs": 1, "only_ours": 0}
    said = capsys.readouterr().out
    assert "eval_results.json: correct 100.0 % of 2 · only there 1 · only here 0" in said
    assert "eval_results.json: correct" in (out / "report.html").read_text()
    verdicts = {place_of(one): one.evaluation.verdict for one in read_records(out)}
    ours = said_correct(read_levels(out, {1}))
    assert ours == {at: one is Verdict.CORRECT for at, one in verdicts.items()}
    for path in out.glob(FILE):  # exported, it is a results folder again
        (answers / FILE).write_bytes(path.read_bytes())
    evaluate_answers(Stored(answers), suite, tmp_path / "again", {}, judges=judges)
    show_levels(tmp_path / "again", suite, answers)
    (level,) = read_summary(tmp_path / "again")["levels"]
    assert level["stored_results"] == {"n": 2, "correct": 1, "only_theirs": 0, "only_ours": 0}
