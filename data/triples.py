"""Triples for the cold start: problem · reasoning · kernel, of the training families only."""

from __future__ import annotations

from dataclasses import dataclass

from data.starter.suite import admitted
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


def template_triples() -> list[Triple]:
    """One kernel for every training problem of the starter suite, and another for many.

    The reasoning's plan is the code's own statements in order; its remark is a fact of the loops.
    """
    return [
        Triple(
            problem=problem,
            reasoning=f"Plan: {blueprint.plan} {remark}",
            source=blueprint.source(body),
            variant=variant,
        )
        for blueprint, problem, held_out in admitted()
        if not held_out
        for variant, (remark, body) in enumerate(blueprint.bodies)
    ]
