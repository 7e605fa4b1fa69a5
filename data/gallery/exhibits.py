"""The gallery: exploits that must never pass, and honest kernels that must; both shipped as files.

Every exploit succeeds against a harness that shares a process with it (tests/test_gallery.py shows
that), so what the judge says of them means something. Races of CUDA kernels, which that harness
cannot run, do not.

    exploits/FAMILY/NAME.cpp         `// verdict: VERDICT REASON` is its first line
                    NAME.py, NAME.triton.py, NAME.cu   the same in the other dialects
    exploits/FAMILY/NAME.problem.py  its own problem; else its folder's problem.py, else exploits'
    exploits/broken/                 honest mistakes: judged, but no exploits
    honest/PROBLEM/NAME.cpp          with problem.py beside it
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.data.triples.templates import template_triples
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.types import Candidate, Dialect, Evaluation, Problem, Verdict, content_hash

FOLDER = Path(__file__).parents[1] / "exhibits"
BROKEN = "broken"
MISSING = ("no_triton", "no_nvcc")
"""Reasons for which this machine cannot try an answer of a dialect at all."""
STOPPED_BEFORE = "no_device_code"
"""With a GPU, what C++ in a Python answer does is not looked at: it is stopped for being C++."""


class GalleryError(ValueError):
    """The gallery's files are not as they should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """A kernel, the problem it answers, and the verdict that it has to get."""

    name: str
    family: str
    problem: Problem
    candidate: Candidate
    verdict: Verdict
    reason: str

    @property
    def is_exploit(self) -> bool:
        """Neither honest nor an honest mistake."""
        return self.verdict is not Verdict.CORRECT and self.family != BROKEN


@dataclass(frozen=True, slots=True)
class Finding:
    """The judge's result for an exhibit."""

    exhibit: Exhibit
    evaluation: Evaluation

    @property
    def passed(self) -> bool:
        return self.evaluation.verdict is Verdict.CORRECT

    @property
    def skipped(self) -> bool:
        """Nobody tried it: this machine lacks what its dialect needs."""
        return self.evaluation.reason in MISSING

    @property
    def stopped(self) -> bool:
        """Judged, and not let through; what the judge could not judge it has not stopped."""
        return self.evaluation.verdict not in (Verdict.CORRECT, Verdict.UNJUDGED)

    @property
    def surprising(self) -> bool:
        found = (self.evaluation.verdict, self.evaluation.reason)
        expected = self.skipped or (self.stopped and self.evaluation.reason == STOPPED_BEFORE)
        return not expected and found != (self.exhibit.verdict, self.exhibit.reason)


@dataclass(frozen=True, slots=True)
class Outcome:
    """All findings, and the judge's rates over them; a rate over no exhibits is None."""

    findings: tuple[Finding, ...]

    @property
    def tried(self) -> list[Finding]:
        return [one for one in self.findings if not one.skipped]

    @property
    def skipped(self) -> Counter[str]:
        """How many were not tried, by what this machine lacks; they count nowhere else."""
        return Counter(one.evaluation.reason for one in self.findings if one.skipped)

    @property
    def exploits(self) -> list[Finding]:
        return [one for one in self.tried if one.exhibit.is_exploit]

    @property
    def honest(self) -> list[Finding]:
        return [one for one in self.tried if one.exhibit.verdict is Verdict.CORRECT]

    @property
    def loose_exploits(self) -> list[Finding]:
        return [one for one in self.exploits if not one.stopped]

    @property
    def rejected_honest(self) -> list[Finding]:
        return [one for one in self.honest if not one.passed]

    @property
    def surprises(self) -> list[Finding]:
        return [one for one in self.findings if one.surprising]

    @property
    def kill_rate(self) -> float | None:
        """Share of the exploits that were stopped."""
        return 1 - len(self.loose_exploits) / len(self.exploits) if self.exploits else None

    @property
    def false_positive_rate(self) -> float | None:
        """Share of the honest kernels that did not pass."""
        return len(self.rejected_honest) / len(self.honest) if self.honest else None


def judge_exhibits(
    judge: AnyJudge, exhibits: Sequence[Exhibit], on_done: Callable[[], None] | None = None
) -> Outcome:
    """All of them in one batch, as training would judge them."""
    jobs = [(one.problem, one.candidate) for one in exhibits]
    evaluations = judge.evaluate_many(jobs, on_done=on_done)
    return Outcome(tuple(map(Finding, exhibits, evaluations)))


def exploits(folder: Path = FOLDER / "exploits") -> list[Exhibit]:
    """The exploits and the honest mistakes, by family and name; raises GalleryError if none."""
    found = list(_exhibits(folder))
    if not found:
        raise GalleryError(f"no exploits in {folder}: this installation is not whole")
    return found


def honest(folder: Path = FOLDER / "honest") -> list[Exhibit]:
    """The honest kernels of the gallery, and all C++ that training learns from.

    Its device code takes half an hour: `scripts/triples.py` judges it.
    """
    return [*_exhibits(folder), *_learned_from()]


def gallery_hash(folder: Path = FOLDER / "exploits") -> str:
    """Names the content of the exploits' files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return content_hash(*(f"{path.relative_to(folder)}\n{path.read_text()}" for path in files))


def problem_file(file: Path) -> Path:
    """The problem that a file of the gallery answers."""
    own = file.with_name(f"{_name(file)}.problem.py")
    for path in (own, file.with_name("problem.py"), file.parent.with_name("problem.py")):
        if path.is_file():
            return path
    raise GalleryError(f"{file}: no problem.py beside it or above it")


def files_of(folder: Path, dialect: Dialect) -> list[Path]:
    """The exhibits' files in one dialect."""
    suffix = DIALECTS[dialect].suffix
    found = sorted(folder.glob(f"*/*{suffix}"))
    mine = [path for path in found if path.name == _name(path) + suffix]
    return [path for path in mine if path.name != "problem.py"]


def _name(file: Path) -> str:
    """What stands before the first dot."""
    return file.name.partition(".")[0]


def _exhibits(folder: Path) -> Iterator[Exhibit]:
    problems: dict[Path, Problem] = {}
    for dialect in DIALECTS:
        for file in files_of(folder, dialect):
            path = problem_file(file)
            problem = problems.setdefault(path, load_problem(path))
            yield _exhibit(file, problem, dialect)


def _exhibit(file: Path, problem: Problem, dialect: Dialect) -> Exhibit:
    source = file.read_text(encoding="utf-8")
    match source.partition("\n")[0].split():
        case ["//" | "#", "verdict:", verdict, reason]:
            return Exhibit(
                name=_name(file),
                family=file.parent.name,
                problem=problem,
                candidate=Candidate(problem_key=problem.key, dialect=dialect, source=source),
                verdict=Verdict(verdict),
                reason=reason,
            )
    raise GalleryError(f"{file}:1: not `verdict: VERDICT REASON`")


def _learned_from() -> Iterator[Exhibit]:
    for one in template_triples():
        problem, source = one.problem, one.source
        yield Exhibit(
            name=f"{problem.name}/{one.variant}",
            family="triples",
            problem=problem,
            candidate=Candidate(problem_key=problem.key, dialect=one.dialect, source=source),
            verdict=Verdict.CORRECT,
            reason="ok",
        )
