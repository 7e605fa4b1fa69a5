"""Renders the prompt that asks a model for a kernel."""

from __future__ import annotations

import ast
import json
from functools import lru_cache
from typing import Any

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.dialects.base import MODULE
from kernelwright.envs.reference.module import sized_code
from kernelwright.envs.reference.module_facts import timed_shapes
from kernelwright.envs.types import Problem, Task

HIDDEN = (
    *("get_inputs", "get_init_inputs", "get_input_groups", "_beside"),
    *("Configured", "_made_in_half"),
)
"""What makes inputs, and what data/suites adds to a module."""


@lru_cache(maxsize=4096)
def task_prompt(task: Task) -> str:
    """The user message: the task, the module, the sizes that are timed, the answer's form."""
    problem, dialect = task.problem, DIALECTS[task.dialect]
    shapes = timed_shapes(problem)
    views = dialect.entry == MODULE
    lines = [dialect.task, "```python", model_source(problem), "```", _shapes(shapes.spec, views)]
    if shapes.init:
        lines.append(f"The module is `Model({shapes.init})`.")
    if problem.dtype != "float32":
        lines.append(f"Weights and inputs are {problem.dtype}.")
    if shapes.spec.nest:
        lines.append(f"It is called as `forward({_call(json.loads(shapes.spec.nest))})`.")
    if shapes.spec.has_views and not views:
        lines.append("Inputs are contiguous.")
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
        and getattr(node, "name", "") not in HIDDEN
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


def _shapes(spec: CaseSpec, views: bool) -> str:
    """`views`: with the strides of inputs that are not contiguous."""

    def one(tensor: TensorSpec) -> str:
        kind = "" if tensor.dtype == "float32" else f" {tensor.dtype}"
        laid = f" strides {list(tensor.strides)}" if views and tensor.strides is not None else ""
        return f"{tensor.name}{list(tensor.shape)}{kind}{laid}"

    inputs = ", ".join(one(tensor) for tensor in spec.inputs)
    return f"{inputs} -> {', '.join(one(tensor) for tensor in spec.outputs)}"


def _call(nest: dict[str, Any]) -> str:
    """What stands in the brackets of a call, with tensors and numbers by their names."""

    def said(one: dict[str, Any]) -> str:
        match one:
            case {"name": name}:
                return str(name)
            case {"list": items}:
                return f"[{', '.join(map(said, items))}]"
            case {"tuple": items}:
                comma = "," if len(items) == 1 else ""
                return f"({', '.join(map(said, items))}{comma})"
            case {"dict": items}:
                return f"{{{', '.join(f'{name!r}: {said(item)}' for name, item in items.items())}}}"
        return repr(one["value"])

    words = [said(one) for one in nest["arguments"]]
    return ", ".join([*words, *(f"{name}={said(one)}" for name, one in nest["keywords"].items())])
