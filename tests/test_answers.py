"""Stored answers in KernelBench's layout: judged, counted by level, written in its format."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.runs.records import RecordStore, read_records
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.data.suites.load import load_suite
from kernelwright.envs.reference.distributions import AS_MADE
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.envs.types import Dialect, Problem, Record, Verdict
from kernelwright.evals.evaluate.answers import AnswersError, Stored, guess_dialect, read_answers
from kernelwright.evals.evaluate.kernelbench_protocol import (
    DIFFERENCES,
    SPEED_DIFFERENCES,
    official,
    read_opinions,
)
from kernelwright.evals.evaluate.model import Attempt, EvalError
from kernelwright.evals.evaluate.stored import (
    _question,
    ask_kernelbench,
    evaluate_answers,
    show_levels,
)
from kernelwright.evals.numbers.summary import read_summary
from tests.stored_answers import ANSWERS, INLINE_SHIFT, write_answers, write_suite

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Done:
    suite: Path
    answers: Path
    out: Path
    printed: str

    def records(self) -> dict[str, Record]:
        """By name of the answer's file."""
        return {one.prompt.split(": ")[1][:-1]: one for one in read_records(self.out)}

    def json(self, name: str) -> Any:
        return json.loads((self.out / name).read_text())


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The whole command, once, as a user runs it."""
    root = tmp_path_factory.mktemp("answers")
    suite, answers, out = write_suite(root / "suite"), write_answers(root / "run"), root / "out"
    ran = command(
        "--answers",
        answers,
        "--suite",
        f"kernelbench:{suite}",
        "--out",
        out,
        "--protocol",
        "kernelbench",
    )
    assert ran.returncode == 0, ran.stderr
    return Done(suite, answers, out, ran.stdout)


def command(*words: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "kernelwright", "eval", *map(str, words)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_answer_is_judged_in_the_dialect_of_its_file(done: Done) -> None:
    records = done.records()
    assert {name: one.evaluation.verdict.value for name, one in records.items()} == {
        "level_1_problem_1_sample_0_kernel.py": "correct",
        "level_1_problem_1_sample_1_kernel.cpp": "wrong",
        "level_1_problem_1_sample_2_kernel.cpp": "build_failed",
        "level_1_problem_1_sample_3_kernel.py": "no_kernel",
        "level_1_problem_2_sample_0_kernel.cpp": "correct",
        "level_2_problem_1_sample_0_kernel.cpp": "correct",
        "level_2_problem_2_sample_0_kernel.cpp": "correct",
    }
    assert records["level_1_problem_1_sample_0_kernel.py"].dialect == "inline"
    assert all(one.source == ANSWERS[name] for name, one in records.items() if one.source)


def test_what_was_not_judged_is_said(done: Done) -> None:
    assert "left out 1 of 8 answers: their problems are not in the suite" in done.printed


def test_a_level_has_its_row(done: Done) -> None:
    first, second = done.json("summary.json")["levels"]
    assert (first["level"], first["n"], first["compiled"], first["correct"]) == (1, 5, 3, 2)
    assert (second["level"], second["n"], second["compiled"], second["correct"]) == (2, 2, 2, 2)
    assert list(first["fast"]) == ["0", "0.5", "0.8", "1", "1.5", "2"]
    assert first["fast"]["0"] == 2 / 5
    shares = list(second["fast"].values())
    assert shares == sorted(shares, reverse=True)
    assert first["pass_at_k"] == {"1": pytest.approx((1 / 4 + 1) / 2), "2": 0.5, "4": 1.0}
    lines = [line for line in done.printed.splitlines() if line.startswith("level ")]
    counts = "level 1 · problems 2 · samples 5 · unjudged 0 · unsupported 0 · compiled 60.0 %"
    assert lines[0].startswith(counts)
    assert "fast_0.5" in lines[0]


def test_results_are_in_kernelbenchs_format_a_file_for_each_level(done: Done) -> None:
    first, second = (done.json(f"level_{level}/eval_results.json") for level in (1, 2))
    assert {number: len(rows) for number, rows in first.items()} == {"1": 4, "2": 1}
    assert set(second) == {"1", "2"}
    good, sloppy, broken, empty = first["1"]
    keys = {"sample_id", "compiled", "correctness", "metadata", "runtime", "runtime_stats"}
    assert all(set(row) == keys for row in (good, sloppy, broken, empty))
    assert [row["sample_id"] for row in first["1"]] == [0, 1, 2, 3]
    assert [row["compiled"] for row in first["1"]] == [True, True, False, False]
    assert [row["correctness"] for row in first["1"]] == [True, False, False, False]
    assert not any(row["runtime"] > 0 for row in first["1"][1:])
    if good["runtime"] > 0:  # a module as quick as this may have no speed
        assert good["runtime_stats"]["min"] <= good["runtime"] <= good["runtime_stats"]["max"]


def test_kernelbenchs_rule_is_a_second_opinion_and_changes_no_verdict(done: Done) -> None:
    opinions = read_opinions(done.out)
    said = {name: opinions[one.row] for name, one in done.records().items()}
    assert said == {
        "level_1_problem_1_sample_0_kernel.py": True,
        "level_1_problem_1_sample_1_kernel.cpp": True,  # within 1e-4, beyond rounding
        "level_1_problem_1_sample_2_kernel.cpp": False,
        "level_1_problem_1_sample_3_kernel.py": False,
        "level_1_problem_2_sample_0_kernel.cpp": False,  # it normalises as in evaluation mode
        "level_2_problem_1_sample_0_kernel.cpp": True,
        "level_2_problem_2_sample_0_kernel.cpp": None,  # random in training mode
    }
    first, second = done.json("summary.json")["levels"]
    assert first["kernelbench"] == {"n": 5, "correct": 2, "only_theirs": 1, "only_ours": 1}
    assert second["kernelbench"] == {"n": 1, "correct": 1, "only_theirs": 0, "only_ours": 0}
    assert len(read_records(done.out)) == 7
    assert (
        "KernelBench's rule: correct 40.0 % of 5 · only by its rule 1 · only by ours 1"
        in done.printed
    )


def test_every_difference_from_kernelbench_is_printed_kept_and_in_the_docs(done: Done) -> None:
    page = (Path(__file__).parents[1] / "docs" / "kernelbench.md").read_text(encoding="utf-8")
    assert done.json("summary.json")["kernelbench_differences"] == list(DIFFERENCES)
    assert all(f"- {one}" in done.printed for one in DIFFERENCES)
    assert all(f"- {one}\n" in page for one in (*DIFFERENCES, *SPEED_DIFFERENCES))


def test_its_rule_is_five_rounds_of_the_written_sizes(done: Done) -> None:
    kept = read_records(done.out / "protocol-kernelbench")
    (good,) = [one for one in kept if one.row == 0]
    assert good.evaluation.check is not None
    rounds = [one.case for one in good.evaluation.check.rounds]
    assert rounds == ["time"] * 6, "its five, and the one on inputs of the candidate's own"
    problem = load_problem(done.suite / "level1" / "1_Shift.py")
    assert official(problem).cases == (replace(problem.timed_case(), distribution=AS_MADE),)


@pytest.mark.slow
def test_an_interrupted_evaluation_ends_with_every_answer_once(done: Done, tmp_path: Path) -> None:
    names = [name for name in ANSWERS if name.startswith("level_1_problem_1")]
    answers = write_answers(tmp_path / "run", names)
    suite = load_suite(f"kernelbench:{done.suite}?levels=1&ids=1")
    out, stored = tmp_path / "out", Stored(answers)
    evaluate_answers(stored, suite, out, {}, judges=partial(open_judge, 1))
    whole = (out / "records.jsonl").read_text().splitlines(keepends=True)
    (out / "records.jsonl").write_text("".join(whole[1:]) + whole[0][:40])
    with pytest.raises(EvalError, match="is not empty: --resume"):
        evaluate_answers(stored, suite, out, {}, judges=partial(open_judge, 1))
    evaluate_answers(stored, suite, out, {}, judges=partial(open_judge, 1), resume=True)
    assert sorted(one.row for one in read_records(out)) == [0, 1, 2, 3]
    (first, *_) = read_records(out)
    lost = replace(first.evaluation, verdict=Verdict.UNJUDGED, reason="device_full")
    RecordStore(out).void([first])
    RecordStore(out).append([replace(first, evaluation=lost, reward=None)])
    evaluate_answers(stored, suite, out, {}, judges=partial(open_judge, 1), resume=True)
    known = {one.row: one.evaluation.verdict for one in read_records(out)}
    assert known[first.row] is first.evaluation.verdict, "what had no verdict is judged again"
    assert set(json.loads((out / "eval_results.json").read_text())) == {"1"}
    (answers / names[1]).write_text(ANSWERS[names[1]] + "\n")
    with pytest.raises(EvalError, match="asked another question: files changed"):
        evaluate_answers(
            Stored(answers), suite, out, {}, judges=partial(open_judge, 1), resume=True
        )


@pytest.mark.parametrize("first", [True, False])
def test_an_evaluation_is_not_gone_on_with_under_another_rule(first: bool, tmp_path: Path) -> None:
    answers, file = write_answers(tmp_path / "run"), tmp_path / "out" / "eval.json"
    suite = load_suite(f"kernelbench:{write_suite(tmp_path / 'suite')}")
    before, after = (
        Attempt(file, _question(Stored(answers, torch_allowed=rule), suite, [], {}))
        for rule in (first, not first)
    )
    before.open(resume=False)
    before.save()
    with pytest.raises(EvalError, match="asked another question: torch_allowed changed"):
        after.open(resume=True)
    before.open(resume=True)
    older = json.loads(file.read_text())
    del older["question"]["torch_allowed"]
    file.write_text(json.dumps(older))
    (after if first else before).open(resume=True)


def test_a_second_opinion_is_asked_once(done: Done) -> None:
    kept = (done.out / "protocol-kernelbench" / "records.jsonl").read_bytes()
    suite = load_suite(f"kernelbench:{done.suite}")
    ask_kernelbench(done.out, suite, judges=partial(open_judge, 1))
    show_levels(done.out, suite)
    assert (done.out / "protocol-kernelbench" / "records.jsonl").read_bytes() == kept


@pytest.mark.parametrize(
    ("source", "dialect"),
    [
        ("from torch.utils.cpp_extension import load_inline", "inline"),
        ("import triton\n\n@triton.jit\ndef f(): pass", "triton"),
        ("from triton import jit\n@jit\ndef f(): pass", "triton"),
    ],
)
def test_a_python_file_says_what_it_is_in(tmp_path: Path, source: str, dialect: Dialect) -> None:
    path = tmp_path / "level_1_problem_1_sample_0_kernel.py"
    path.write_text(source)
    assert guess_dialect(path) is dialect


def test_a_file_that_says_two_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "level_1_problem_1_sample_0_kernel.py"
    path.write_text("@triton.jit\ndef f(): load_inline()")
    with pytest.raises(AnswersError, match=f"{path}: it looks like inline and triton; .*--dialect"):
        guess_dialect(path)


def test_an_answer_in_pytorch_alone_is_an_answer_like_others(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for sample, text in enumerate(("class ModelNew: pass", INLINE_SHIFT, "")):
        (folder / f"level_1_problem_1_sample_{sample}_kernel.py").write_text(text)
    found, notes = read_answers(Stored(folder), problems(tmp_path / "suite"))
    assert [one.response.task.dialect for one in found] == ["inline"] * 3
    assert notes[0] == (
        "1 answers name no language, judged as inline: level_1_problem_1_sample_0_kernel.py"
    )


def test_a_file_whose_name_says_no_problem_is_left_out_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    named = ("level_1_problem_1_sample_0_kernel.cpp", "level1_problem_1_sample_1_kernel.cpp")
    for name in (*named, "eval_results.json", "level_1_problem_1_sample_0_prompt.txt"):
        (folder / name).write_text("int x;")
    found, notes = read_answers(Stored(folder), problems(tmp_path / "suite"))
    assert [one.file for one in found] == [named[0]]
    assert notes[-1].startswith("left out 1 files that are not named as level_1_problem_1_sample_0")
    assert notes[-1].endswith(f": {named[1]}")


def problems(root: Path) -> tuple[Problem, ...]:
    return load_suite(f"kernelbench:{write_suite(root)}").problems


def test_a_dialect_that_is_named_is_taken_for_every_file(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "level_1_problem_1_sample_0_kernel.py").write_text("class ModelNew: pass")
    found, notes = read_answers(Stored(folder, "inline"), problems(tmp_path / "suite"))
    assert [one.response.task.dialect for one in found] == ["inline"]
    assert notes[0].startswith("3 of 4 problems have no answer: level1/2_Norm, ")


def test_a_summary_is_printed_as_one_json_object(done: Done) -> None:
    words = ("--answers", done.answers, "--suite", f"kernelbench:{done.suite}", "--out", done.out)
    ran = command(*words, "--resume", "--json")
    told = json.loads(ran.stdout)
    assert told == {"folder": str(done.out), **read_summary(done.out)}
    assert told["levels"]
    assert "level" in ran.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--suite", "starter"), "eval takes a model or --answers FOLDER: one of the two"),
        (("m", "--suite", "starter", "--protocol", "kernelbench"), "needs a suite in its layout"),
        (("--answers", "/no/such", "--suite", "starter"), "no folder /no/such"),
        (("--answers", ".", "--suite", "starter"), "answers are to a suite in KernelBench's"),
        (("m", "--suite", "starter", "--write-only", "--ray", "auto"), "--write-only judges no"),
        (
            ("m", "--suite", "starter", "--ray", "auto", "--baseline", "max-autotune"),
            "'max-autotune' is measured on this machine, and --ray has kernels timed on others",
        ),
    ],
)
def test_wrong_use_is_one_line(words: tuple[str, ...], says: str) -> None:
    ran = command(*words)
    assert ran.returncode == 2
    assert says in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
