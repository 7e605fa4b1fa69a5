"""Judges published kernels again, from the files of the repository alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.data.runs.folder import Folder
from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.judge import BatchJudge
from kernelwright.envs.system.paths import in_utf8
from kernelwright.envs.types import Candidate, Evaluation, Problem, Speedup, Task, Verdict
from kernelwright.evals.hub.kernels import KERNELS, MODULES, Kernel, chosen_kernels, suffix_of
from kernelwright.evals.hub.upload import PublishError
from kernelwright.evals.hub.verify import downloaded


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAgain:
    """A published kernel: its name, the speed that its card claims, and the judge's new word."""

    name: str
    claimed: Speedup | None
    evaluation: Evaluation

    @property
    def holds(self) -> bool:
        """Whether it is still correct, or could not be judged here."""
        return self.evaluation.verdict is Verdict.CORRECT or not self.is_judged

    @property
    def is_judged(self) -> bool:
        """Whether the judge reached a verdict."""
        return self.evaluation.verdict is not Verdict.UNJUDGED


def verify_kernels(
    search: Path, published: str, judges: Callable[[], BatchJudge]
) -> list[JudgedAgain]:
    """Judges what `published`, a Hub id or a folder, holds of a search, on new inputs.

    Modules and sources are those that were downloaded. Raises PublishError where a file is missing
    or is another than the search's, ModelError where the Hub does not give them.
    """
    kernels = chosen_kernels(search)
    dialect = str((Folder(search).search() or {})["question"]["dialect"])
    folder = downloaded(published, [f"{KERNELS}/*", f"{MODULES}/*"])
    jobs = [_job(folder, one, dialect, published) for one in kernels]
    with judges() as judge:
        found = judge.evaluate_many(jobs)
    return _paired(kernels, found)


def _paired(kernels: Sequence[Kernel], found: Sequence[Evaluation]) -> list[JudgedAgain]:
    return [
        JudgedAgain(name=one.name, claimed=one.found.again or one.found.first, evaluation=again)
        for one, again in zip(kernels, found, strict=True)
    ]


def _job(folder: Path, kernel: Kernel, dialect: str, published: str) -> tuple[Problem, Candidate]:
    module = folder / MODULES / f"{kernel.name}.py"
    source = folder / KERNELS / f"{kernel.name}{suffix_of(dialect)}"
    if missing := [one for one in (module, source) if not one.is_file()]:
        raise PublishError(f"{published} lacks {missing[0].relative_to(folder)}")
    text = source.read_bytes().decode(errors="replace")
    if not text.endswith(
        in_utf8(str(kernel.found.source))
    ):  # a Python file has lines about it before
        raise PublishError(f"{published} holds another kernel for {kernel.name}: publish it again")
    problem = load_problem(module)
    return problem, Task(problem=problem, dialect=dialect).candidate(text)
