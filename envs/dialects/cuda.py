"""`cuda`: one CUDA C++ source with the native ABI, built by nvcc for three generations of GPUs.

Without a GPU it is built, its host code is run against a runtime that only writes down what is
launched (native/recorder.h), and its device code is described: registers, spills, shared memory,
and the instructions that it consists of. Whether it computes the right thing stays open.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envs.abi import CaseSpec, glue, signature
from envs.compile import Compiled, compile_once
from envs.dialects.base import Built, OnDevice, failed, too_large
from envs.dialects.device import ARCHITECTURES
from envs.dialects.plan import MOST_STEPS, Copy, Fill, Kernel, Launch, Place, Plan, Step
from envs.layout import native_layout
from envs.sandboxes import Runtime, Sandboxes
from envs.toolchain import nvcc_path
from envs.types import Dialect, Evaluation, Verdict
from envs.zygote import RUN_LIMITS, Limits, Starts

FLAGS = ("-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-cudart", "none")
LIMITS = Limits(
    memory_bytes=4 << 30, file_bytes=64 << 20, processes=64, cpu_seconds=60, starts=Starts.PROCESSES
)
LIMIT_S = 60.0
TRACE_LIMIT_S = 10.0
NOT_LOADABLE = 65
FIRST_TENSOR = 0x7F0000000000
"""Where the first tensor lies for host code that is traced (native/recorder.h)."""
POINTER_DIGITS = 16

_SCRIPT = """
set -e; mkdir keep; "$@"; cd keep
for name in {names}; do
  {ptxas} -v -arch=sm_$name glue.compute_$name.ptx -o /dev/null 2> $name.info
done
tar -cf - -C /scratch kernel.so -C /scratch/keep *.ptx *.info >&3
"""


class Cuda:
    task = "Write a CUDA C++ kernel and its launch for this PyTorch module."
    fences: tuple[str, ...] = ("cuda", "cpp", "cu", "c++", "")

    def form(self, spec: CaseSpec) -> str:
        return f"```cpp\n{signature(spec, Dialect.CUDA)}\n```"

    def build(
        self, source: str, specs: Sequence[CaseSpec], sandboxes: Sandboxes
    ) -> Built | Evaluation:
        if refused := too_large(source):
            return refused
        made = compiled(source, specs[0], sandboxes)
        if made is None:
            return failed("no_nvcc", "nvcc is not on the PATH", Verdict.UNJUDGED)
        if made.failure:
            return failed(made.failure, made.log)
        files = members(made.artefact)
        plan = trace(files, specs[0], sandboxes)
        if isinstance(plan, Evaluation):
            return plan
        if not plan.launches:
            return failed("no_custom_kernel", "no kernel was launched", Verdict.CHEATED)
        sizes = (("library_bytes", float(len(files["kernel.so"]))),)
        launches = (("launches", float(len(plan.launches))),)
        return Built(
            files=(("kernel.so", files["kernel.so"]),),
            runtime=None,
            log=made.log,
            facts=(*sizes, *launches, *plan.facts()),
            timed=False,
            on_device=OnDevice(
                trace=lambda case, _: trace(files, case, sandboxes),
                assembler=assembler(nvcc_path() or ""),
            ),
        )


def compiled(source: str, spec: CaseSpec, sandboxes: Sandboxes) -> Compiled | None:
    """A tar archive of the library, its PTX and the assembler's reports; None without nvcc."""
    compiler = nvcc_path()
    if compiler is None:
        return None
    return compile_once(
        sandboxes.of(Runtime.NATIVE),
        ["/bin/sh", "-c", _script(compiler), "sh", *nvcc_command(compiler)],
        {"candidate.cu": source, "glue.cu": glue(spec, Dialect.CUDA)},
        limits=LIMITS,
        limit_s=LIMIT_S,
    )


def trace(files: Mapping[str, bytes], spec: CaseSpec, sandboxes: Sandboxes) -> Plan | Evaluation:
    """What the host code launches, run once in the sandbox without a device."""
    kernels = [
        Kernel(
            name="glue",
            target=f"sm_{name}",
            ptx=files[f"glue.compute_{name}.ptx"].decode(),
            info=files[f"{name}.info"].decode(),
        )
        for name in ARCHITECTURES
    ]
    made = compile_once(
        sandboxes.of(Runtime.NATIVE),
        [],
        {
            "kernel.so": files["kernel.so"],
            "layout": native_layout(spec),
            "parameters": parameter_lines(kernels[0].ptx),
        },
        mode="trace",
        limits=RUN_LIMITS,
        limit_s=TRACE_LIMIT_S,
    )
    if made.failure or not made.artefact.endswith(b'{"done":true}\n'):
        return host_failed(made)
    lines = made.artefact.splitlines()[:-1]
    if len(lines) > MOST_STEPS:
        log = f"{len(lines)} launches and allocations in one call, at most {MOST_STEPS} are read"
        return failed("too_many_launches", log, Verdict.TIMED_OUT)
    try:
        events = [json.loads(line) for line in lines]
        return plan_of(events, spec, kernels)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return failed("protocol_violation", f"the launches make no sense: {error}", Verdict.CHEATED)


