"""The starter suite as problems: those blueprints that passed admission, and only those."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from data.starter.blueprint import Blueprint
from data.starter.families import blueprints
from envs.types import Problem

ADMISSION_FILE = Path(__file__).with_name("admission.json")


class StaleAdmissionError(RuntimeError):
    """The problems changed after they were admitted."""


@lru_cache
def admitted() -> tuple[tuple[Blueprint, Problem, bool], ...]:
    """(blueprint, problem, held out?) of every admitted family.

    Raises StaleAdmissionError if a problem is not the one that was tested.
    """
    rows = {row["problem"]: row for row in json.loads(ADMISSION_FILE.read_text())}
    kept = []
    for blueprint, held_out in blueprints():
        problem = blueprint.problem()
        row = rows.get(problem.name)
        if row is None or row["key"] != problem.key:
            raise StaleAdmissionError(
                f"{problem.name} was never admitted: run `python -m scripts.admit`"
            )
        if not row["accepted"]:
            kept.append((blueprint, problem, held_out))
    return tuple(kept)


def load_starter(split: str) -> tuple[Problem, ...]:
    """The problems of a split: `train`, `held_out`, or '' for all."""
    wanted = {"train": (False,), "held_out": (True,), "": (False, True)}[split]
    return tuple(problem for _, problem, held_out in admitted() if held_out in wanted)
