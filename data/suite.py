"""Problems by one spec string: `starter:train`, `kernelbench:FOLDER?levels=1,2`, …"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qsl

from kernelwright.data.fit import Fitted, fit, parse_bytes
from kernelwright.data.kernelbench import Choice, load_folder
from kernelwright.data.starter.suite import SPLITS, dropped_operations, load_starter
from kernelwright.data.suite_check import Job, as_admitted, read_admissions
from kernelwright.envs.hardware import memory_bytes
from kernelwright.envs.reference.admitted import without_kept
from kernelwright.envs.types import Problem

OPTIONS = {
    "starter": ("sizes",),
    "kernelbench": ("levels", "ids", "scale", "memory", "admission"),
}
"""By the kind of suite."""


class SuiteError(ValueError):
    """A spec that names no suite; says what it could have been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Problems under the spec they were asked for by; `notes` say what was left out, and why."""

    spec: str
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.problems:
            raise SuiteError(f"suite {self.spec!r} has no problems")

    def by_key(self) -> dict[str, Problem]:
        return {problem.key: problem for problem in self.problems}


def load_suite(spec: str) -> Suite:
    """The suite a spec names.

    `starter`, `starter:train` and its halves `starter:sft` and `starter:rl`, `starter:held_out`,
    each with `?sizes=gpu` to time on sizes that are worth it on a GPU; or
    `kernelbench:FOLDER`, a folder in the official layout (`level1/1_Name.py`, …), with
    `?levels=1,2&ids=1,3-5&scale=0.1` to choose and to shrink, `memory=2GB` to leave out what takes
    more to judge (else more than this machine has), and `admission=FILE` to leave out what
    `kernelwright suite check` refused.
    """
    whole, _, query = spec.partition("?")
    kind, _, rest = whole.partition(":")
    try:
        if kind == "starter" and rest in ("", *SPLITS):
            return Suite(spec=spec, problems=load_starter(rest, **_options(kind, query)))
        if kind == "kernelbench" and rest:
            fitted = _kernelbench(rest, **_options(kind, query))
            return Suite(spec=spec, problems=fitted.problems, notes=fitted.notes)
    except (ValueError, OSError) as error:
        raise SuiteError(f"{spec}: {error}") from None
    raise SuiteError(
        f"no suite {spec!r}; there are: starter, starter:train, starter:sft, starter:rl, "
        "starter:held_out, kernelbench:FOLDER[?levels=1,2&ids=1,3-5&scale=0.1&memory=2GB"
        "&admission=FILE]; on sizes for a GPU: starter:train?sizes=gpu"
    )


def jobs_of(suite: Suite) -> list[Job]:
    """What there is to check of a suite: each problem, with the operations it can do without."""
    dropped = dropped_operations()
    return [(problem, dropped.get(without_kept(problem).key, ())) for problem in suite.problems]


def _options(kind: str, query: str) -> dict[str, str]:
    """Each option once. Raises ValueError."""
    known = OPTIONS[kind]
    pairs = parse_qsl(query, keep_blank_values=True)
    names = [name for name, _ in pairs]
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"no option {', '.join(unknown)}; {', '.join(known)}")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{', '.join(twice)} is given twice")
    return dict(pairs)


def _kernelbench(folder: str, admission: str = "", memory: str = "", **options: str) -> Fitted:
    choice = Choice.of(**options)
    limit_bytes = parse_bytes(memory) if memory else memory_bytes()
    fitted = fit(load_folder(folder, choice), load_folder(folder, choice.unscaled()), limit_bytes)
    if not fitted.problems:
        raise ValueError(fitted.notes[0])
    if not admission:
        return fitted
    admissions = read_admissions(Path(admission))
    admitted = (as_admitted(one, admissions) for one in fitted.problems)
    return replace(fitted, problems=tuple(one for one in admitted if one is not None))
