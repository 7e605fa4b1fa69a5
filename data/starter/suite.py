"""The starter suite as problems: those blueprints that passed admission, and only those."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from data.starter.blueprint import Blueprint
from data.starter.families import blueprints
from data.suite_check import is_admitted, read_admissions
from envs.types import Problem

ADMISSION_FILE = Path(__file__).with_name("admission.json")


@lru_cache
def admitted() -> tuple[tuple[Blueprint, Problem, bool], ...]:
    """(blueprint, problem, held out?) of every admitted family.

    Raises StaleAdmissionError if a problem is not the one that was checked: `python -m
    scripts.admit` checks all of them again.
    """
    admissions = read_admissions(ADMISSION_FILE)
    rows = ((blueprint, blueprint.problem(), held_out) for blueprint, held_out in blueprints())
    return tuple(row for row in rows if is_admitted(row[1], admissions))


def load_starter(split: str) -> tuple[Problem, ...]:
    """The problems of a split: `train`, `held_out`, or '' for all."""
    wanted = {"train": (False,), "held_out": (True,), "": (False, True)}[split]
    return tuple(problem for _, problem, held_out in admitted() if held_out in wanted)


def dropped_operations() -> dict[str, list[str]]:
    """Problem key → its code less one operation each, of every family."""
    return {problem.key: codes for problem, codes in map(job, (one for one, _ in blueprints()))}


def job(blueprint: Blueprint) -> tuple[Problem, list[str]]:
    """A blueprint's problem, and its code less one operation each."""
    return blueprint.problem(), [blueprint.code(expression) for expression in blueprint.dropped]
