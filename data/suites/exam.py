"""The exam: modules written by hand in many styles, from no template or generator, as problems.

It measures how far training on generated problems carries over, so nothing is trained on it.
"""

from __future__ import annotations

from pathlib import Path

from kernelwright.data.suites.check import as_admitted, read_admissions
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.types import Problem

FOLDER = Path(__file__).parents[1] / "exam"
ADMISSION_FILE = Path(__file__).with_name("exam_admission.json")
CATEGORIES = tuple(sorted(one.name for one in FOLDER.iterdir() if any(one.glob("*.py"))))


def written(category: str = "") -> tuple[Problem, ...]:
    """Every problem file of a category, or of all, whether it was admitted or not."""
    paths = sorted(FOLDER.glob(f"{category or '*'}/*.py"))
    return tuple(load_problem(path, level=path.parent.name) for path in paths)


def load_exam(category: str = "") -> tuple[Problem, ...]:
    """The admitted problems of a category, or of all.

    Raises StaleAdmissionError if a problem is not the one that was checked: `python -m
    scripts.admit exam` checks all of them again.
    """
    admissions = read_admissions(ADMISSION_FILE)
    found = (as_admitted(problem, admissions) for problem in written(category))
    return tuple(problem for problem in found if problem is not None)
