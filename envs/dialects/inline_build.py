"""Builds the libraries that an `inline` answer passes to `load_inline`, apart from running the
answer."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.envs.dialects import nvcc
from kernelwright.envs.dialects.base import failed, shared_library, unsupported
from kernelwright.envs.dialects.inline_extension import STEM, Extension
from kernelwright.envs.plan.assemble import best_for
from kernelwright.envs.plan.plan import Kernel
from kernelwright.envs.plan.trace import kernel_lines
from kernelwright.envs.sandbox.build import BuildResult, compile_once
from kernelwright.envs.sandbox.limits import NVCC_LIMITS, RUN_LIMITS
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.system.device_properties import architecture_told
from kernelwright.envs.types import Evaluation, Verdict

BUILD_LIMIT_S = 100.0
"""For all extensions together: a judge that waits too long has no verdict."""
ONE_LIMIT_S = 60.0
TORCHS_OWN = re.compile(r"torch|\bat::|\bc10|ATen|\bAT_|TORCH_|C10_|pybind|\bpy\b|\bstd\b")
"""What our headers might have had, and have not."""
LACKING = re.compile(r"undefined reference to \W(cu[a-zA-Z]\w*)")
"""What of CUDA's own libraries the runtime that records has not."""


@dataclass(frozen=True, slots=True)
class Library:
    """An extension that is built; `kernels` are its device code, if it has any."""

    extension: Extension
    content: bytes
    kernels: list[Kernel]

    @property
    def parameters(self) -> str | None:
        """What guest/inline_trace.py is told about its kernels."""
        if not self.kernels:
            return None
        return kernel_lines(best_for(self.kernels, architecture_told()))


def build_all(wanted: Sequence[Extension], sandboxes: Sandboxes) -> list[Library] | Evaluation:
    """All libraries that an answer wants, within one limit of time."""
    if any(one.cuda_sources for one in wanted) and nvcc_path() is None:
        return failed("no_nvcc", "nvcc is not on the PATH", Verdict.UNJUDGED)
    found: list[Library] = []
    end = time.monotonic() + BUILD_LIMIT_S
    # PyTorch gives the same library for the same call again.
    for extension in {one.key: one for one in wanted}.values():
        limit_s = min(ONE_LIMIT_S, max(0.0, end - time.monotonic()))
        made = build_extension(extension, sandboxes, limit_s)
        if made.failure == "compile_error" and (
            name := nvcc.needs_newer(made.log) or _asked(made.log)
        ):
            return unsupported(name, made.log)
        if made.failure:
            return failed(made.failure, made.log)
        content, kernels = made.artefact, list[Kernel]()
        if extension.cuda_sources:
            try:
                content, kernels = nvcc.unpacked(made.artefact, STEM, extension.key)
            except nvcc.OddArchiveError as error:
                return failed("protocol_violation", str(error), Verdict.CHEATED)
        found.append(Library(extension, content, kernels))
        if sum(len(one.content) for one in found) > RUN_LIMITS.file_bytes:
            limit = f"its libraries have more than {RUN_LIMITS.file_bytes >> 20} MB\n"
            return failed("output_too_large", made.log + limit)
    return found


def build_extension(
    extension: Extension, sandboxes: Sandboxes, limit_s: float = ONE_LIMIT_S
) -> BuildResult:
    if not extension.cuda_sources:
        return shared_library(extension.words(), extension.files(), sandboxes, limit_s)
    return compile_once(
        sandboxes.of(Runtime.NATIVE),
        extension.traced_command(),
        {**extension.files(), nvcc.RUNTIME: nvcc.runtime("recording.cpp", sandboxes)},
        limits=NVCC_LIMITS,
        limit_s=limit_s,
    )


def _asked(log: str) -> str | None:
    """The first thing that is missed and that CUDA's libraries or PyTorch's headers may have, by
    name."""
    if lacking := LACKING.search(log):
        return lacking[1]
    lines = (line for line in log.splitlines() if re.search(r"\berror\b", line))
    first = next((line for line in lines if TORCHS_OWN.search(line)), None)
    if first is None:
        return None
    quoted = re.search(r"""["'‘]([\w:.<>/ ]+)["'’]""", first)
    return quoted[1].replace(" ", "") if quoted else "torch_header"
