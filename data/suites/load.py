"""Problems by one spec string: `starter:train`, `kernelbench:FOLDER?levels=1,2`, …"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qsl

from kernelwright.data.suites.built import SPLITS as BUILT_SPLITS
from kernelwright.data.suites.built import built_repairs, built_triples, load_built
from kernelwright.data.suites.check import Job, as_admitted, read_admissions
from kernelwright.data.suites.exam import CATEGORIES, load_exam
from kernelwright.data.suites.half import cast
from kernelwright.data.suites.kernelbench import Choice, load_folder, load_modules, load_problem
from kernelwright.data.suites.layout import Layout, Loaded
from kernelwright.data.suites.memory_filter import fit, parse_bytes
from kernelwright.data.suites.rows import load_rows, row_triples
from kernelwright.data.suites.starter import SPLITS, dropped_operations, load_starter
from kernelwright.data.triple import Repair, Triple
from kernelwright.envs.reference.admitted import without_kept
from kernelwright.envs.system.hardware import memory_bytes
from kernelwright.envs.types import Candidate, Dialect, Problem

ANY_MEMORY = "1000000000TB"


class SuiteError(ValueError):
    """A spec that names no suite; says what it could have been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Problems under the spec they were asked for by; `notes` say what was left out, and why.
    `given` are kernels to improve on, by the problem's key."""

    spec: str
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    given: Mapping[str, Candidate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.problems:
            raise SuiteError(f"suite {self.spec!r} has no problems")

    def by_key(self) -> dict[str, Problem]:
        return {problem.key: problem for problem in self.problems}


def load_suite(spec: str) -> Suite:
    """The suite a spec names.

    `starter`, `starter:train` and its halves `starter:sft` and `starter:rl`, `starter:held_out`,
    each with `?sizes=gpu` to time on sizes that are worth it on a GPU; `exam`, modules written by
    hand, and its categories, as `exam:losses`; or
    `kernelbench:FOLDER`, a folder in the official layout (`level1/1_Name.py`, …), with
    `?levels=1,2&ids=1,3-5&scale=0.1` to choose and to shrink, `memory=2GB` to leave out what takes
    more to judge (else more than this machine has), `precision=fp16` or `bf16` to cast weights and
    inputs, and `admission=FILE` to leave out what `kernelwright suite check` refused;
    `modules:FOLDER`, every module below a folder, with `scale`, `memory`, `precision` and
    `admission` as there; `rows:FILE|FOLDER`, problems with their answers; or `data:FOLDER`, which
    `kernelwright data build` wrote, and its splits `data:FOLDER:sft`, `:rl`, `:train` and
    `:held_out`; `?speedup=1` leaves slower examples out, and `?curate=RULE` teaches one kernel of a
    problem, or few (data/suites/curate.py).
    """
    layout, rest, query = read_spec(spec)
    with _told_of(spec):
        problems, notes = layout.load(rest, **_options(layout, query))
        return Suite(spec=spec, problems=problems, notes=tuple(notes))


def load_whole(spec: str) -> Suite:
    """The suite with what is too large to be judged here, too: to know its problems elsewhere. A
    limit that the spec names holds. Raises SuiteError."""
    layout, _, query = read_spec(spec)
    if "memory" not in layout.options or "memory=" in query:
        return load_suite(spec)
    found = load_suite(f"{spec}{'&' if '?' in spec else '?'}memory={ANY_MEMORY}")
    return replace(found, spec=spec)


def load_problems(what: str) -> Suite:
    """The suite that a spec names, or the one module of a Python file. Raises SuiteError, and
    OSError and ProblemError for a file."""
    if what.endswith(".py"):
        return Suite(spec=what, problems=(load_problem(Path(what)),))
    return load_suite(what)


def imported_triples(spec: str, dialect: Dialect) -> list[Triple] | None:
    """The examples that lie with a suite; None where its layout has none. Raises SuiteError."""
    layout, rest, query = read_spec(spec)
    if layout.triples is None:
        return None
    with _told_of(spec):
        return layout.triples(rest, dialect, **_options(layout, query))


def repairs_of(spec: str, dialect: Dialect) -> list[Repair]:
    """The repairs that lie with a suite; none where its layout has none. Raises SuiteError."""
    layout, rest, query = read_spec(spec)
    if layout.repairs is None:
        return []
    with _told_of(spec):
        return layout.repairs(rest, dialect, **_options(layout, query))


def brings_triples(spec: str) -> bool:
    """Whether the examples of a suite lie with it, and are not the templates'."""
    layout = LAYOUTS.get(spec.partition("?")[0].partition(":")[0])
    return layout is not None and layout.triples is not None


def read_spec(spec: str) -> tuple[Layout, str, str]:
    """(layout, what follows its name, the options as they are typed). Raises SuiteError."""
    whole, _, query = spec.partition("?")
    kind, _, rest = whole.partition(":")
    layout = LAYOUTS.get(kind)
    if layout is None or not layout.accepts(rest):
        known = ", ".join(form for one in LAYOUTS.values() for form in one.forms)
        raise SuiteError(
            f"no suite {spec!r}{_hint(spec)}; there are: {known}; on sizes for a GPU: "
            "starter:train?sizes=gpu"
        )
    return layout, rest, query


def _hint(spec: str) -> str:
    """How what is no suite becomes one: a file, a folder, a data set of the Hub."""
    if Path(spec).exists():
        kind = "modules" if Path(spec).is_dir() else "rows"
        return (
            f"; is it {kind}:{spec}, or to be brought in by `kernelwright data import {spec} OUT`?"
        )
    if re.fullmatch(r"[\w.-]+/[\w.-]+", spec):
        return f"; the Hub's is brought in by `kernelwright data import hub:{spec}@REVISION OUT`"
    return ""


def public_spec(spec: str) -> str:
    """A suite's spec, or a module's file, without the paths of this machine; any other text
    unchanged.

    >>> public_spec("kernelbench:/home/me/KernelBench?levels=1&admission=/home/me/a.json")
    'kernelbench:KernelBench?levels=1'
    >>> public_spec("/home/me/relu.py")
    'relu.py'
    """
    if spec.endswith(".py"):
        return Path(spec).name
    whole, _, query = spec.partition("?")
    kind, colon, rest = whole.partition(":")
    layout = LAYOUTS.get(kind)
    if layout is None:
        return spec
    shown = Path(rest).name if layout.is_path else rest
    kept = [one for one in query.split("&") if one.partition("=")[0] not in layout.local_options]
    options = "&".join(kept)
    return f"{kind}{colon}{shown}" + (f"?{options}" if options else "")


def jobs_of(suite: Suite) -> list[Job]:
    """What there is to check of a suite: each problem, with the operations it can do without."""
    dropped = dropped_operations()
    return [(problem, dropped.get(without_kept(problem).key, ())) for problem in suite.problems]


@contextmanager
def _told_of(spec: str) -> Iterator[None]:
    """What a layout raises, as a SuiteError that names the spec."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise SuiteError(f"{spec}: {error}") from None


def _options(layout: Layout, query: str) -> dict[str, str]:
    """Each option once. Raises ValueError."""
    pairs = parse_qsl(query, keep_blank_values=True)
    names = [name for name, _ in pairs]
    if unknown := sorted(set(names) - set(layout.options)):
        raise ValueError(f"no option {', '.join(unknown)}; {', '.join(layout.options)}")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{', '.join(twice)} is given twice")
    return dict(pairs)


def _starter(split: str, **options: str) -> Loaded:
    return load_starter(split, **options), ()


def _exam(category: str) -> Loaded:
    return load_exam(category), ()


def _modules(folder: str, scale: str = "1", **options: str) -> Loaded:
    factor = Choice.of(scale=scale).scale
    written, notes = load_modules(folder)
    scaled = written if factor == 1 else load_modules(folder, factor)[0]
    problems, more = _fitting(scaled, written, **options)
    return problems, (*notes, *more)


def _kernelbench(folder: str, **options: str) -> Loaded:
    chosen = {name: options.pop(name) for name in CHOICE if name in options}
    choice = Choice.of(**chosen)
    scaled, written = load_folder(folder, choice), load_folder(folder, choice.unscaled())
    return _fitting(scaled, written, **options)


def _fitting(
    scaled: Sequence[Problem],
    written: Sequence[Problem],
    admission: str = "",
    memory: str = "",
    precision: str = "fp32",
) -> Loaded:
    """Those that this machine can judge, and that were admitted where a file says so."""
    scaled, written = cast(scaled, precision), cast(written, precision)
    limit_bytes = parse_bytes("memory", memory) if memory else memory_bytes()
    fitted = fit(scaled, written, limit_bytes)
    if not fitted.problems:
        raise ValueError(fitted.notes[0])
    if not admission:
        return fitted.problems, fitted.notes
    admissions = read_admissions(Path(admission))
    admitted = (as_admitted(one, admissions) for one in fitted.problems)
    return tuple(one for one in admitted if one is not None), fitted.notes


CHOICE = ("levels", "ids", "scale")
FITTING = ("memory", "precision", "admission")
LAYOUTS: dict[str, Layout] = {
    "starter": Layout(
        forms=("starter", *(f"starter:{split}" for split in SPLITS)),
        load=_starter,
        accepts=("", *SPLITS).__contains__,
        options=("sizes",),
        is_path=False,
    ),
    "exam": Layout(
        forms=("exam", "exam:CATEGORY"),
        load=_exam,
        accepts=("", *CATEGORIES).__contains__,
        is_path=False,
        for_evaluation=True,
    ),
    "kernelbench": Layout(
        forms=(
            "kernelbench:FOLDER"
            "[?levels=1,2&ids=1,3-5&scale=0.1&memory=2GB&precision=fp16&admission=FILE]",
        ),
        load=_kernelbench,
        options=(*CHOICE, *FITTING),
        local_options=("admission",),
        is_path=True,
    ),
    "modules": Layout(
        forms=("modules:FOLDER[?scale=0.1&memory=2GB&precision=fp16&admission=FILE]",),
        load=_modules,
        options=("scale", *FITTING),
        local_options=("admission",),
        is_path=True,
    ),
    "rows": Layout(forms=("rows:FILE|FOLDER",), load=load_rows, triples=row_triples, is_path=True),
    "data": Layout(
        forms=(
            "data:FOLDER[?speedup=1&curate=RULE]",
            *(f"data:FOLDER:{split}" for split in BUILT_SPLITS),
        ),
        load=load_built,
        triples=built_triples,
        repairs=built_repairs,
        options=("speedup", "curate", "seed"),
        is_path=True,
    ),
}
"""By the name that a spec begins with. A layout is a file of `data/suites/` and a row here."""
