"""Triples for the cold start: problem · reasoning · kernel, of the training families only."""

from __future__ import annotations

from dataclasses import dataclass

from data.starter.suite import in_split
from data.suite import load_suite
from envs.types import Dialect, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """A problem, why the kernel looks as it does, and the kernel. Used only once it was judged."""

    problem: Problem
    reasoning: str
    source: str
    variant: int = 0
    """Which of the problem's kernels this is; 0 is the one to learn first."""

    def completion(self, dialect: Dialect = Dialect.CPP) -> str:
        """What the model is to answer: the reasoning, then one code block, and nothing after it."""
        return f"{self.reasoning}\n\n```{dialect}\n{self.source}```"


def template_triples(split: str = "train") -> list[Triple]:
    """One kernel for every problem of a training split (`train`, `sft`, `rl`), another for many.

    The reasoning's plan is the code's own statements in order; its remark is a fact of the loops.
    """
    if split not in ("train", "sft", "rl"):
        raise ValueError(f"triples are of train, sft or rl, not of {split!r}")
    return [
        Triple(
            problem=problem,
            reasoning=f"Plan: {blueprint.plan} {remark}",
            source=blueprint.source(body),
            variant=variant,
        )
        for blueprint, problem in in_split(split)
        for variant, (remark, body) in enumerate(blueprint.bodies)
    ]


def triples_of(suite: str) -> list[Triple]:
    """Those of them whose problems a suite has; none for a suite of others. Raises SuiteError."""
    asked = load_suite(suite).by_key()
    return [one for one in template_triples() if one.problem.key in asked]
