"""`inline`: KernelBench's answer, a `ModelNew` that gives C++ or CUDA kernels to `load_inline`.

The answer runs once to learn what it wants built; the sources are then built like any other, apart
from running, and the judged run finds the libraries ready. One that needs more than the light
header (dialects/inline_extension.py) falls back to torch's own, and the facts say so.

With CUDA in it nothing of an answer runs on a device but its kernels: without one it is traced to
learn what it launches, and that is replayed where there is a GPU.
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
    Built,
    failed,
    host_failed,
    import_failed,
    too_large,
)
from kernelwright.envs.dialects.emulated import on_cpu, plans_of
from kernelwright.envs.dialects.inline_build import Library, build_all
from kernelwright.envs.dialects.inline_extension import Extension
from kernelwright.envs.hardware import gpus
from kernelwright.envs.policy.python_screen import refused
from kernelwright.envs.referee.layout import python_layout
from kernelwright.envs.replay.plan import (
    MOST_STEPS,
    Before,
    Count,
    GpuReplay,
    Kernel,
    Place,
    Plan,
    Strict,
    second_alone,
)
from kernelwright.envs.replay.trace import Addresses, parameters_of
from kernelwright.envs.sandbox.build import compile_once
from kernelwright.envs.sandbox.limits import RECORD_LIMITS, TRACE_LIMITS, Starts
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.types import Evaluation, Verdict

RECORD_LIMIT_S = 20.0
EXTENSIONS_AT_MOST = 8
LOG_AT_MOST = 4096
_Calls = TypeAdapter(Annotated[list[Extension], Field(max_length=EXTENSIONS_AT_MOST)])


class _Recorded(Strict):
    """What guest/main.py writes of a call: steps of its own, and events of a library's runtime."""

    steps: Annotated[list[dict[str, Any]], Field(max_length=MOST_STEPS)]
    buffers: Annotated[dict[str, Count], Field(max_length=MOST_STEPS)]
    outputs: Annotated[list[Place], Field(max_length=MOST_STEPS)]
    left_out: str | None
    before: Before
    addresses: Annotated[dict[str, int], Field(max_length=2 * MOST_STEPS)]


class Inline:
    task = "Rewrite this PyTorch module as `ModelNew`, computing with `load_inline`."
    fences: tuple[str, ...] = ("python", "py", "")
    mark, another = "python", ANOTHER_MODULE
    suffix, lexer = ".py", "python"
    sign = re.compile("load_inline")
    is_device_code = False
    has_triples = False

    def lacking(self) -> str | None:
        return None

    def form(self, spec: CaseSpec) -> str:
        return (
            "`ModelNew` keeps the names and shapes of the parameters. All computing happens in "
            "kernels of its own, given to torch.utils.cpp_extension.load_inline at import. CUDA "
            "host code may use the runtime's launches, copies and attributes; its graphs, IPC and "
            "libraries such as cuBLAS are not supported."
        )

    def build(
        self, source: str, specs: Sequence[CaseSpec], sandboxes: Sandboxes
    ) -> Built | Evaluation:
        if rejected := too_large(source):
            return rejected
        wanted = record(source, specs[0], sandboxes)
        if isinstance(wanted, Evaluation):
            return wanted
        # Python that is only traced has no value which counts: there a name is no crime.
        on_device = any(one.cuda_sources for one in wanted)
        if not on_device and (why := refused(source)):
            return failed("forbidden_code", why, Verdict.CHEATED)
        if not wanted:
            return failed("no_custom_kernel", "load_inline was never called", Verdict.CHEATED)
        libraries = build_all(wanted, sandboxes)
        if isinstance(libraries, Evaluation):
            return libraries
        names = [f"extension{number}.so" for number in range(len(libraries))]
        told = {
            one.extension.name: one.told(f"/scratch/{name}")
            for name, one in zip(names, libraries, strict=True)
        }
        contents = [one.content for one in libraries]
        light = {f"{one.extension.name}.light_header": float(one.light) for one in libraries}
        built = Built(
            files=(
                ("candidate.py", source.encode("utf-8", "replace")),
                *zip(names, contents, strict=True),
            ),
            runtime=Runtime.PYTHON,
            words=(json.dumps(told),),
            facts=(("extensions", float(len(libraries))), *light.items()),
            starts=Starts.THREADS if all(light.values()) else Starts.NOTHING,
        )
        if not on_device:
            return built
        return _with_device_code(replace(built, runtime=None), libraries, specs, sandboxes)


def _with_device_code(
    built: Built, libraries: Sequence[Library], specs: Sequence[CaseSpec], sandboxes: Sandboxes
) -> Built | Evaluation:
    """What can be said about it without a device, how it gets onto one, and how it runs here."""
    kernels = [kernel for one in libraries for kernel in one.kernels]

    def traced(case: CaseSpec) -> Plan | Evaluation:
        return trace(built, case, kernels, sandboxes)

    plan = traced(specs[0])
    if isinstance(plan, Evaluation):
        return plan
    if not plan.launches:
        return failed("no_custom_kernel", "no kernel was launched", Verdict.CHEATED)
    launches = ("launches", float(len(plan.launches)))
    built = replace(
        built,
        facts=(*built.facts, launches, *plan.facts()),
        on_device=GpuReplay(
            trace=lambda case, _: traced(case), assembler=nvcc.assembler(nvcc_path() or "")
        ),
    )
    return built if gpus() else on_cpu(built, plans_of(plan, specs, traced), sandboxes)


def trace(
    built: Built, spec: CaseSpec, kernels: list[Kernel], sandboxes: Sandboxes
) -> Plan | Evaluation:
    """What the answer launches for this case, run once in the sandbox without a device."""
    told = {"libraries.json": built.words[0].encode(), "layout.json": python_layout(spec)}
    made = compile_once(
        sandboxes.of(Runtime.PYTHON),
        [],
        {**dict(built.files), **told},
        mode="launches",
        limits=TRACE_LIMITS,
        limit_s=RECORD_LIMIT_S,
    )
    if made.failure:
        return host_failed(made)
    try:
        return _plan(_Recorded.model_validate_json(made.artefact), spec, kernels)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return failed("launch_misused", str(error)[:LOG_AT_MOST], Verdict.CHEATED)


def _plan(found: _Recorded, spec: CaseSpec, kernels: list[Kernel]) -> Plan:
    sizes = {one.name: one.size_bytes for one in spec.inputs} | found.buffers
    ranges = [(name, at, sizes[name]) for name, at in found.addresses.items() if sizes[name]]
    first = [one for one in kernels if one.target == kernels[0].target]  # as `Library.told` says
    addresses = Addresses(ranges, {one.code: parameters_of(one.ptx) for one in first})
    steps: list[Any] = []
    firsts = 0
    for number, one in enumerate(found.steps):
        steps += addresses.steps([(one["event"], one["code"])]) if "event" in one else [one]
        if number < found.before.steps:
            firsts = len(steps)
    plan = Plan.model_validate(
        {
            "steps": steps,
            "buffers": found.buffers,
            "outputs": found.outputs,
            "kernels": kernels,
            "left_out": found.left_out or addresses.left_out,
        }
    )
    return second_alone(plan, firsts, found.before)


def record(source: str, spec: CaseSpec, sandboxes: Sandboxes) -> list[Extension] | Evaluation:
    """What the answer gives to `load_inline` when it is imported and made."""
    made = compile_once(
        sandboxes.of(Runtime.PYTHON),
        [spec.init, json.dumps("cuda_sources" in source)],
        {"candidate.py": source},
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
