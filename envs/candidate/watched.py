"""Plays an answer on a GPU once more, under a tool of NVIDIA's that looks on.

What the tool says becomes facts and lines of the log. It decides nothing: an answer has the verdict
that it has without one, also where the tool fails or cannot be run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.envs.abi import smallest
from kernelwright.envs.device import profiler, sanitizer
from kernelwright.envs.device.client import GpuCandidate
from kernelwright.envs.device.memory import DeviceFullError
from kernelwright.envs.device.messages import Messages
from kernelwright.envs.plan.counters import Facts
from kernelwright.envs.plan.plan import GpuReplay
from kernelwright.envs.referee.rounds import CandidateFailedError
from kernelwright.envs.reference.client import Loaded
from kernelwright.envs.reference.draws import Draws
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.sandbox.toolchain import nvcc_path
from kernelwright.envs.system.hardware import DeviceLostError, Gpu
from kernelwright.envs.system.locks import exclusive
from kernelwright.envs.system.processes import living_below
from kernelwright.envs.system.tools import Tool, tool_path
from kernelwright.envs.types import Evaluation, Verdict

ROUND_LIMIT_S = 60.0
"""Of one round under a tool, with loading the code."""
END_LIMIT_S = 60.0
"""For a tool to write its report, once what it looks at has ended."""
HELP_LIMIT_S = 20.0

Found = tuple[Facts, list[str]]
"""Facts, and lines of the log."""


@dataclass(frozen=True, slots=True)
class Watched:
    """An answer that was judged, and where to play it again."""

    on_device: GpuReplay | None
    loaded: Loaded
    draws: Draws
    gpu: Gpu
    sandboxes: Sandboxes


class WatchedCandidate(GpuCandidate):
    """The process that replays, below a tool that writes its report once that process has ended.

    Raises OSError where the tool cannot be started.
    """

    def __init__(self, messages: Messages, tool: Sequence[str]) -> None:
        try:
            super().__init__(messages, ROUND_LIMIT_S, tool)
        except OSError:
            self.channel.close()
            self.log_file.close()
            raise

    def close(self) -> str:
        self.channel.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(END_LIMIT_S)
        for one in living_below(self.process.pid) if self.process.returncode is None else ():
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        return super().close()


def looked_at(evaluation: Evaluation, answer: Watched, tools: Sequence[Tool]) -> Evaluation:
    """The same evaluation with what these tools say of the answer. The sanitizer is asked about
    every answer, the profiler about correct ones."""
    found: list[Found] = []
    for tool in tools:
        if tool is Tool.SANITIZER:
            found += [_told(tool, answer, sanitized)]
        elif evaluation.verdict is Verdict.CORRECT:
            found += [_told(tool, answer, profiled)]
    facts = tuple(fact for some, _ in found for fact in some)
    lines = [line for _, some in found for line in some]
    log = evaluation.log
    if lines:
        log = "\n".join([*filter(None, [log.rstrip("\n")]), *lines, ""])
    return replace(evaluation, facts=(*evaluation.facts, *facts), log=log)


def _told(tool: Tool, answer: Watched, ask: Callable[[str, Watched, GpuReplay], Found]) -> Found:
    program = tool_path(tool, nvcc_path())
    if program is None:
        return (), [f"{tool}: it is not installed here"]
    if answer.on_device is None:
        return (), [f"{tool}: nothing of this answer runs on the GPU"]
    return ask(program, answer, answer.on_device)


def sanitized(program: str, answer: Watched, on_device: GpuReplay) -> Found:
    """What each checker of Compute Sanitizer says of the smallest case."""
    case = smallest(answer.loaded.specs)
    messages = Messages(on_device, answer.gpu, answer.sandboxes, bare=True)
    if isinstance(told := messages.of(answer.loaded.specs[case]), Evaluation):
        return (), [f"{Tool.SANITIZER}: there is nothing to replay: {told.reason}"]
    known = _help(program)
    facts: list[tuple[str, float]] = []
    lines: list[str] = []
    for checker in sanitizer.CHECKERS:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log")
            command = sanitizer.command(program, checker, log, known)
            said = _played(messages, answer, case, command)
            found = sanitizer.findings(checker, _text(log))
        if found is None:
            lines.append(f"{Tool.SANITIZER} {checker}: no report: {said}")
        else:
            facts += found[0]
            lines += found[1]
    return tuple(facts), lines


def profiled(program: str, answer: Watched, on_device: GpuReplay) -> Found:
    """What Nsight Compute counts in a call of the timed case, one after the first where that
    differs."""
    case = answer.loaded.timed
    messages = Messages(on_device, answer.gpu, answer.sandboxes)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        command = profiler.command(program, log, _first_launches(messages, answer, case))
        said = _played(messages, answer, case, command)
        text = _text(log)
    found = profiler.launches(text)
    if not any(found):
        return (), [f"{Tool.PROFILER}: {profiler.refusal(text, said)}"]
    return profiler.counters(found), []


def _first_launches(messages: Messages, answer: Watched, case: int) -> int:
    """Launches of a first call that is not as later ones are."""
    told = messages.of(answer.loaded.specs[case])
    first = None if isinstance(told, Evaluation) else json.loads(told)["first"]
    return sum("kernel" in step for step in first["steps"]) if first else 0


def _played(messages: Messages, answer: Watched, case: int, command: Sequence[str]) -> str:
    """Plays a round of this case below the command, two where the first call is not as later ones
    are; returns what went wrong, and the last line that the process or the tool printed."""
    spec = answer.loaded.specs[case]
    messages.prepare([spec])
    with answer.draws.of(answer.loaded, case, 0) as draw, exclusive(answer.gpu.uuid):
        try:
            device = WatchedCandidate(messages, command)
        except OSError as error:
            return f"it does not start: {error.strerror}"
        why = ""
        try:
            device.ready()
            device.prime(spec)
            for _ in range(1 + device.remembers(spec)):
                device.round(draw.inputs, spec)
        except (CandidateFailedError, DeviceLostError, DeviceFullError) as error:
            why = str(error)
        with suppress(DeviceLostError):
            why += " " + device.close().strip().rpartition("\n")[2]
    return why.strip()


def _help(program: str) -> str:
    """What the program says of its options; nothing where it does not say."""
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(
            [program, "--help"], capture_output=True, text=True, timeout=HELP_LIMIT_S, check=False
        ).stdout
    return ""


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
