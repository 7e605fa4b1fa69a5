"""Answers that are written on one machine and judged on another are those of one evaluation."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kernelwright.commands.evaluating import _written_to
from kernelwright.data.runs.folder import EVALUATION_FILE
from kernelwright.data.runs.records import read_records
from kernelwright.data.suites.load import Suite, load_suite
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.evals.evaluate.answers import AnswersError, Stored, read_answers
from kernelwright.evals.evaluate.model import Attempt, EvalError, evaluate_model, question_of
from kernelwright.evals.evaluate.run import EvalSettings
from kernelwright.evals.evaluate.stored import evaluate_answers
from kernelwright.evals.evaluate.written import AnswerStore, write_only
from kernelwright.evals.numbers.summary import read_summary
from kernelwright.evals.numbers.unfinished import asked_how
from tests.given_kernels import SUITE

LINE = b'{"row":0,"problem":"p","problem_key":"k","dialect":"cpp","prompt":"","completion":""}\n'
WHOLE = load_suite(SUITE)
ASKED = Suite(spec=WHOLE.spec, problems=WHOLE.problems[:2])
SETTINGS = EvalSettings(
    dialect="cpp", samples=3, max_new_tokens=64, temperature=1.0, batch=2, versions={"torch": "2"}
)


def model(folder: Path) -> str:
    """One that leaves in the folder what it was asked."""
    (folder / "asked").mkdir(exist_ok=True)
    return f"tests.given_kernels:{folder / 'asked'}"


def written(folder: Path, **changed: Any) -> Path:
    return write_only(model(folder), ASKED, SETTINGS, folder / "answers", **changed)


def told(folder: Path) -> list[Any]:
    """All of the records but how long it took."""
    return [
        (
            *(one.id, one.problem_key, one.prompt, one.completion, one.source, one.versions),
            *(one.evaluation.verdict, one.evaluation.reason, one.reward is None),
        )
        for one in read_records(folder)
    ]


@pytest.mark.sandbox
def test_answers_written_first_and_judged_later_have_the_records_of_one_evaluation(
    tmp_path: Path,
) -> None:
    judges = partial(open_judge, 1)
    written(tmp_path)
    stored = Stored(tmp_path / "answers")
    evaluate_answers(stored, ASKED, tmp_path / "later", SETTINGS.versions, judges=judges)
    evaluate_model(model(tmp_path), ASKED, SETTINGS, tmp_path / "at-once", judges=judges)
    assert told(tmp_path / "later") == told(tmp_path / "at-once")
    assert len(told(tmp_path / "later")) == 6
    assert asked_how(tmp_path / "later", "measured")["temperature"] == 1.0
    later, at_once = (read_summary(tmp_path / name) for name in ("later", "at-once"))
    assert later["model"] == at_once["model"]
    kept = ("n", "correct", "correct_rate_ci")
    correct = [[one["held_out"]["measured"][name] for name in kept] for one in (later, at_once)]
    assert correct[0] == correct[1]


def test_an_interrupted_writing_asks_for_what_is_missing_alone(tmp_path: Path) -> None:
    path = written(tmp_path)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:20])
    asked = tmp_path / "asked" / "asked-0"
    asked.unlink()
    assert written(tmp_path, resume=True) == path
    assert path.read_bytes() == whole
    assert len(asked.read_text().split()) == 3


def test_a_folder_of_unjudged_answers_is_no_evaluation_to_go_on_with(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(EvalError, match="asked another question: judged changed"):
        evaluate_model(model(tmp_path), ASKED, SETTINGS, path.parent, resume=True)
    with pytest.raises(EvalError, match="is not empty"):
        written(tmp_path)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{}\n", r"answers.jsonl:1: not an answer \(row: Field required\)"),
        (b"torn\n", "answers.jsonl:1: not an answer"),
        (LINE + LINE, "has two answers for row 0"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: bytes, says: str) -> None:
    AnswerStore(tmp_path).path.write_bytes(line)
    with pytest.raises(AnswersError, match=says):
        read_answers(Stored(tmp_path), ASKED.problems)


def test_answers_are_to_the_problems_that_they_were_written_to(tmp_path: Path) -> None:
    folder = written(tmp_path).parent
    with pytest.raises(AnswersError, match="leave out --dialect"):
        read_answers(Stored(folder, "cpp"), ASKED.problems)
    with pytest.raises(AnswersError, match="has no answer to a problem of the suite"):
        read_answers(Stored(folder), WHOLE.problems[2:4])
    found, notes = read_answers(Stored(folder), WHOLE.problems[1:3])
    assert [one.response.row for one in found] == [3, 4, 5]
    assert [one.sample for one in found] == [0, 1, 2]
    assert notes[0] == "left out 3 of 6 answers: their problems are not in the suite"
    lines = (folder / "answers.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "answers.jsonl").write_bytes(b"".join(lines[:4]))
    _, notes = read_answers(Stored(folder), WHOLE.problems[:2])
    assert notes == ["4 of 6 answers were written: --write-only --resume writes the rest"]


def test_a_suite_that_leaves_sizes_open_has_those_that_answers_were_written_to(
    tmp_path: Path,
) -> None:
    folder = written(tmp_path).parent
    question = json.loads((folder / "eval.json").read_text())
    question["question"]["suite"] = f"{SUITE}?sizes=gpu"
    (folder / "eval.json").write_text(json.dumps(question))
    assert _written_to(folder, SUITE) == f"{SUITE}?sizes=gpu"
    assert _written_to(folder, "starter:held_out") is None
    assert _written_to(tmp_path, SUITE) is None


def test_a_question_that_is_damaged_is_refused_before_anything_is_judged(tmp_path: Path) -> None:
    folder = written(tmp_path).parent
    (folder / "eval.json").write_text('{"seconds": 1}')
    with pytest.raises(ValueError, match=r"eval\.json: not what eval wrote"):
        evaluate_answers(Stored(folder), ASKED, tmp_path / "out", {})


def test_a_run_that_was_trained_on_in_between_is_another_question(tmp_path: Path) -> None:
    final, file = tmp_path / "run" / "checkpoints" / "final", tmp_path / "out" / EVALUATION_FILE
    final.mkdir(parents=True)
    (final / "adapter_config.json").write_text('{"base_model_name_or_path": "x"}')

    def attempt(weights: bytes) -> Attempt:
        (final / "adapter_model.safetensors").write_bytes(weights)
        return Attempt(file, question_of(str(tmp_path / "run"), ASKED, SETTINGS))

    first = attempt(b"1")
    first.open(resume=False)
    first.save()
    attempt(b"1").open(resume=True)
    with pytest.raises(EvalError, match=r"asked another question: weights changed$"):
        attempt(b"2").open(resume=True)
    older = json.loads(file.read_text())
    del older["question"]["weights"]
    file.write_text(json.dumps(older))
    attempt(b"2").open(resume=True)
