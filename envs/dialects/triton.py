"""`triton`: a `ModelNew` that computes with `@triton.jit` kernels.

Without a GPU its results are checked in Triton's own interpreter, which says nothing about speed.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.dialects.base import ANOTHER_MODULE, Built, failed, import_failed, too_large
from kernelwright.envs.policy.python_screen import parsed, refused
from kernelwright.envs.referee.layout import python_layout
from kernelwright.envs.replay.plan import GpuReplay, Plan
from kernelwright.envs.replay.ptx import ARCHITECTURES
from kernelwright.envs.sandbox.build import compile_once
from kernelwright.envs.sandbox.limits import TRITON_LIMITS, Starts
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes
from kernelwright.envs.sandbox.toolchain import triton_tools
from kernelwright.envs.types import Evaluation, Verdict

LIMIT_S = 120.0
LOG_AT_MOST = 4096


class Triton:
    task = "Rewrite this PyTorch module as `ModelNew`, computing with Triton kernels."
    fences: tuple[str, ...] = ("python", "py", "triton", "")
    mark, another = "python", ANOTHER_MODULE
    suffix, lexer = ".triton.py", "python"
    sign = re.compile(r"^\s*@\s*(?:triton\.)?jit\b", re.MULTILINE)
    has_triples = False

    def lacking(self) -> str | None:
        return None

    def form(self, spec: CaseSpec) -> str:
        return (
            "`ModelNew` keeps the names and shapes of the parameters. All computing happens in "
            "`@triton.jit` kernels of its own; tensors are made on the inputs' device."
        )

    def build(
        self, source: str, specs: Sequence[CaseSpec], sandboxes: Sandboxes
    ) -> Built | Evaluation:
        if rejected := too_large(source):
            return rejected
        if importlib.util.find_spec("triton") is None:
            return failed("no_triton", "run `pip install kernelwright[triton]`", Verdict.UNJUDGED)
        if why := refused(source):
            return failed("forbidden_code", why, Verdict.CHEATED)
        try:
            kernels = jitted(source)
        except (SyntaxError, ValueError) as error:
            return failed("syntax_error", str(error))
        if not kernels:
            return failed("no_custom_kernel", "no function is a @triton.jit", Verdict.CHEATED)
        plan = trace(source, specs, sandboxes)
        if isinstance(plan, Evaluation):
            return plan
        if not any(all(one.grid) for one in plan.launches):
            return failed("no_custom_kernel", "no kernel was launched", Verdict.CHEATED)
        return Built(
            files=(
                ("candidate.py", source.encode("utf-8", "replace")),
                ("forms.json", json.dumps(plan.forms).encode()),
            ),
            runtime=Runtime.INTERPRETER,
            words=("{}",),
            facts=(("launches", float(len(plan.launches))), *plan.facts()),
            timed=False,
            starts=Starts.NOTHING,
            on_device=GpuReplay(
                trace=lambda case, architecture: trace(source, [case], sandboxes, (architecture,)),
                assembler=assembler(),
            ),
        )


def trace(
    source: str,
    specs: Sequence[CaseSpec],
    sandboxes: Sandboxes,
    architectures: Sequence[int] = ARCHITECTURES,
) -> Plan | Evaluation:
    """What the answer launches for the first case, with its kernels compiled for each architecture;
    and the forms of what it launches for any."""
    layouts = [json.loads(python_layout(spec)) for spec in specs]
    made = compile_once(
        sandboxes.of(Runtime.PYTHON),
        [json.dumps(architectures)],
        {"candidate.py": source, "layouts.json": json.dumps(layouts)},
        mode="trace",
        limits=TRITON_LIMITS,
        limit_s=LIMIT_S,
    )
    if made.failure:
        return import_failed(made)
    try:
        return Plan.model_validate_json(made.artefact)
    except ValidationError as error:
        return failed("launch_misused", str(error)[:LOG_AT_MOST])


def assembler() -> str:
    """The one that comes with Triton; the newer lies beside it (replay/assemble.py)."""
    return str((triton_tools() or Path()) / "ptxas")


def jitted(source: str) -> list[str]:
    """Names of the functions that are Triton kernels.

    >>> jitted("@triton.jit\\ndef add(x): pass\\ndef f(): pass")
    ['add']
    """
    return [
        node.name
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.FunctionDef)
        and any("jit" in ast.unparse(one) for one in node.decorator_list)
    ]


DIALECT = Triton()
