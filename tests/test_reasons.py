"""Every verdict says whose fault it was, and `unjudged` is nobody's who answered."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.data.gallery.exhibits import FOLDER
from kernelwright.envs.dialects.base import unsupported
from kernelwright.envs.referee.exit_codes import EMULATED_EXITS, EXITS, REPLAY_EXITS
from kernelwright.envs.referee.reasons import (
    FAILED_CASES,
    FAMILIES,
    LOG_CHARACTERS,
    UNJUDGED_SIDES,
    WORDS,
    Side,
    fault,
    side_of,
    what_is_wrong,
)
from kernelwright.envs.types import UNSUPPORTED, CaseCheck, Check, Evaluation, Verdict

ROOT = Path(__file__).parents[1]
GIVERS = (
    "failed",
    "CandidateFailedError",
    "unjudged",
    "_unjudged",
    "decided",
    "Evaluation",
    "_fail",
)
"""What is called with a reason, and the verdict where it is not a build that failed."""


def given() -> Iterator[tuple[str, str | None]]:
    """(reason, the verdict beside it) of each call in the judge's code that states them."""
    for path in [*(ROOT / "envs").rglob("*.py"), ROOT / "rl" / "rollout" / "player.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) in GIVERS:
                words = [*node.args, *(k.value for k in node.keywords)]
                texts = [one.value for one in words if isinstance(one, ast.Constant)]
                codes = [one for one in texts if isinstance(one, str) and side_of(one)]
                verdicts = [name for one in words if (name := _verdict(one))]
                for code in codes[:1]:
                    yield code, verdicts[0] if verdicts else None


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _verdict(node: ast.expr) -> str | None:
    """The name of a verdict where one is written."""
    named = isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "Verdict"
    return node.attr if named and isinstance(node, ast.Attribute) else None


GIVEN = sorted(set(given()), key=str)


def test_every_reason_that_is_given_is_explained_and_every_explained_one_is_given() -> None:
    stated = {code for code, _ in GIVEN}
    stated |= {
        code for _, code in [*EXITS.values(), *EMULATED_EXITS.values(), *REPLAY_EXITS.values()]
    }
    source = "".join(path.read_text() for path in (ROOT / "envs").rglob("*.py"))
    source += (ROOT / "rl" / "rollout" / "player.py").read_text()
    explained = {code for known in WORDS.values() for code in known}
    assert {one for one in stated if not one.startswith(UNSUPPORTED)} <= explained
    elsewhere = (ROOT / "envs" / "referee" / "reasons.py").read_text()
    unused = {
        code for code in explained if source.count(f'"{code}"') <= elsewhere.count(f'"{code}"')
    }
    assert not unused


@pytest.mark.parametrize(("code", "verdict"), GIVEN)
def test_unjudged_is_what_no_answer_is_at_fault_for_and_nothing_else(
    code: str, verdict: str | None
) -> None:
    found = side_of(code)
    assert found is not None
    if verdict is not None:
        assert (verdict == "UNJUDGED") == (found[0] in UNJUDGED_SIDES)
    elif found[0] in UNJUDGED_SIDES:
        assert code in ("worker_lost", "candidate_deadline", "batch_deadline")


def test_no_reason_stands_on_two_sides() -> None:
    codes = [code for known in WORDS.values() for code in known]
    assert len(codes) == len(set(codes))
    assert not any(code.startswith(tuple(FAMILIES)) for code in codes)


def test_every_exhibit_is_stopped_for_a_reason_that_is_its_own() -> None:
    for path in (FOLDER / "exploits").rglob("*.cpp"):
        words = path.read_text().partition("\n")[0].split()
        if words[2:3] != ["correct"] and words[1:2] == ["verdict:"]:
            found = side_of(words[3])
            assert found is not None, path
            assert found[0] is Side.ANSWER, path


def test_a_limit_of_ours_is_named_never_unjudged_and_counts_as_a_failure() -> None:
    found = unsupported("cudaGraphLaunch", "the log")
    assert (found.verdict, found.is_unsupported) == (Verdict.BUILD_FAILED, True)
    assert fault(found) == "a limit of the judge: cudaGraphLaunch is not supported"
    assert not Evaluation(verdict=Verdict.BUILD_FAILED, reason="compile_error").is_unsupported
    assert side_of(UNSUPPORTED + "x") == (Side.LIMIT, "x is not supported")


def test_of_what_no_judge_of_this_version_says_nothing_is_told() -> None:
    assert fault(Evaluation(verdict=Verdict.WRONG, reason="of_another_time")) is None


def failed(log: str, *cases: CaseCheck) -> list[str]:
    said = Evaluation(verdict=Verdict.WRONG, reason="mismatch", check=Check(rounds=cases), log=log)
    return what_is_wrong(said).splitlines()


def test_what_is_wrong_is_the_fault_the_cases_that_failed_and_the_log() -> None:
    odd = CaseCheck(case="odd", passed=False, error=7.0, note="out: 3% of values are off")
    assert failed("a log\n", CaseCheck(case="small", passed=True, error=0.5), odd) == [
        "the answer: an output is not what the module computes",
        "case odd: out: 3% of values are off",
        "a log",
    ]


def test_what_is_wrong_has_the_first_cases_and_both_ends_of_a_log() -> None:
    cases = [CaseCheck(case=f"c{n}", passed=False, error=7.0 if n else None) for n in range(9)]
    said = failed("begin" + "x" * LOG_CHARACTERS + "end", *cases)
    assert said[1:3] == ["case c0: no number", "case c1: 7 times the error that is allowed"]
    assert [one[:4] for one in said].count("case") == FAILED_CASES
    assert said[-3].startswith("begin")
    assert said[-1].endswith("end")
    assert len(said[-3] + said[-1]) == LOG_CHARACTERS
