"""The starter suite as problems: those blueprints that passed admission, and only those."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from kernelwright.data.factory.blueprint import Blueprint
from kernelwright.data.factory.families import blueprints
from kernelwright.data.factory.gpu_sizes import gpu_problem
from kernelwright.data.factory.split import half_of, is_held_out
from kernelwright.data.suites.check import as_admitted, read_admissions
from kernelwright.envs.reference.admitted import with_kept
from kernelwright.envs.reference.module_facts import ours
from kernelwright.envs.types import Problem

ADMISSION_FILE = Path(__file__).with_name("starter_admission.json")
SPLITS = ("train", "sft", "rl", "held_out")
"""`sft` and `rl` are the two halves of `train`: to learn what RL adds, it needs problems whose
kernels were never shown."""
SIZES: Mapping[str, Callable[[Blueprint], Problem]] = {
    "cpu": Blueprint.problem,
    "gpu": gpu_problem,
}
"""Sizes that candidates are timed on: for a core, or for a GPU (data/factory/gpu_sizes.py)."""
USUAL = "cpu"


@lru_cache
def admitted(sizes: str = USUAL) -> tuple[tuple[Blueprint, Problem], ...]:
    """(blueprint, problem) of every admitted family, timed on these sizes: one of SIZES.

    A problem is admitted at the usual sizes, on which it is checked at all others. Each has the
    cases that its admission keeps, at the sizes that it is timed on.
    Raises StaleAdmissionError if a problem is not the one that was checked: `python -m
    scripts.admit` checks all of them again.
    """
    admissions = read_admissions(ADMISSION_FILE)
    rows = [(one, as_admitted(one.problem(), admissions)) for one in blueprints()]
    found = tuple(
        (blueprint, with_kept(SIZES[sizes](blueprint), admissions[problem.name].kept))
        for blueprint, problem in rows
        if problem is not None
    )
    ours(problem for _, problem in found)
    return found


def splits_of(blueprint: Blueprint) -> tuple[str, ...]:
    """The splits that a family is in."""
    return ("held_out",) if is_held_out(blueprint) else ("train", half_of(blueprint))


def in_split(split: str, sizes: str = USUAL) -> list[tuple[Blueprint, Problem]]:
    """(blueprint, problem) of each family of a split: one of SPLITS, or '' for all."""
    return [row for row in admitted(sizes) if not split or split in splits_of(row[0])]


def load_starter(split: str, sizes: str = USUAL) -> tuple[Problem, ...]:
    """The problems of a split: one of SPLITS, or '' for all. Raises ValueError for other sizes."""
    if sizes not in SIZES:
        raise ValueError(f"sizes={sizes} is neither of {', '.join(SIZES)}")
    return tuple(problem for _, problem in in_split(split, sizes))


def dropped_operations() -> dict[str, list[str]]:
    """Problem key → its code less one operation each, of every family at all sizes."""
    jobs = (job(one, sizes) for one in blueprints() for sizes in SIZES)
    return {problem.key: codes for problem, codes in jobs}


def job(blueprint: Blueprint, sizes: str = USUAL) -> tuple[Problem, list[str]]:
    """A blueprint's problem, and its code less one operation each."""
    return SIZES[sizes](blueprint), [blueprint.code(expression) for expression in blueprint.dropped]
