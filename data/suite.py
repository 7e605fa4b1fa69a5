"""Problems by one spec string: `starter:train`, `kernelbench:FOLDER?levels=1,2`, …"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

from data.kernelbench import load_folder
from data.starter.suite import dropped_operations, load_starter
from data.suite_check import Job, is_admitted, read_admissions
from envs.types import Problem


class SuiteError(ValueError):
    """A spec that names no suite; says what it could have been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Problems under the spec they were asked for by."""

    spec: str
    problems: tuple[Problem, ...]

    def __post_init__(self) -> None:
        if not self.problems:
            raise SuiteError(f"suite {self.spec!r} has no problems")

    def by_key(self) -> dict[str, Problem]:
        return {problem.key: problem for problem in self.problems}


def load_suite(spec: str) -> Suite:
    """The suite a spec names.

    `starter`, `starter:train`, `starter:held_out`; or `kernelbench:FOLDER`, a folder in the
    official layout (`level1/1_Name.py`, …), with `?levels=1,2&ids=1,3-5&scale=0.1` to choose and to
    shrink, and `admission=FILE` to leave out what `kernelwright suite check` refused.
    """
    kind, _, rest = spec.partition(":")
    if kind == "starter" and rest in ("", "train", "held_out"):
        return Suite(spec=spec, problems=load_starter(rest))
    if kind == "kernelbench" and rest:
        folder, _, query = rest.partition("?")
        options = dict(parse_qsl(query, keep_blank_values=True))
        unknown = set(options) - {"levels", "ids", "scale", "admission"}
        if unknown:
            names = ", ".join(sorted(unknown))
            raise SuiteError(f"{spec}: no option {names}; levels, ids, scale, admission")
        try:
            return Suite(spec=spec, problems=_kernelbench(folder, **options))
        except (ValueError, OSError) as error:
            raise SuiteError(f"{spec}: {error}") from None
    raise SuiteError(
        f"no suite {spec!r}; there are: starter, starter:train, starter:held_out, "
        "kernelbench:FOLDER[?levels=1,2&ids=1,3-5&scale=0.1&admission=FILE]"
    )


def jobs_of(suite: Suite) -> list[Job]:
    """What there is to check of a suite: each problem, with the operations it can do without."""
    dropped = dropped_operations()
    return [(problem, dropped.get(problem.key, ())) for problem in suite.problems]


def _kernelbench(folder: str, admission: str = "", **options: str) -> tuple[Problem, ...]:
    problems = load_folder(folder, **options)
    if not admission:
        return problems
    admissions = read_admissions(Path(admission))
    return tuple(problem for problem in problems if is_admitted(problem, admissions))
