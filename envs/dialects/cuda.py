"""`cuda`: one CUDA C++ source with the native ABI, built by nvcc.

Without a GPU its host code runs against a runtime that only records launches (native/recorder.h).
Its device code is described for the generations of `ARCHITECTURES` (envs/system/architectures.py):
registers, spills, shared memory, and kinds of instructions. Then it runs on the CPU (envs/ptx).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

from kernelwright.envs.abi import C_TYPES, CaseSpec, NativeAbi, glue, signature
from kernelwright.envs.dialects import nvcc
from kernelwright.envs.dialects.base import (
    ANOTHER_KERNEL,
    LIBRARY,
    Built,
    failed,
    host_failed,
    no_kernel_function,
    too_large,
    unsupported,
)
from kernelwright.envs.dialects.planned import idle, launched, plans_of
from kernelwright.envs.plan.assemble import best_for
from kernelwright.envs.plan.calls import Ended, Record, TooManyStepsError, last_call
from kernelwright.envs.plan.plan import CALLS, GpuReplay, Kernel, Plan
from kernelwright.envs.plan.steps import MOST_STEPS, Step
from kernelwright.envs.plan.trace import Addresses, Range, kernel_lines
from kernelwright.envs.referee.exit_codes import NOT_LOADABLE
from kernelwright.envs.referee.layout import native_layout
from kernelwright.envs.sandbox.build import BuildResult, compile_once
from kernelwright.envs.sandbox.limits import NVCC_LIMITS, RUN_LIMITS
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.system.device_properties import architecture_told
from kernelwright.envs.types import Candidate, Evaluation, Verdict

LIMIT_S = 60.0
TRACE_LIMIT_S = 10.0
ABI = NativeAbi(
    name="cuda",
    file="candidate.cu",
    types={**C_TYPES, "float16": "__half", "bfloat16": "__nv_bfloat16"},
    last=(("cudaStream_t", "stream"),),
)
FIRST_TENSOR = 0x7F0000000000
"""Where the first tensor lies for host code that is traced (native/recorder.h)."""
STEM = "glue"


class Cuda:
    task = "Write a CUDA C++ kernel and its launch for this PyTorch module."
    fences: tuple[str, ...] = ("cuda", "cpp", "cu", "c++", "c", "cc", "cxx", "")
    mark, another, entry = "cpp", ANOTHER_KERNEL, "kernel"
    suffix, lexer = ".cu", "cuda"
    sign = None
    is_device_code = True
    runs_on_gpu = True
    has_triples = True

    def lacking(self) -> str | None:
        return None if nvcc_path() else "nvcc"

    def form(self, spec: CaseSpec) -> str:
        return f"```cpp\n{signature(spec, ABI)}\n```"

    def build(
        self, candidate: Candidate, specs: Sequence[CaseSpec], sandboxes: Sandboxes
    ) -> Built | Evaluation:
        source = candidate.source
        if refused := too_large(source):
            return refused
        made = compiled(source, specs[0], sandboxes)
        if made is None:
            return failed("no_nvcc", "nvcc is not on the PATH", Verdict.UNJUDGED)
        if made.failure == "compile_error" and (name := nvcc.needs_newer(made.log)):
            return unsupported(name, made.log)
        if made.failure:
            return failed(made.failure, made.log)
        try:
            library, kernels = nvcc.unpacked(made.artefact, STEM)
        except nvcc.OddArchiveError as error:
            return failed("protocol_violation", str(error), Verdict.CHEATED)
        plan = trace(library, kernels, specs[0], sandboxes)
        if isinstance(plan, Evaluation):
            return plan
        if not plan.computes:
            return idle(plan)
        sizes = (("library_bytes", float(len(library))),)
        launches = (("launches", float(len(plan.launches))),)

        known = {specs[0]: plan}

        def traced(case: CaseSpec) -> Plan | Evaluation:
            found = known.get(case) or trace(library, kernels, case, sandboxes)
            if isinstance(found, Plan):
                known[case] = found
            return found

        built = Built(
            files=((LIBRARY, library),),
            playable=False,
            log=made.log + (plan.refused or ""),
            facts=(*sizes, *launches, *plan.facts()),
            timed=False,
            on_device=GpuReplay(
                trace=lambda case, _: traced(case), assembler=nvcc.assembler(nvcc_path() or "")
            ),
        )
        return launched(built, plans_of(plan, specs, traced), sandboxes)


def compiled(source: str, spec: CaseSpec, sandboxes: Sandboxes) -> BuildResult | None:
    """A tar archive of the library, its PTX and the assembler's reports; None without nvcc."""
    compiler = nvcc_path()
    if compiler is None:
        return None
    return compile_once(
        sandboxes.of(Runtime.NATIVE),
        nvcc.command(
            compiler, ["-std=c++17", "-Xcompiler", "-Wno-deprecated"], [f"{STEM}.cu", nvcc.RUNTIME]
        ),
        {
            ABI.file: source,
            f"{STEM}.cu": glue(spec, ABI),
            nvcc.RUNTIME: nvcc.runtime("properties.cpp", sandboxes),
        },
        limits=NVCC_LIMITS,
        limit_s=LIMIT_S,
    )


