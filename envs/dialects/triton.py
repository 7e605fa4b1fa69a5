"""`triton`: a `ModelNew` that computes with `@triton.jit` kernels.

Its Python runs in a process that has no value which counts, to learn what it launches; what it
launches is compiled by Triton itself. Without a GPU that code runs on a CPU (envs/ptx).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from pydantic import Field

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.dialects.base import (
    ANOTHER_MODULE,
    MODULE,
    Built,
    failed,
    import_failed,
    too_large,
)
from kernelwright.envs.dialects.planned import Cases, idle, launched, misused, refused
from kernelwright.envs.plan.calls import Record, last_call
from kernelwright.envs.plan.plan import CALLS, MOST_KERNELS, GpuReplay, Kernel, Plan
from kernelwright.envs.plan.steps import MOST_STEPS, Count, Step, Strict
from kernelwright.envs.ptx.program import ARCHITECTURE
from kernelwright.envs.referee.layout import python_layout
from kernelwright.envs.sandbox.build import compile_once
from kernelwright.envs.sandbox.limits import TRITON_LIMITS
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes
from kernelwright.envs.sandbox.toolchain import triton_tools
from kernelwright.envs.system.architectures import device_word
from kernelwright.envs.system.hardware import gpus
from kernelwright.envs.types import Candidate, Evaluation, Verdict

LIMIT_S = 120.0
LOG_AT_MOST = 4096


class _Steps(Strict):
    """One case's calls but for their code, which all cases have in common."""

    steps: Annotated[list[Step], Field(max_length=CALLS * MOST_STEPS, fail_fast=True)]
    buffers: Annotated[dict[str, Count], Field(max_length=CALLS * MOST_STEPS)]
    constants: Annotated[dict[str, str], Field(max_length=CALLS * MOST_STEPS)]
    record: Record


class _Traced(Strict):
    plans: list[_Steps]
    kernels: Annotated[list[Kernel], Field(max_length=MOST_KERNELS)]


@cache
def _version() -> str:
    """Tells a model which Triton is here: versions differ in block pointers and descriptors."""
    if find_spec("triton") is None:
        return ""
    first, second = version("triton").split(".")[:2]
    return f" Triton is {first}.{second}."


class Triton:
    task = "Rewrite this PyTorch module as `ModelNew`, computing with Triton kernels."
    fences: tuple[str, ...] = ("python", "py", "python3", "triton", "")
    mark, another, entry = "python", ANOTHER_MODULE, MODULE
    suffix, lexer = ".triton.py", "python"
    sign = re.compile(r"^\s*@\s*(?:triton\.)?jit\b", re.MULTILINE)
    is_device_code = True
    runs_on_gpu = True
    has_triples = True

    def lacking(self) -> str | None:
        return None if triton_tools() else "triton"

    def form(self, spec: CaseSpec) -> str:
        return (
            "`ModelNew` keeps the names and shapes of the parameters. All computing happens in "
            "`@triton.jit` kernels of its own; tensors are made on the inputs' device. Parameters "
            f"may change between calls, and each call returns new memory.{_version()}"
        )

    def build(
        self, candidate: Candidate, specs: Sequence[CaseSpec], sandboxes: Sandboxes
    ) -> Built | Evaluation:
        source = candidate.source
        if rejected := too_large(source):
            return rejected
        if self.lacking():
            return failed("no_triton", "run `pip install kernelwright[triton]`", Verdict.UNJUDGED)
        traces = _Traces(candidate, specs, sandboxes)
        cases = traces.cases(min((one.architecture for one in gpus()), default=ARCHITECTURE))
        if isinstance(cases, Evaluation):
            return cases
        plans = [plan for _, plan in cases]
        for plan in plans:
            if not plan.computes:
                return idle(plan)
        built = Built(
            files=(),
            playable=False,
            facts=(("launches", float(len(plans[0].launches))), *plans[0].facts()),
            timed=False,
            on_device=GpuReplay(trace=traces.plan, assembler=assembler()),
        )
        return launched(built, cases, sandboxes, lambda: traces.cases(ARCHITECTURE))


class _Traces:
    """The plans of an answer: for an architecture all cases are traced together, and once, within
    the limits of one run."""

    def __init__(
        self, candidate: Candidate, specs: Sequence[CaseSpec], sandboxes: Sandboxes
    ) -> None:
        self.candidate, self.specs, self.sandboxes = candidate, specs, sandboxes
        self.known: dict[int, Cases | Evaluation] = {}

    def cases(self, architecture: int) -> Cases | Evaluation:
        if architecture not in self.known:
            found = traced(self.candidate, self.specs, self.sandboxes, architecture)
            known = (
                found if isinstance(found, Evaluation) else [*zip(self.specs, found, strict=True)]
            )
            self.known[architecture] = known
        return self.known[architecture]

    def plan(self, case: CaseSpec, architecture: int) -> Plan | Evaluation:
        found = self.cases(architecture)
        return found if isinstance(found, Evaluation) else found[self.specs.index(case)][1]


def traced(
    candidate: Candidate, specs: Sequence[CaseSpec], sandboxes: Sandboxes, architecture: int
) -> list[Plan] | Evaluation:
    """What the answer launches for each case, with its kernels compiled for this architecture."""
    layouts = [json.loads(python_layout(spec)) for spec in specs]
    made = compile_once(
        sandboxes.of(Runtime.PYTHON),
        [
            device_word(architecture),
            "torch" if candidate.torch_allowed else "",
            str(architecture),
        ],
        {"candidate.py": candidate.source, "layouts.json": json.dumps(layouts)},
        mode="trace",
        limits=TRITON_LIMITS,
        limit_s=LIMIT_S,
    )
    if made.failure:
        return import_failed(made)
    try:
        found = _Traced.model_validate_json(made.artefact)
        if len(found.plans) != len(specs):
            raise ValueError(f"{len(found.plans)} plans for {len(specs)} cases")
        rows = zip(found.plans, specs, strict=True)
        plans = [_plan(one, spec, found.kernels) for one, spec in rows]
    except Exception as error:  # noqa: BLE001  the named boundary: an answer could write all of it
        return misused(error)
    return refused(candidate, plans) or plans


def _plan(one: _Steps, spec: CaseSpec, kernels: list[Kernel]) -> Plan:
    plan = Plan(steps=[], buffers=one.buffers, constants=one.constants, kernels=kernels)
    return last_call(plan, one.steps, one.record, [it.size_bytes for it in spec.outputs])


def trace(
    candidate: Candidate, spec: CaseSpec, sandboxes: Sandboxes, architecture: int
) -> Plan | Evaluation:
    """The same of one case."""
    found = traced(candidate, [spec], sandboxes, architecture)
    return found if isinstance(found, Evaluation) else found[0]


def assembler() -> str:
    """Triton's own assembler; a newer one lies beside it (envs/plan/assemble.py)."""
    return str((triton_tools() or Path()) / "ptxas")


DIALECT = Triton()
