"""The starter suite as problems: those blueprints that passed admission, and only those."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from kernelwright.data.starter.blueprint import Blueprint
from kernelwright.data.starter.families import blueprints
from kernelwright.data.starter.split import half_of, is_held_out
from kernelwright.data.suite_check import is_admitted, read_admissions
from kernelwright.envs.reference.asked import ours
from kernelwright.envs.types import Problem

ADMISSION_FILE = Path(__file__).with_name("admission.json")
SPLITS = ("train", "sft", "rl", "held_out")
"""`sft` and `rl` are the two halves of `train`: to learn what RL adds, it needs problems whose
kernels were never shown."""


@lru_cache
def admitted() -> tuple[tuple[Blueprint, Problem], ...]:
    """(blueprint, problem) of every admitted family.

    Raises StaleAdmissionError if a problem is not the one that was checked: `python -m
    scripts.admit` checks all of them again.
    """
    admissions = read_admissions(ADMISSION_FILE)
    rows = ((blueprint, blueprint.problem()) for blueprint in blueprints())
    found = tuple(row for row in rows if is_admitted(row[1], admissions))
    ours(problem for _, problem in found)
    return found


def splits_of(blueprint: Blueprint) -> tuple[str, ...]:
    """The splits that a family is in."""
    return ("held_out",) if is_held_out(blueprint) else ("train", half_of(blueprint))


def in_split(split: str) -> list[tuple[Blueprint, Problem]]:
    """(blueprint, problem) of each family of a split: one of SPLITS, or '' for all."""
    return [row for row in admitted() if not split or split in splits_of(row[0])]


def load_starter(split: str) -> tuple[Problem, ...]:
    """The problems of a split: one of SPLITS, or '' for all."""
    return tuple(problem for _, problem in in_split(split))


def dropped_operations() -> dict[str, list[str]]:
    """Problem key → its code less one operation each, of every family."""
    return {problem.key: codes for problem, codes in map(job, blueprints())}


def job(blueprint: Blueprint) -> tuple[Problem, list[str]]:
    """A blueprint's problem, and its code less one operation each."""
    return blueprint.problem(), [blueprint.code(expression) for expression in blueprint.dropped]
