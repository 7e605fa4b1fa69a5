"""Interface of a dialect: how an answer is prompted for, extracted, built and run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.plan.plan import GpuReplay
from kernelwright.envs.referee.exit_codes import EXITS
from kernelwright.envs.sandbox.build import BUILD_LIMIT_S, BuildResult, compile_once
from kernelwright.envs.sandbox.runtimes import Runtime, Sandboxes
from kernelwright.envs.sandbox.toolchain import compiler_path, native_flags
from kernelwright.envs.types import UNSUPPORTED, Candidate, Evaluation, Verdict

SOURCE_LIMIT_BYTES = 1 << 18
REASON_LETTERS, LOG_LETTERS = 200, 1 << 15
"""Limits of a reason and a log: an answer can put text of its own into both."""
ROOM_TIMES = 8
"""A trace has inputs twice and three calls, whose tensors all stay until the case is done."""
LIBRARY = "kernel.so"
"""Name of the built library."""
MODULE = "ModelNew"
"""Name of the class that a Python answer defines."""
ANOTHER_KERNEL = "kernel in a ```cpp block, with the same signature"
ANOTHER_MODULE = "module in a ```python block, with the same `ModelNew`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """An answer that can be played: the files that its process finds, `LIBRARY` among them.

    `playable` False: this machine can build the answer and not run it. `timed` False: its speed
    here means nothing, as for emulated device code. With a GPU `on_device` replaces both.
    """

    files: tuple[tuple[str, bytes], ...]
    playable: bool = True
    log: str = ""
    facts: tuple[tuple[str, float], ...] = ()
    timed: bool = True
    on_device: GpuReplay | None = None
    emulated: bool = False
    """Whether its device code runs translated to the CPU (envs/ptx)."""
    remembers: frozenset[CaseSpec] = frozenset()
    """Cases whose first call differs from later calls."""
    with_torch: bool = False
    """Whether it is played beside PyTorch, which computes a part of it."""
    on_cpu: Callable[[], Built | Evaluation] | None = None
    """Beside `on_device`: builds it translated to the CPU, for its smallest case alone."""
    without: Callable[[], Built | Evaluation] | None = None
    """Builds the answer less its own kernels, which should be wrong; None where it must be."""


def room_for(specs: Sequence[CaseSpec]) -> int:
    """Address space of a trace for the tensors of these cases: inputs, outputs, and what is made
    on the way."""
    return ROOM_TIMES * sum(one.size_bytes for spec in specs for one in spec.tensors)


class DialectSpec(Protocol):
    """A dialect. It holds no state."""

    task: str
    """The sentence that opens the prompt."""
    fences: tuple[str, ...]
    """The languages that mark a code block as an answer."""
    mark: str
    """The fence language of prompts and examples."""
    another: str
    """Ends the request for another kernel: "one complete ..."."""
    entry: str
    """Name that an answer defines: `kernel`, a C function, or `ModelNew`, a Python class."""
    suffix: str
    """Suffix of a file that holds an answer."""
    sign: re.Pattern[str] | None
    """Pattern that identifies a Python file of this dialect; None if the suffix does."""
    lexer: str
    """Name of the language in Pygments."""
    is_device_code: bool
    """Whether it computes on a GPU. On a CPU its answers are checked, and have no speed."""
    runs_on_gpu: bool
    """Whether its answers run on a GPU if the machine has one."""
    has_triples: bool
    """Whether SFT has examples in it (data/triples/templates.py)."""

    def lacking(self) -> str | None:
        """Name of the program or module that is missing to run an answer ("nvcc"); else None."""

    def form(self, spec: CaseSpec) -> str:
        """The prompt's text about the form of an answer, below the module and its sizes."""

    def build(
        self, candidate: Candidate, specs: Sequence[CaseSpec], sandboxes: Sandboxes
    ) -> Built | Evaluation:
        """The answer, ready to be played on these cases; or the evaluation that says why not.

        Facts that hold for all sizes are determined on the first case.
        """


def shared_library(
    words: Sequence[str],
    files: Mapping[str, str],
    sandboxes: Sandboxes,
    limit_s: float = BUILD_LIMIT_S,
) -> BuildResult:
    """The library that g++ builds from these files, with these options besides the usual ones."""
    compiler = [compiler_path(), *native_flags()]
    return compile_once(
        sandboxes.of(Runtime.NATIVE),
        ["/bin/sh", "-c", f'"$@" && cat {LIBRARY} >&3', "sh", *compiler, *words],
        files,
        limit_s=limit_s,
    )


def failed(reason: str, log: str, verdict: Verdict = Verdict.BUILD_FAILED) -> Evaluation:
    """The evaluation of an answer that never ran."""
    return Evaluation(verdict=verdict, reason=reason[:REASON_LETTERS], log=log[:LOG_LETTERS])


def unsupported(name: str, log: str) -> Evaluation:
    """The evaluation of an answer that asks for what we cannot do, at any try.

    >>> unsupported("cudaIpcGetMemHandle", "").reason
    'unsupported:cudaIpcGetMemHandle'
    """
    return failed(f"{UNSUPPORTED}{name}", log)


def no_kernel_function(signature: str, log: str) -> Evaluation:
    """The evaluation of an answer that lacks what is called, with what was asked for."""
    return failed("no_kernel_function", f"it has to define\n{signature}\n{log}")


def too_large(source: str) -> Evaluation | None:
    """The verdict on a source that nobody reads because of its size; None where it is small."""
    size_bytes = len(source.encode("utf-8", "replace"))
    if size_bytes <= SOURCE_LIMIT_BYTES:
        return None
    log = f"{size_bytes} bytes of source, at most {SOURCE_LIMIT_BYTES} are read"
    return failed("source_too_large", log)


def import_failed(made: BuildResult) -> Evaluation:
    """The evaluation of a Python answer whose module could not be run to learn what it builds."""
    if made.status is None:
        return failed("import_timeout", made.log, Verdict.TIMED_OUT)
    verdict, reason = EXITS.get(made.status, (Verdict.BUILD_FAILED, "import_error"))
    return failed(reason, made.log, verdict)


def host_failed(made: BuildResult) -> Evaluation:
    """The evaluation of an answer whose host code, run without a device to learn what it launches,
    did not come to its end."""
    if made.status is None:
        return failed("host_timeout", made.log, Verdict.TIMED_OUT)
    if missing := re.search(r"undefined symbol: (cuda\w+)", made.log):
        return unsupported(missing[1], made.log)
    if made.status > 128:
        return failed(f"signal_{made.status - 128}", made.log, Verdict.CRASHED)
    verdict, reason = EXITS.get(made.status, (Verdict.CRASHED, f"exit_{made.status}"))
    built = reason == "forward_raised"  # what it gave to the compiler was built before that
    return failed(reason, made.log, Verdict.CRASHED if built else verdict)
