"""What is written can be read back: the nouns through JSON, one line each."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.envs.codec import from_plain, to_json
from kernelwright.envs.dialects import NAMES
from kernelwright.envs.types import Candidate, Dialect, Evaluation, Problem, Record
from tests import nouns


def plain(noun: Any) -> Any:
    line = to_json(noun)
    assert "\n" not in line
    return json.loads(line)


@settings(deadline=None)  # the first of a kind builds its reader
@given(nouns.PROBLEMS)
def test_a_problem_survives_the_wire(problem: Problem) -> None:
    assert from_plain(Problem, plain(problem)) == problem


@settings(deadline=None)  # the first of a kind builds its reader
@given(nouns.EVALUATIONS)
def test_an_evaluation_survives_the_wire(evaluation: Evaluation) -> None:
    assert from_plain(Evaluation, plain(evaluation)) == evaluation


@settings(deadline=None)  # the first of a kind builds its reader
@given(nouns.RECORDS)
def test_a_record_survives_the_wire(record: Record) -> None:
    assert from_plain(Record, plain(record)) == record


@settings(deadline=None)  # the first of a kind builds its reader
@given(st.text(), st.sampled_from(NAMES))
def test_a_candidate_survives_the_wire_byte_for_byte(source: str, dialect: Dialect) -> None:
    candidate = Candidate(problem_key="k", dialect=dialect, source=source)
    assert from_plain(Candidate, plain(candidate)) == candidate
