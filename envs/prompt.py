"""Problem in, the text that asks a model for a kernel out."""

from __future__ import annotations

import ast
from functools import lru_cache

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.reference.asked import timed_shapes
from kernelwright.envs.reference.module import sized_code
from kernelwright.envs.types import Problem, Task


@lru_cache(maxsize=4096)
def task_prompt(task: Task) -> str:
    """The user message: the task, the module, the sizes that are timed, the answer's form."""
    problem, dialect = task.problem, DIALECTS[task.dialect]
    shapes = timed_shapes(problem)
    lines = [dialect.task, "```python", model_source(problem), "```", _shapes(shapes.spec)]
    if shapes.init:
        lines.append(f"The module is `Model({shapes.init})`.")
    lines += [dialect.form(shapes.spec)]
    return "\n".join(lines)


def model_source(problem: Problem) -> str:
    """The class `Model` of a problem with what it needs from its module, without imports.

    Of the constants it shows those that something shown reads, and not the sizes of inputs.
    """
    code = sized_code(problem, problem.timed_case())
    tree = ast.parse(code)
    constants = [one for one in tree.body if isinstance(one, ast.Assign | ast.AnnAssign)]
    kept = [
        node
        for node in tree.body
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign)
        and getattr(node, "name", "") not in ("get_inputs", "get_init_inputs")
        and not isinstance(node, ast.Expr)
    ]
    while needed := [one for one in constants if one not in kept and _names(one) & _read(kept)]:
        kept += needed
    kept.sort(key=lambda node: node.lineno)
    return "\n".join(ast.get_source_segment(code, node) or "" for node in kept)


def _names(node: ast.stmt) -> set[str]:
    """The names that a statement sets."""
    every = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in every if isinstance(one.ctx, ast.Store)}


def _read(nodes: list[ast.stmt]) -> set[str]:
    every = (one for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in every if isinstance(one.ctx, ast.Load)}


def _shapes(spec: CaseSpec) -> str:
    def one(tensor: TensorSpec) -> str:
        kind = "" if tensor.dtype == "float32" else f" {tensor.dtype}"
        return f"{tensor.name}{list(tensor.shape)}{kind}"

    inputs = ", ".join(one(tensor) for tensor in spec.inputs)
    return f"{inputs} -> {', '.join(one(tensor) for tensor in spec.outputs)}"