def host_failed(made: Compiled) -> Evaluation:
    """The evaluation of an answer whose host code did not come to its end."""
    if made.status is None:
        return failed("host_timeout", made.log, Verdict.TIMED_OUT)
    if made.status == NOT_LOADABLE:
        missing = "undefined symbol: kernel" in made.log
        return failed("no_kernel_function" if missing else "not_loadable", made.log)
    if made.status > 128:
        return failed(f"signal_{made.status - 128}", made.log, Verdict.CRASHED)
    return failed(f"exit_{made.status}", made.log, Verdict.CRASHED)


class Addresses:
    """Which tensor lies where, for host code that was traced; `known` are its kernels, with the
    sizes of their parameters."""

    def __init__(
        self,
        spec: CaseSpec,
        news: Sequence[tuple[int, int]],
        known: Mapping[str, Sequence[int]],
    ) -> None:
        self.known = known
        self.left_out: str | None = None
        self.ranges = [
            *((f"new.{number}", at, size) for number, (at, size) in enumerate(news)),
            *(
                (tensor.name, FIRST_TENSOR + (number << 36), tensor.size_bytes)
                for number, tensor in enumerate(spec.tensors)
            ),
        ]

    def place(self, address: int) -> Place:
        """Raises ValueError where nothing lies."""
        for name, start, size in self.ranges:
            if start <= address <= start + size:
                return Place(tensor=name, offset=address - start)
        raise ValueError(f"{address:#x} is in no tensor")

    def argument(self, digits: str) -> Place | str:
        """A pointer where the bytes are one, else the bytes."""
        words = memoryview(bytes.fromhex(digits)[: len(digits) // 16 * 8]).cast("Q")
        for word in words:
            try:
                place = self.place(word)
            except ValueError:
                continue
            if len(digits) == POINTER_DIGITS:
                return place
            self.left_out = "a pointer inside a struct that a kernel is given"
        return digits

    def step(self, event: dict[str, Any]) -> Step | None:
        """The step that an event of the recorder's is, if it is one; ValueError if it is none."""
        match event:
            case {"kernel": name, "arguments": [*given]}:
                sizes = [len(digits) // 2 for digits in given]
                if self.known.get(name) != sizes:
                    raise ValueError(f"no kernel {name} takes arguments of {sizes} bytes")
                return Launch(**{**event, "arguments": [self.argument(one) for one in given]})
            case {"set": int(value), "at": at, "bytes": size}:
                return Fill(at=self.place(at), fill=f"{value & 255:02x}", bytes=size)
            case {"copied": size, "at": to, "from": source}:
                return Copy(source=self.place(source), to=self.place(to), bytes=size)
            case {"allocated": _} | {"left_out": _}:
                return None
        raise ValueError(f"no event is {event}")


def plan_of(events: Sequence[Any], spec: CaseSpec, kernels: list[Kernel]) -> Plan:
    """The recorder's events with their addresses put into words.

    Raises ValueError, TypeError or KeyError where the recorder would not have written them.
    """
    news = [(one["at"], one["allocated"]) for one in events if "allocated" in one]
    addresses = Addresses(spec, news, parameters_of(kernels[0].ptx))
    steps = [one for one in map(addresses.step, events) if one]
    left_out = next((one["left_out"] for one in events if "left_out" in one), addresses.left_out)
    buffers = {f"new.{number}": size for number, (_, size) in enumerate(news)}
    return Plan(steps=steps, buffers=buffers, kernels=kernels, left_out=left_out)


def parameter_lines(ptx: str) -> str:
    """A line for each kernel: its name, and the sizes of its parameters (native/recorder.h)."""
    rows = parameters_of(ptx).items()
    return "".join(" ".join(map(str, [name, *sizes])) + "\n" for name, sizes in rows)


def parameters_of(ptx: str) -> dict[str, list[int]]:
    """Kernel of the PTX → the size in bytes of each of its parameters.

    >>> parameters_of(".visible .entry f(.param .u64 f_param_0, .param .align 8 .b8 p[24])")
    {'f': [8, 24]}
    """
    found = {}
    for name, body in re.findall(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)", ptx):
        rows = re.findall(r"\.param\s+(?:\.align \d+\s+)?\.\w?(\d+)\s+[^,\[]*(?:\[(\d+)\])?", body)
        found[name] = [int(bits) // 8 * int(count or 1) for bits, count in rows]
    return found


def nvcc_command(compiler: str) -> list[str]:
    """The line that builds glue.cu, and leaves what it made on the way in `keep`."""
    targets = [
        word
        for name in ARCHITECTURES
        for word in ("-gencode", f"arch=compute_{name},code=sm_{name}")
    ]
    kept = ["--keep", "--keep-dir", "keep"]
    return [compiler, *FLAGS, *targets, *kept, "-o", "kernel.so", "glue.cu"]


def members(archive: bytes) -> dict[str, bytes]:
    """Base name → content of the plain files in a tar archive; links and the like are left out."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        found = {}
        for member in tar:
            file = tar.extractfile(member) if member.isreg() else None
            if file is not None:
                found[member.name.rpartition("/")[2]] = file.read()
        return found


def _script(compiler: str) -> str:
    return _SCRIPT.format(names=" ".join(map(str, ARCHITECTURES)), ptxas=assembler(compiler))


def assembler(compiler: str) -> str:
    """The ptxas that belongs to this nvcc."""
    return str(Path(compiler).resolve().with_name("ptxas"))


CUDA = Cuda()