def trace(
    library: bytes, kernels: list[Kernel], spec: CaseSpec, sandboxes: Sandboxes
) -> Plan | Evaluation:
    """What the host code launches, run once in the sandbox without a device."""
    made = compile_once(
        sandboxes.of(Runtime.NATIVE),
        [],
        {
            LIBRARY: library,
            # Behind the layout: how many inputs are parameters, which each call finds in one place.
            "layout": native_layout(spec) + struct.pack("<q", len(spec.state)),
            "kernels": kernel_lines(best_for(kernels, architecture_told())),
        },
        mode="trace",
        limits=RUN_LIMITS,
        limit_s=TRACE_LIMIT_S,
    )
    if made.failure or not made.artefact.endswith(b'{"done":true}\n'):
        if made.status == NOT_LOADABLE and "undefined symbol: kernel" in made.log:
            return no_kernel_function(signature(spec, ABI), made.log)
        return host_failed(made)
    lines = made.artefact.splitlines()[:-1]
    if len(lines) > CALLS * MOST_STEPS:
        log = f"{len(lines) // CALLS} launches and allocations in one call, at most {MOST_STEPS}"
        return failed("too_many_launches", f"{log} are read", Verdict.TIMED_OUT)
    try:
        events = [json.loads(line) for line in lines]
        return plan_of(events, spec, kernels)
    except TooManyStepsError as error:
        return failed("too_many_launches", str(error), Verdict.TIMED_OUT)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return failed("protocol_violation", f"the launches make no sense: {error}", Verdict.CHEATED)


def plan_of(events: Sequence[Any], spec: CaseSpec, kernels: list[Kernel]) -> Plan:
    """The recorder's events with their addresses put into words.

    Raises ValueError, TypeError or KeyError where the recorder would not have written them.
    """
    news = [(one["at"], one["allocated"]) for one in events if "allocated" in one]
    buffers = {f"new.{number}": size for number, (_, size) in enumerate(news)}
    ranges: list[Range] = [(f"new.{number}", at, size) for number, (at, size) in enumerate(news)]
    ranges += given_places(spec)
    code = best_for(kernels, architecture_told())
    addresses = Addresses(ranges, {"": code.ptx})
    steps: list[Step] = []
    calls, made, left_out = list[Ended](), 0, None
    for one in events:
        if "called" in one:
            calls.append(Ended(steps=len(steps), buffers=made, outputs=[], left_out=left_out))
            left_out = None
        elif "left_out" in one:
            left_out = left_out or one["left_out"]
        elif "allocated" in one:
            made += 1
        else:
            steps += addresses.steps([(one, "")])
    plan = Plan(
        steps=[],
        buffers=buffers | addresses.buffers,
        constants=addresses.constants,
        variables=addresses.variables,
        kernels=kernels,
        left_out=addresses.left_out,
        refused=addresses.refused,
    )
    return last_call(plan, steps, Record(inputs={}, calls=calls))


def given_places(spec: CaseSpec) -> list[Range]:
    """Where the problem's tensors lie in the calls that are traced (native/tracer.h): in the first,
    and, but for parameters, elsewhere in those after it."""
    count, inputs = len(spec.tensors), len(spec.inputs)
    states = range(inputs - len(spec.state), inputs)
    return [
        (tensor.name, FIRST_TENSOR + (number + count * later << 36), tensor.size_bytes)
        for number, tensor in enumerate(spec.tensors)
        for later in range(1 if number in states else 2)
    ]


DIALECT = Cuda()
