"""C++ source in, a shared library out; or why not. The compiler runs in the sandbox."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass

from envs.abi import CaseSpec, glue
from envs.sandbox import BUILD_LIMITS, Zygote, sandbox_level
from envs.toolchain import compiler_path
from envs.types import Evaluation, Verdict

FLAGS = ("-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", "-fopenmp-simd", "-Wl,-z,defs")
"""No -ffast-math: it would change what NaN and infinity mean behind the candidate's back."""

SOURCE_LIMIT_BYTES = 1 << 18
LOG_LIMIT_BYTES = 16 << 10
BUILD_LIMIT_S = 30.0

_SCRIPT = '"$@" && cat kernel.so >&3'


@dataclass(frozen=True, slots=True)
class Built:
    """A shared library, as bytes that no path leads to."""

    library: bytes
    log: str


def build_cpp(source: str, spec: CaseSpec, zygote: Zygote) -> Built | Evaluation:
    """The library of this answer, or the evaluation that says why there is none."""
    level = sandbox_level()
    size_bytes = len(source.encode("utf-8", "replace"))
    if size_bytes > SOURCE_LIMIT_BYTES:
        log = f"{size_bytes} bytes of source, at most {SOURCE_LIMIT_BYTES} are read"
        return _failed("source_too_large", log, level)
    with tempfile.TemporaryFile() as log_file:
        code, library = _compile(zygote, source, glue(spec), log_file.fileno())
        log = _head(log_file.fileno())
    if code == 0 and library:
        return Built(library, log)
    return _failed(_reason(code, log), log, level)


def _compile(zygote: Zygote, source: str, call: str, log: int) -> tuple[int | None, bytes]:
    """(exit status, or None when the time was up; the library)."""
    files = [("candidate.cpp", memfd(source.encode("utf-8", "replace")))]
    files += [("glue.cpp", memfd(call.encode()))]
    artefact = os.memfd_create("library")
    command = ["/bin/sh", "-c", _SCRIPT, "sh", compiler_path(), *FLAGS, "-o", "kernel.so"]
    try:
        job = zygote.start(
            "exec",
            BUILD_LIMITS,
            command=[*command, "glue.cpp"],
            files=files,
            channel=artefact,
            log=log,
        )
        code = job.wait(BUILD_LIMIT_S)
        size = os.fstat(artefact).st_size
        return code, os.pread(artefact, size, 0)
    finally:
        for descriptor in (artefact, *(fd for _, fd in files)):
            os.close(descriptor)


def memfd(content: bytes) -> int:
    """A descriptor of an unnamed file that holds `content`, at its start."""
    descriptor = os.memfd_create("content", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _reason(code: int | None, log: str) -> str:
    if code is None:
        return "compile_timeout"
    if "undefined reference to `kernel'" in log:
        return "no_kernel_function"
    if "out of memory" in log or "Killed signal" in log or "cannot allocate memory" in log.lower():
        return "compile_memory"
    if "File size limit exceeded" in log:
        return "output_too_large"
    return "compile_error"


def _failed(reason: str, log: str, level: str) -> Evaluation:
    return Evaluation(verdict=Verdict.BUILD_FAILED, reason=reason, log=log, sandbox_level=level)


def _head(descriptor: int) -> str:
    return os.pread(descriptor, LOG_LIMIT_BYTES, 0).decode("utf-8", "replace")
