"""Nouns to plain JSON and back. Nothing here is ever given bytes that a candidate wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from envs.types import (
    Candidate,
    Case,
    CaseCheck,
    Check,
    Dialect,
    Evaluation,
    Problem,
    Record,
    Reward,
    Role,
    Timing,
    Tolerance,
    Trust,
    Verdict,
)


def to_plain(value: Any) -> Any:
    """Dicts, lists, strings and numbers only, ready for `json.dumps`."""
    if hasattr(value, "__dataclass_fields__"):
        return {name: to_plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {key: to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    return value.value if isinstance(value, StrEnum) else value


def to_json(noun: Any) -> str:
    """One line of JSON, all ASCII: a completion may hold half of a surrogate pair."""
    return json.dumps(to_plain(noun), separators=(",", ":"))


def problem_from_plain(plain: Mapping[str, Any]) -> Problem:
    tolerance = plain["tolerance"]
    cases = tuple(
        Case(
            name=case["name"],
            sizes=tuple((name, size) for name, size in case["sizes"]),
            distribution=case["distribution"],
            role=Role(case["role"]),
        )
        for case in plain["cases"]
    )
    rest = {key: plain[key] for key in ("name", "code", "dtype", "category", "family", "source")}
    return Problem(
        **rest,
        licence=plain["licence"],
        tags=tuple(plain["tags"]),
        cases=cases,
        tolerance=Tolerance(**tolerance) if tolerance else None,
    )


def candidate_from_plain(plain: Mapping[str, Any]) -> Candidate:
    return Candidate(
        problem_key=plain["problem_key"],
        dialect=Dialect(plain["dialect"]),
        source=plain["source"],
    )


def evaluation_from_plain(plain: Mapping[str, Any]) -> Evaluation:
    check, timing = plain["check"], plain["timing"]
    return Evaluation(
        verdict=Verdict(plain["verdict"]),
        reason=plain["reason"],
        sandbox_level=plain["sandbox_level"],
        trust=Trust(plain["trust"]),
        check=Check(rounds=tuple(CaseCheck(**one) for one in check["rounds"])) if check else None,
        timing=timing_from_plain(timing) if timing else None,
        facts=tuple((name, value) for name, value in plain["facts"]),
        binary=plain.get("binary"),  # records of earlier versions have none
        seed=plain["seed"],
        environment=plain["environment"],
        log=plain["log"],
        seconds=plain["seconds"],
    )


def timing_from_plain(plain: Mapping[str, Any]) -> Timing:
    return Timing(
        baseline_ns=tuple(plain["baseline_ns"]),
        candidate_ns=tuple(plain["candidate_ns"]),
        block=plain["block"],
    )


SINCE_ROLLOUTS = ("trajectory", "turn", "parent", "credit")
"""Fields of a record that older ones lack; they have defaults."""


def record_from_plain(plain: Mapping[str, Any]) -> Record:
    reward = plain["reward"]
    rest = {key: plain[key] for key in ("stage", "step", "row", "problem", "problem_key")}
    return Record(
        **rest,
        dialect=Dialect(plain["dialect"]),
        prompt=plain["prompt"],
        completion=plain["completion"],
        source=plain["source"],
        evaluation=evaluation_from_plain(plain["evaluation"]),
        reward=Reward(parts=reward["parts"]) if reward else None,
        exemplars=tuple(plain["exemplars"]),
        versions=plain["versions"],
        **{key: plain[key] for key in SINCE_ROLLOUTS if key in plain},
    )
