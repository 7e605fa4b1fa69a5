"""Problem in, the text that asks a model for a kernel out."""

from __future__ import annotations

import ast
from functools import lru_cache

from envs.abi import CaseSpec, TensorSpec
from envs.dialects import WORKSHOPS
from envs.reference import load_reference
from envs.types import Dialect, Problem


@lru_cache(maxsize=4096)
def task_prompt(problem: Problem, dialect: Dialect) -> str:
    """The user message: the task, the module, the sizes that are timed, the answer's form."""
    spec = load_reference(problem, problem.timed_case()).spec()
    workshop = WORKSHOPS[dialect]
    lines = [workshop.task, "```python", model_source(problem), "```", _shapes(spec)]
    lines += [workshop.form(spec)]
    return "\n".join(lines)


def model_source(problem: Problem) -> str:
    """The class `Model` of a problem with what it needs from its module, without imports."""
    tree = ast.parse(problem.code)
    kept = [
        node
        for node in tree.body
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign)
        and getattr(node, "name", "") not in ("get_inputs", "get_init_inputs")
        and not isinstance(node, ast.Expr)
    ]
    return "\n".join(ast.get_source_segment(problem.code, node) or "" for node in kept)


def _shapes(spec: CaseSpec) -> str:
    def one(tensor: TensorSpec) -> str:
        kind = "" if tensor.dtype == "float32" else f" {tensor.dtype}"
        return f"{tensor.name}{list(tensor.shape)}{kind}"

    inputs = ", ".join(one(tensor) for tensor in spec.inputs)
    return f"{inputs} -> {', '.join(one(tensor) for tensor in spec.outputs)}"
