"""A triple: problem, reasoning, kernel. Its parts stay apart until a method renders an example."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.envs.answer import fenced
from kernelwright.envs.types import Candidate, Dialect, Evaluation, Problem, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """A problem, why the kernel looks as it does, and the kernel. Used only once it was judged."""

    problem: Problem
    dialect: Dialect
    reasoning: str
    source: str
    variant: int = 0
    """Which of the problem's kernels this is; 0 is the one to learn first."""
    pattern: str = ""
    """Its composition but for the pointwise operator: what its loops and its plan are made for."""

    def __post_init__(self) -> None:
        if not self.source.endswith("\n"):
            object.__setattr__(self, "source", f"{self.source}\n")

    @property
    def task(self) -> Task:
        """What it is an answer to."""
        return Task(problem=self.problem, dialect=self.dialect)

    @property
    def candidate(self) -> Candidate:
        """The kernel as the judge takes it."""
        return self.task.candidate(self.source)

    def block(self) -> str:
        """The kernel as an answer shows it: in a fence, with the dialect's mark."""
        return fenced(self.source, self.dialect)

    def completion(self) -> str:
        """What the model is to answer: the reasoning, then one code block, and nothing after it."""
        return "\n\n".join(filter(None, [self.reasoning, self.block()]))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTriple:
    """A triple, the prompt that it was judged with, and its evaluation."""

    triple: Triple
    prompt: str
    evaluation: Evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A broken kernel and how it is mended. `feedback` has the verdict and the fault; `completion`
    says what to mend, and then gives `kernel`, which is right."""

    problem_key: str
    dialect: Dialect
    broken: str
    feedback: str
    kernel: str
    completion: str
