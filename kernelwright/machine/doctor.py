"""Checks this machine: versions against their bounds, compiler, sandbox, hardware."""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.dialects.inline import record
from kernelwright.envs.sandbox.levels import require_level, sandbox_level
from kernelwright.envs.sandbox.process_level import LEVEL, NOT_HELD
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.sandbox.toolchain import SandboxUnavailableError, compiler_path, nvcc_path
from kernelwright.envs.sandbox.zygote import SandboxLostError
from kernelwright.envs.system.cores import cpu_name, usable_cores
from kernelwright.envs.system.hardware import Gpu, GpuError, memory_bytes, visible_gpus
from kernelwright.envs.system.tools import Tool, tool_path
from kernelwright.envs.types import Evaluation
from kernelwright.machine.facts import free_disk_bytes, install_command, is_checkout

GB = 1e9
SERVES = {Tool.SANITIZER: "judge --sanitize", Tool.PROFILER: "judge --profile"}
VECTOR_GLIBC = Version("2.35")
EXTRA = re.compile(r"extra == ['\"]([\w-]+)['\"]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One item; `ok` is None for plain information, `judging` marks items that the judge needs."""

    name: str
    found: str
    ok: bool | None = None
    judging: bool = False
    advice: str = ""


def examine() -> list[Check]:
    """Everything about this machine that decides what it can run."""
    sandbox = _sandbox()
    answers = [_python_answers()] if sandbox.ok else []
    compilers = (_compiler(), vector_functions(*platform.libc_ver()), _nvcc())
    return [*compilers, sandbox, *answers, *_hardware(), *_packages()]


def can_judge(checks: list[Check]) -> bool:
    """Whether everything that the judge needs is in order."""
    return not any(one.judging and one.ok is False for one in checks)


def _packages() -> list[Check]:
    try:
        return against(requires("kernelwright") or [])
    except PackageNotFoundError:
        advice = f"run `{install_command()}`"
        return [Check(name="kernelwright", found="not installed", ok=False, advice=advice)]


def against(requirements: Sequence[str]) -> list[Check]:
    """The installed versions of these requirements, and whether they are within bounds.

    If several extras bring a package, the smallest of them is named.
    """
    wanted = [one for one in map(Requirement, requirements) if _applies(one)]
    sizes = Counter(_extra(one) for one in wanted)
    first: dict[str, Requirement] = {}
    for one in sorted(wanted, key=lambda one: (_extra(one) is not None, sizes[_extra(one)])):
        first.setdefault(one.name, one)
    return [
        _package(one)
        for name, one in sorted(first.items())
        if name != "kernelwright" and (is_checkout() or _extra(one) != "dev")
    ]


def _applies(wanted: Requirement) -> bool:
    return wanted.marker is None or wanted.marker.evaluate({"extra": _extra(wanted) or ""})


def _extra(wanted: Requirement) -> str | None:
    """The extra that requires this package; None for the base."""
    found = EXTRA.search(str(wanted.marker or ""))
    return found[1] if found else None


def _package(wanted: Requirement) -> Check:
    extra, bounds = _extra(wanted), f"wanted {wanted.specifier}"
    install = f"run `{install_command(extra or '')}`"
    try:
        present = version(wanted.name)
    except PackageNotFoundError:
        found = f"not installed ({f'extra {extra}' if extra else bounds})"
        ok = None if extra else False
        return Check(name=wanted.name, found=found, ok=ok, judging=not extra, advice=install)
    ok = wanted.specifier.contains(present, prereleases=True)
    return Check(
        name=wanted.name,
        found=present if ok else f"{present} ({bounds})",
        ok=ok,
        judging=not extra,
        advice="" if ok else install,
    )


def _compiler() -> Check:
    try:
        return Check(name="g++", found=compiler_path(), ok=True, judging=True)
    except SandboxUnavailableError as error:
        return Check(name="g++", found="missing", ok=False, judging=True, advice=str(error))


def vector_functions(library: str, release: str) -> Check:
    """Whether this C library has what C++ examples call from loops: `tanh`, `erf`, `expm1` and
    `log1p` of whole vectors."""
    has = library == "glibc" and Version(release) >= VECTOR_GLIBC
    needs = f"glibc {VECTOR_GLIBC} on x86-64"
    advice = "" if has else f"C++ examples need {needs}; train in Triton or CUDA here"
    found = f"{library} {release}".strip() or "unknown C library"
    return Check(name="vector functions", found=found, ok=has, advice=advice)


def _nvcc() -> Check:
    """CUDA's compiler, without which CUDA answers are not built."""
    found = nvcc_path()
    if found:
        return Check(name="nvcc", found=found, ok=True)
    advice = f"for CUDA, run `{install_command('cuda')}`"
    return Check(name="nvcc", found="missing", advice=advice)


def _sandbox() -> Check:
    try:
        level = require_level("namespaces")
        found = f"{level}: {NOT_HELD}" if level == LEVEL else level
        return Check(name="sandbox", found=found, ok=True, judging=True)
    except GpuError:  # said in a line of its own; what judges depends on the GPU
        return Check(name="sandbox", found="not tried before the GPU is known")
    except SandboxUnavailableError as error:
        level = sandbox_level()
        return Check(name="sandbox", found=level, ok=False, judging=True, advice=str(error))


def _python_answers() -> Check:
    """Whether Python answers see, inside the sandbox, the packages that exist outside.

    Packages may be layered over the interpreter's own by a .pth file, or named by PYTHONPATH.
    """
    names = [name for name in ("torch", "triton") if find_spec(name)]
    imports = "".join(f"import {name}\n" for name in names)
    source = f"{imports}class ModelNew(torch.nn.Module):\n    pass\n"
    found, advice = f"{' and '.join(names)} found inside", ""
    sandboxes = None
    try:
        sandboxes = Sandboxes()
        made = record(source, CaseSpec(inputs=(), outputs=(), scalars=()), sandboxes)
        if isinstance(made, Evaluation):
            advice = made.log.strip().rpartition("\n")[2] or made.reason
    except (SandboxLostError, SandboxUnavailableError, OSError) as error:
        advice = f"{error}; what it printed stands above"
    finally:
        if sandboxes is not None:
            sandboxes.close()
    if advice:
        found = f"{' or '.join(names)} not found inside the sandbox"
        return Check(name="inline, triton", found=found, ok=False, advice=advice)
    return Check(name="inline, triton", found=found, ok=True)


def _hardware() -> Iterator[Check]:
    yield Check(name="processor", found=cpu_name())
    yield Check(name="cores", found=str(len(usable_cores())))
    yield Check(name="memory", found=f"{memory_bytes() / GB:.0f} GB")
    yield Check(name="disk", found=f"{free_disk_bytes(Path('runs')) / GB:.0f} GB free")
    yield from _gpus()


def _gpus() -> list[Check]:
    try:
        found = visible_gpus()
    except GpuError as error:
        return [Check(name="GPU", found="not usable", ok=False, judging=True, advice=str(error))]
    if not found:
        return [Check(name="GPU", found="none (cpp kernels need none)")]
    return [*map(_gpu, found), *map(_tool, Tool)]


def _tool(tool: Tool) -> Check:
    """A program that looks at answers on a GPU, where that is asked for."""
    return Check(name=tool, found=tool_path(tool, nvcc_path()) or f"missing ({SERVES[tool]})")


def _gpu(gpu: Gpu) -> Check:
    memory = f", {gpu.memory_bytes / GB:.0f} GB" if gpu.memory_bytes else ""
    return Check(name="GPU", found=gpu.name + memory, advice=gpu.too_old or "")
