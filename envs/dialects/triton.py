"""`triton`: a `ModelNew` that computes with `@triton.jit` kernels.

Its Python runs in a process that has no value which counts, to learn what it launches; what it
launches is compiled by Triton itself. Without a GPU that code runs on a CPU (envs/ptx).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
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
    room_for,
    too_large,
)
from kernelwright.envs.dialects.planned import Cases, idle, launched, misused, refused
from kernelwright.envs.plan.calls import Record, last_call
from kernelwright.envs.plan.plan import CALLS, MOST_KERNELS, GpuReplay, Kernel, Plan
from kernelwright.envs.plan.steps import MOST_STEPS, Count, Step, Strict
from kernelwright.envs.ptx.program import ARCHITECTURE
from kernelwright.envs.referee.layout import python_layout
from kernelwright.envs.sandbox.build import BuildResult, compile_once
from kernelwright.envs.sandbox.limits import TRITON_LIMITS
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes
from kernelwright.envs.sandbox.toolchain import triton_tools
from kernelwright.envs.system.architectures import device_word
from kernelwright.envs.system.device_properties import device_properties
from kernelwright.envs.system.hardware import gpus
from kernelwright.envs.types import Candidate, Evaluation, Verdict

LIMIT_S = 120.0
LOG_AT_MOST = 4096
TUNING_LIMIT_S = 60.0
MOST_CONFIGURATIONS = 7
"""Of autotuned kernels, besides the first that fits: on a GPU each is timed."""


class _Steps(Strict):
    """One case's calls but for their code, which all cases have in common."""

    steps: Annotated[list[Step], Field(max_length=CALLS * MOST_STEPS, fail_fast=True)]
    buffers: Annotated[dict[str, Count], Field(max_length=CALLS * MOST_STEPS)]
    constants: Annotated[dict[str, str], Field(max_length=CALLS * MOST_STEPS)]
    record: Record


class _Traced(Strict):
    plans: list[_Steps]
    others: list[list[_Steps]] = Field(default_factory=list, max_length=MOST_CONFIGURATIONS)
    """The same with other configurations of autotuned kernels."""
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
            on_device=traces.replay(),
        )
        return launched(built, cases, sandboxes, lambda: traces.cases(ARCHITECTURE))


class _Traces:
    """The plans of an answer: for an architecture all cases are traced together, and once, within
    the limits of one run."""

    def __init__(
        self, candidate: Candidate, specs: Sequence[CaseSpec], sandboxes: Sandboxes
    ) -> None:
        self.candidate, self.specs, self.sandboxes = candidate, specs, sandboxes
        self.known: dict[int, list[Plan] | Evaluation] = {}

    def cases(self, architecture: int) -> Cases | Evaluation:
        """Each case with its plan."""
        if architecture not in self.known:
            self.known[architecture] = traced(
                self.candidate, self.specs, self.sandboxes, architecture
            )
        found = self.known[architecture]
        return found if isinstance(found, Evaluation) else [*zip(self.specs, found, strict=True)]

    def replay(self) -> GpuReplay:
        def trace(case: CaseSpec, architecture: int) -> Plan | Evaluation:
            found = self.cases(architecture)
            return found if isinstance(found, Evaluation) else dict(found)[case]

        def others(architecture: int) -> list[GpuReplay]:
            first = self.cases(architecture)
            if isinstance(first, Evaluation):
                return []
            found = retuned(first, self.candidate, self.sandboxes, architecture)
            return [_replay(dict(zip(self.specs, one, strict=True))) for one in found]

        return GpuReplay(trace=trace, assembler=assembler(), others=others)


def _replay(plans: Mapping[CaseSpec, Plan]) -> GpuReplay:
    return GpuReplay(trace=lambda case, _: plans[case], assembler=assembler())


