"""`inline`: KernelBench's answer, a `ModelNew` that gives C++ or CUDA kernels to `load_inline`.

The answer runs once to learn what it wants built; the sources are then built like any other, apart
from running. Then `forward` runs on invented numbers, and what it asks of its libraries is a plan:
functions of C++ that are called, or what such functions launch. Only that meets the inputs, in a
process without Python. Where there is a GPU all tensors are on it, and only launches count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.dialects import nvcc
from kernelwright.envs.dialects.base import (
    ANOTHER_MODULE,
    MODULE,
    Built,
    failed,
    host_failed,
    import_failed,
    room_for,
    too_large,
)
from kernelwright.envs.dialects.inline_build import Library, build_all
from kernelwright.envs.dialects.inline_extension import Extension
from kernelwright.envs.dialects.planned import (
    Cases,
    idle,
    launched,
    misused,
    on_host,
    refused,
    weighed,
)
from kernelwright.envs.plan.assemble import best_for
from kernelwright.envs.plan.calls import Record, last_call
from kernelwright.envs.plan.plan import CALLS, GpuReplay, Kernel, Plan
from kernelwright.envs.plan.steps import MOST_STEPS, Count, Step, Strict
from kernelwright.envs.plan.tables import library_file
from kernelwright.envs.plan.trace import Addresses
from kernelwright.envs.referee.layout import python_layout
from kernelwright.envs.sandbox.build import compile_once
from kernelwright.envs.sandbox.limits import RECORD_LIMITS, TRACE_LIMITS
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.system.architectures import device_word
from kernelwright.envs.system.device_properties import architecture_told, device_properties
from kernelwright.envs.system.hardware import gpus
from kernelwright.envs.types import Candidate, Evaluation, Verdict

RECORD_LIMIT_S, TRACE_LIMIT_S = 20.0, 60.0
EXTENSIONS_AT_MOST = 32
LOG_AT_MOST = 4096
NO_DEVICE_CODE = (
    "it gives load_inline no cuda_sources: with a GPU the tensors are there, and a function of C++ "
    "cannot read them"
)
_Calls = TypeAdapter(Annotated[list[Extension], Field(max_length=EXTENSIONS_AT_MOST)])


class _Recorded(Strict):
    """What guest/main.py writes of a call: steps of its own, and events of a library's runtime."""

    steps: Annotated[list[dict[str, Any]], Field(max_length=CALLS * MOST_STEPS, fail_fast=True)]
    buffers: Annotated[dict[str, Count], Field(max_length=CALLS * MOST_STEPS)]
    constants: Annotated[dict[str, str], Field(max_length=CALLS * MOST_STEPS)]
    record: Record
    addresses: Annotated[dict[str, int], Field(max_length=2 * CALLS * MOST_STEPS)]


_Plans = TypeAdapter(list[_Recorded])
_Steps = TypeAdapter(list[Step])


class Inline:
    task = "Rewrite this PyTorch module as `ModelNew`, computing with `load_inline`."
    fences: tuple[str, ...] = ("python", "py", "python3", "")
    mark, another, entry = "python", ANOTHER_MODULE, MODULE
    suffix, lexer = ".py", "python"
    sign = re.compile("load_inline")
    is_device_code = False
    runs_on_gpu = True
    has_triples = False

    def lacking(self) -> str | None:
        return "nvcc" if gpus() and nvcc_path() is None else None

    def form(self, spec: CaseSpec) -> str:
        kind, how, where = ("kernels", "", "")
        if gpus():
            kind, how = "CUDA kernels", " as `cuda_sources`"
            where = " Inputs and parameters are on the GPU."
        return (
            f"`ModelNew` keeps the names and shapes of the parameters. All computing happens in "
            f"{kind} of its own, given to torch.utils.cpp_extension.load_inline{how} at import."
            f"{where} CUDA host code may use the runtime's launches, copies and attributes; its "
            "graphs, IPC and libraries such as cuBLAS are not supported. Parameters may change "
            "between calls, and each call returns new memory."
        )

    def build(
        self, candidate: Candidate, specs: Sequence[CaseSpec], sandboxes: Sandboxes
    ) -> Built | Evaluation:
        source = candidate.source
        if rejected := too_large(source):
            return rejected
        wanted = record(source, specs[0], sandboxes)
        if isinstance(wanted, Evaluation):
            return wanted
        if not wanted:
            return failed("no_custom_kernel", "load_inline was never called", Verdict.CHEATED)
        if gpus() and not any(one.cuda_sources for one in wanted):
            return failed("no_device_code", NO_DEVICE_CODE)
        libraries = build_all(wanted, sandboxes)
        if isinstance(libraries, Evaluation):
            return libraries
        plans = traced(candidate, libraries, specs, sandboxes)
        if isinstance(plans, Evaluation):
            return plans
        for plan in plans:
            if not plan.computes:
                return idle(plan)
        cases = list(zip(specs, plans, strict=True))
        if any(one.kernels for one in libraries):
            return _with_device_code(libraries, cases, sandboxes)
        return _on_host(libraries, cases, sandboxes)


