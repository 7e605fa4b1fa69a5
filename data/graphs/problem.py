"""A graph as a problem and its example."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernelwright.data.graphs.cpp import kernel as cpp
from kernelwright.data.graphs.cpp import plan as cpp_plan
from kernelwright.data.graphs.cuda import kernel as cuda
from kernelwright.data.graphs.cuda import plan as cuda_plan
from kernelwright.data.graphs.graph import Graph
from kernelwright.data.graphs.kernel import Kernel
from kernelwright.data.graphs.nests import Nest, Rows, Scan
from kernelwright.data.graphs.phrases import phrased
from kernelwright.data.graphs.sample import VERSION
from kernelwright.data.graphs.schedules import BEST, SCHEDULES, scheduled
from kernelwright.data.graphs.style import module
from kernelwright.data.graphs.triton import kernel as triton
from kernelwright.data.graphs.triton import plan as triton_plan
from kernelwright.data.suites.graph_facts import GraphFacts
from kernelwright.data.suites.kernelbench import cases_of
from kernelwright.data.suites.sizes import sizes_of
from kernelwright.data.triple import Triple
from kernelwright.envs.types import Dialect, Problem, content_hash

Lowered = tuple[Callable[[Kernel, str], str], Callable[[Sequence[Nest]], str]]
"""(kernel, the problem's code) → an answer; loop nests → its reasoning."""
LOWERED: dict[Dialect, Lowered] = {
    "cpp": (lambda kernel, _: cpp.source(kernel), cpp_plan.reasoning),
    "cuda": (lambda kernel, _: cuda.source(kernel), cuda_plan.reasoning),
    "triton": (triton.source, triton_plan.reasoning),
}
DIALECTS = tuple(LOWERED)
"""Those that graphs are lowered to."""


def problem_of(graph: Graph, seed: int, index: int) -> Problem:
    """In KernelBench's format, with the cases that a file of it would have."""
    code = module(graph, content_hash("style", VERSION, str(seed), str(index)))
    return Problem(
        name=f"{index:05d}_{graph.family}",
        code=code,
        cases=cases_of(sizes_of(code)),
        category=graph.category,
        family=graph.family,
        tags=_facts(graph).tags,
        source=f"kernelwright data build, version {VERSION}, seed {seed}:{index:05d}",
        licence="Apache-2.0",
    )


def _facts(graph: Graph) -> GraphFacts:
    return GraphFacts(
        operators=frozenset(one.operator for one in graph.nodes),
        statements=len(graph.nodes),
        rank=len(graph.inputs[0].shape),
    )


def example_of(graph: Graph, problem: Problem, dialect: Dialect) -> Triple:
    """The problem's kernel, and the plan of its loops. Raises ValueError for other dialects."""
    return examples_of(graph, problem, dialect, 1)[BEST]


def examples_of(
    graph: Graph, problem: Problem, dialect: Dialect, variants: int
) -> dict[str, Triple]:
    """At most so many kernels that differ, by schedule, the one that is meant to be fast first."""
    if dialect not in DIALECTS:
        raise ValueError(f"graphs are lowered to {', '.join(DIALECTS)}, not to {dialect}")
    found: dict[str, Triple] = {}
    for schedule in SCHEDULES:
        kernel = scheduled(graph.kernel(), schedule)
        if kernel is not None and len(found) < variants:
            one = _example(kernel, problem, dialect)
            if one.source not in {other.source for other in found.values()}:
                found[schedule] = one
    return found


def _example(kernel: Kernel, problem: Problem, dialect: Dialect) -> Triple:
    source, reasoning = LOWERED[dialect]
    return Triple(
        problem=problem,
        dialect=dialect,
        reasoning=phrased(reasoning(kernel.nests), f"{problem.source} {dialect}"),
        source=source(kernel, problem.code),
        pattern="_".join(map(_pattern, kernel.nests)),
    )


def _pattern(nest: object) -> str:
    """What its loops are like."""
    kind = type(nest).__name__.lower()
    is_columns = (isinstance(nest, Rows) and bool(nest.inner)) or (
        isinstance(nest, Scan) and nest.along < len(nest.shape) - 1
    )
    return f"{kind}-columns" if is_columns else kind
