"""The libraries that an `inline` answer wants, built apart from running, as cheaply as possible."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.envs.dialects import nvcc
from kernelwright.envs.dialects.base import failed, unsupported
from kernelwright.envs.dialects.inline_extension import RUNTIME, STEM, Extension
from kernelwright.envs.policy.symbols import foreign
from kernelwright.envs.replay.plan import Kernel
from kernelwright.envs.replay.trace import parameter_lines
from kernelwright.envs.sandbox.build import BuildResult, compile_once
from kernelwright.envs.sandbox.limits import EXTENSION_LIMITS
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes
from kernelwright.envs.sandbox.toolchain import NATIVE, SandboxUnavailableError, nvcc_path
from kernelwright.envs.types import Evaluation, Verdict

BUILD_LIMIT_S = 100.0
"""For all extensions together: a judge that waits too long has no verdict."""
LIGHT_LIMIT_S = 60.0
TORCHS_OWN = re.compile(r"torch|\bat::|\bc10|ATen|\bAT_|TORCH_|C10_|pybind|\bpy\b|\bstd\b")
"""What the light header might have had, and has not."""


@dataclass(frozen=True, slots=True)
class Library:
    """An extension that is built; `kernels` are its device code, where it can be traced."""

    extension: Extension
    light: bool
    content: bytes
    kernels: list[Kernel]

    def told(self, path: str) -> dict[str, Any]:
        """What guest/load_inline.py is told about it."""
        return {
            "path": path,
            "light": self.light,
            "functions": self.extension.functions,
            "parameters": parameter_lines(self.kernels[0].ptx) if self.kernels else None,
        }


def build_all(wanted: Sequence[Extension], sandboxes: Sandboxes) -> list[Library] | Evaluation:
    """All libraries that an answer wants, within one limit of time."""
    if any(one.cuda_sources for one in wanted) and nvcc_path() is None:
        return failed("no_nvcc", "nvcc is not on the PATH", Verdict.UNJUDGED)
    found = []
    end = time.monotonic() + BUILD_LIMIT_S
    for extension in wanted:
        light, made = build_extension(extension, sandboxes, max(0.0, end - time.monotonic()))
        if (
            made.failure == "compile_error"
            and extension.cuda_sources
            and (name := _asked(made.log))
        ):
            return unsupported(name, made.log)
        if made.failure:
            return failed(made.failure, made.log)
        content, kernels = made.artefact, list[Kernel]()
        if extension.cuda_sources:
            try:
                content, kernels = nvcc.unpacked(made.artefact, STEM, extension.name)
            except nvcc.OddArchiveError as error:
                return failed("protocol_violation", str(error), Verdict.CHEATED)
        if not extension.cuda_sources and (name := foreign(content, light=light)):
            return failed("foreign_code", f"the library asks for {name}", Verdict.CHEATED)
        found.append(Library(extension, light, content, kernels))
    return found


def build_extension(
    extension: Extension, sandboxes: Sandboxes, limit_s: float = BUILD_LIMIT_S
) -> tuple[bool, BuildResult]:
    """(whether the light header was enough, what was built), as cheaply as it can be had.

    What has CUDA in it can only be traced, and only with the light header.
    """
    started = time.monotonic()
    limits_s = min(LIGHT_LIMIT_S, limit_s)
    if extension.cuda_sources:
        return True, _traceable(extension, sandboxes, limits_s)
    if extension.callable:
        made = _runnable(extension, sandboxes, limits_s, light=True)
        if made.failure != "compile_error" or "undefined reference" in made.log:
            return True, made
    left_s = max(0.0, limit_s - (time.monotonic() - started))
    return False, _runnable(extension, sandboxes, left_s, light=False)


def _runnable(
    extension: Extension, sandboxes: Sandboxes, limit_s: float, *, light: bool
) -> BuildResult:
    return compile_once(
        sandboxes.of(Runtime.NATIVE),
        extension.command(light=light),
        extension.files(light=light),
        limits=EXTENSION_LIMITS,
        limit_s=limit_s,
    )


def _traceable(extension: Extension, sandboxes: Sandboxes, limit_s: float) -> BuildResult:
    return compile_once(
        sandboxes.of(Runtime.NATIVE),
        extension.traced_command(),
        {**extension.files(light=True), RUNTIME: _runtime(sandboxes)},
        limits=EXTENSION_LIMITS,
        limit_s=limit_s,
    )


def _asked(log: str) -> str | None:
    """The first thing that a compiler misses and that PyTorch's own headers may have, by name."""
    lines = (line for line in log.splitlines() if re.search(r"\berror\b", line))
    first = next((line for line in lines if TORCHS_OWN.search(line)), None)
    if first is None:
        return None
    quoted = re.search(r"""["'‘]([\w:.<>/ ]+)["'’]""", first)
    return quoted[1].replace(" ", "") if quoted else "torch_header"


def _runtime(sandboxes: Sandboxes) -> bytes:
    """The object file of the runtime that records, the same for all."""
    files = {name: (NATIVE / name).read_text() for name in ("recording.cpp", "recorder.h")}
    line = [nvcc_path() or "", "-std=c++20", "-Xcompiler", "-fPIC", "-c", "recording.cpp"]
    line += ["-o", "made.o"]
    made = compile_once(
        sandboxes.of(Runtime.NATIVE),
        ["/bin/sh", "-c", '"$@" && cat made.o >&3', "sh", *line],
        files,
    )
    if made.failure:
        raise SandboxUnavailableError(f"our own recording.cpp does not build: {made.log}")
    return made.artefact
