"""Problem in, the text that asks a model for a kernel out."""

from __future__ import annotations

import ast
from functools import lru_cache

from envs.abi import CaseSpec, TensorSpec, signature
from envs.reference import load_reference
from envs.types import Dialect, Problem

TASKS = {
    Dialect.CPP: "Write a C++ kernel for this PyTorch module.",
    Dialect.CUDA: "Write a CUDA C++ kernel and its launch for this PyTorch module.",
    Dialect.TRITON: "Rewrite this PyTorch module as `ModelNew`, computing with Triton kernels.",
    Dialect.INLINE: "Rewrite this PyTorch module as `ModelNew`, computing with `load_inline`.",
}
NATIVE = (Dialect.CPP, Dialect.CUDA)


@lru_cache(maxsize=4096)
def task_prompt(problem: Problem, dialect: Dialect) -> str:
    """The user message: the task, the module, the sizes that are timed, and the exact signature."""
    spec = load_reference(problem, problem.timed_case()).spec()
    lines = [TASKS[dialect], "```python", model_source(problem), "```", _shapes(spec)]
    if dialect in NATIVE:
        lines += ["```cpp", signature(spec, dialect), "```"]
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