def traced(
    candidate: Candidate, specs: Sequence[CaseSpec], sandboxes: Sandboxes, architecture: int
) -> list[Plan] | Evaluation:
    """What the answer launches for each case, with its kernels compiled for this architecture: of
    autotuned ones the first configuration that fits."""
    made = _run(candidate, specs, sandboxes, architecture, 0, LIMIT_S)
    if made.failure:
        return import_failed(made)
    try:
        found = _Traced.model_validate_json(made.artefact)
        plans = _plans(found.plans, specs, found.kernels)
    except Exception as error:  # noqa: BLE001  the named boundary: an answer could write all of it
        return misused(error)
    return refused(candidate, plans) or plans


def retuned(
    first: Cases, candidate: Candidate, sandboxes: Sandboxes, architecture: int
) -> list[list[Plan]]:
    """The plans with other configurations of autotuned kernels than the first has, as far as they
    launch something else. None where a trace of them fails: it says nothing about the first."""
    specs, plans = [spec for spec, _ in first], [plan for _, plan in first]
    if not any(plan.first for plan in plans):  # no autotuner was at work in any first call
        return []
    made = _run(candidate, specs, sandboxes, architecture, MOST_CONFIGURATIONS, TUNING_LIMIT_S)
    if made.failure:
        return []
    known = {_launches(plans)}
    found: list[list[Plan]] = []
    with suppress(Exception):  # the named boundary: an answer could write all of it
        told = _Traced.model_validate_json(made.artefact)
        known.add(_launches(_plans(told.plans, specs, told.kernels)))
        for steps in told.others:
            one = _plans(steps, specs, told.kernels)
            replayable = all(it.computes and not it.left_out and not it.asks_torch for it in one)
            if replayable and _launches(one) not in known:
                known.add(_launches(one))
                found.append(one)
    return found


def _run(
    candidate: Candidate,
    specs: Sequence[CaseSpec],
    sandboxes: Sandboxes,
    architecture: int,
    others: int,
    limit_s: float,
) -> BuildResult:
    """The answer's trace, with at most so many other configurations."""
    layouts = [json.loads(python_layout(spec)) for spec in specs]
    allowed = "torch" if candidate.torch_allowed else ""
    return compile_once(
        sandboxes.of(Runtime.PYTHON),
        [device_word(device_properties(architecture)), allowed, str(architecture), str(others)],
        {"candidate.py": candidate.source, "layouts.json": json.dumps(layouts)},
        mode="trace",
        limits=replace(TRITON_LIMITS, room_bytes=room_for(specs)),
        limit_s=limit_s,
    )


def _launches(plans: Sequence[Plan]) -> str:
    """What these launch after the first call, as text: without what was tried before."""
    found = [(it.code, it.grid, it.block, it.cluster) for one in plans for it in one.launches]
    return repr(found)


def _plans(
    found: Sequence[_Steps], specs: Sequence[CaseSpec], kernels: Sequence[Kernel]
) -> list[Plan]:
    """Raises ValueError where there is not one for each case."""
    if len(found) != len(specs):
        raise ValueError(f"{len(found)} plans for {len(specs)} cases")
    return [_plan(one, spec, kernels) for one, spec in zip(found, specs, strict=True)]


def _plan(one: _Steps, spec: CaseSpec, kernels: Sequence[Kernel]) -> Plan:
    plan = Plan(steps=[], buffers=one.buffers, constants=one.constants, kernels=[])
    plan = last_call(plan, one.steps, one.record, [it.size_bytes for it in spec.outputs])
    used = {it.code for it in plan.all_launches}
    return plan.model_copy(update={"kernels": [it for it in kernels if it.code in used]})


def trace(
    candidate: Candidate, spec: CaseSpec, sandboxes: Sandboxes, architecture: int
) -> Plan | Evaluation:
    """The same of one case, with the first configuration."""
    found = traced(candidate, [spec], sandboxes, architecture)
    return found if isinstance(found, Evaluation) else found[0]


def assembler() -> str:
    """Triton's own assembler; a newer one lies beside it (envs/plan/assemble.py)."""
    return str((triton_tools() or Path()) / "ptxas")


DIALECT = Triton()