def _on_host(
    libraries: Sequence[Library], cases: Cases, sandboxes: Sandboxes
) -> Built | Evaluation:
    """Functions of C++, called by what is as native as they are."""
    names = [one.extension.key for one in libraries]
    parts = tuple((library_file(number), one.content) for number, one in enumerate(libraries))
    facts = (("extensions", float(len(parts))), ("calls", float(len(cases[0][1].calls))))
    built = weighed(Built(files=parts, facts=facts), cases, sandboxes)
    return on_host(built, cases, names, sandboxes)


def _with_device_code(
    libraries: Sequence[Library], cases: Cases, sandboxes: Sandboxes
) -> Built | Evaluation:
    """What can be said about it without a device, how it gets onto one, and how it runs here."""
    plans = list(cases)

    def trace(case: CaseSpec, _: int) -> Plan:
        return next(plan for spec, plan in plans if spec == case)

    plan = cases[0][1]
    launches = ("launches", float(len(plan.launches)))
    built = Built(
        files=(),
        playable=False,
        log=plan.refused or "",
        facts=(("extensions", float(len(libraries))), launches, *plan.facts()),
        on_device=GpuReplay(trace=trace, assembler=nvcc.assembler(nvcc_path() or "")),
    )
    return launched(built, cases, sandboxes)


def traced(
    candidate: Candidate,
    libraries: Sequence[Library],
    specs: Sequence[CaseSpec],
    sandboxes: Sandboxes,
) -> list[Plan] | Evaluation:
    """What the answer asks of its libraries for each case, run once in the sandbox."""
    told = {
        one.extension.key: {
            "path": f"/scratch/{library_file(number)}",
            "parameters": one.parameters,
        }
        for number, one in enumerate(libraries)
    }
    made = compile_once(
        sandboxes.of(Runtime.PYTHON),
        [device_word(device_properties()), "torch" if candidate.torch_allowed else ""],
        {
            "candidate.py": candidate.source,
            "libraries.json": json.dumps(told),
            "layouts.json": json.dumps([json.loads(python_layout(spec)) for spec in specs]),
            **{library_file(number): one.content for number, one in enumerate(libraries)},
        },
        mode="launches",
        limits=replace(TRACE_LIMITS, room_bytes=room_for(specs)),
        limit_s=TRACE_LIMIT_S,
    )
    if made.failure:
        return host_failed(made)
    kernels = [kernel for one in libraries for kernel in one.kernels]
    try:
        found = _Plans.validate_json(made.artefact)
        plans = [_plan(one, spec, kernels) for one, spec in zip(found, specs, strict=True)]
    except Exception as error:  # noqa: BLE001  the named boundary: an answer could write all of it
        return misused(error)
    return refused(candidate, plans) or plans


def _plan(found: _Recorded, spec: CaseSpec, kernels: list[Kernel]) -> Plan:
    sizes = {one.name: one.size_bytes for one in spec.inputs} | found.buffers
    ranges = [(name, at, sizes[name]) for name, at in found.addresses.items() if sizes[name]]
    codes = {one.code: [each for each in kernels if each.code == one.code] for one in kernels}
    best = [best_for(each, architecture_told()) for each in codes.values()]
    addresses = Addresses(ranges, {one.code: one.ptx for one in best})  # as `Library.parameters`
    steps: list[Any] = []
    ends = [0]
    for one in found.record.calls:
        for step in found.steps[ends[-1] : one.steps]:
            event = [(step["event"], step["code"])] if "event" in step else None
            steps += addresses.steps(event) if event else [step]
        ends.append(one.steps)
        one.steps = len(steps)
    plan = Plan(
        steps=[],
        buffers=found.buffers | addresses.buffers,
        constants=found.constants | addresses.constants,
        variables=addresses.variables,
        kernels=kernels,
        left_out=addresses.left_out,
        refused=addresses.refused,
    )
    sizes_bytes = [one.size_bytes for one in spec.outputs]
    return last_call(plan, _Steps.validate_python(steps), found.record, sizes_bytes)


def record(source: str, spec: CaseSpec, sandboxes: Sandboxes) -> list[Extension] | Evaluation:
    """What the answer gives to `load_inline` when it is imported, made, and called."""
    made = compile_once(
        sandboxes.of(Runtime.PYTHON),
        [device_word(device_properties()) if gpus() or "cuda_sources" in source else ""],
        {"candidate.py": source, "layout.json": python_layout(spec)},
        mode="record",
        limits=RECORD_LIMITS,
        limit_s=RECORD_LIMIT_S,
    )
    if made.failure:
        return import_failed(made)
    try:
        return _Calls.validate_json(made.artefact)
    except ValidationError as error:
        return failed("load_inline_misused", str(error)[:LOG_AT_MOST])


DIALECT = Inline()
