"""A graph as a problem and its example."""

from __future__ import annotations

from kernelwright.data.graphs.cpp import kernel as cpp
from kernelwright.data.graphs.cpp.plan import reasoning
from kernelwright.data.graphs.graph import Graph
from kernelwright.data.graphs.nests import Rows, Scan
from kernelwright.data.graphs.sample import VERSION
from kernelwright.data.graphs.style import module
from kernelwright.data.graphs.triton import kernel as triton
from kernelwright.data.graphs.triton import plan as triton_plan
from kernelwright.data.suites.kernelbench import cases_of
from kernelwright.data.suites.sizes import sizes_of
from kernelwright.data.triple import Triple
from kernelwright.envs.types import Dialect, Problem, content_hash

DIALECTS: tuple[Dialect, ...] = ("cpp", "triton")
"""Those that graphs are lowered to."""
CHAIN = "chain"
"""The category of what has several statements."""


def problem_of(graph: Graph, seed: int, index: int) -> Problem:
    """In KernelBench's format, with the cases that a file of it would have."""
    code = module(graph, content_hash("style", VERSION, str(seed), str(index)))
    return Problem(
        name=f"{index:05d}_{graph.family}",
        code=code,
        cases=cases_of(sizes_of(code)),
        category=graph.category,
        family=graph.family,
        source=f"kernelwright data build, version {VERSION}, seed {seed}, index {index}",
        licence="Apache-2.0",
    )


def example_of(graph: Graph, problem: Problem, dialect: Dialect) -> Triple:
    """The problem's kernel, and the plan of its loops. Raises ValueError for other dialects."""
    if dialect not in DIALECTS:
        raise ValueError(f"graphs are lowered to {', '.join(DIALECTS)}, not to {dialect}")
    kernel = graph.kernel()
    if dialect == "triton":
        source = triton.source(kernel, problem.code)
        reason = triton_plan.reasoning(kernel.nests)
    else:
        source, reason = cpp.source(kernel), reasoning(kernel.nests)
    return Triple(
        problem=problem,
        dialect=dialect,
        reasoning=reason,
        source=source,
        pattern="_".join(map(_pattern, kernel.nests)),
    )


def _pattern(nest: object) -> str:
    """What its loops are like."""
    kind = type(nest).__name__.lower()
    is_columns = (isinstance(nest, Rows) and bool(nest.inner)) or (
        isinstance(nest, Scan) and nest.along < len(nest.shape) - 1
    )
    return f"{kind}-columns" if is_columns else kind
