"""Client of the reference process: secret inputs and their expected outputs.

Inputs are fresh in every round of a candidate, and the same for all candidates of a batch: no
candidate can tell another what it saw, and their speedups compare on equal data.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.codec import from_plain, to_plain
from kernelwright.envs.device.memory import LARGE_BYTES, DeviceFullError
from kernelwright.envs.referee.bulk import Level
from kernelwright.envs.referee.layout import MESSAGE_BYTES
from kernelwright.envs.referee.roofline import Work
from kernelwright.envs.referee.rounds import RoundPeer
from kernelwright.envs.referee.ties import Ranking, rankings_from
from kernelwright.envs.referee.tolerance import Array, Expected
from kernelwright.envs.reference.admitted import Admission
from kernelwright.envs.reference.module import Shapes
from kernelwright.envs.reference.on_meta import OnMeta
from kernelwright.envs.reference.replies import expected_from, level_from, losses_from, mapped
from kernelwright.envs.sandbox import rootfs
from kernelwright.envs.sandbox.limits import REFERENCE_LIMITS
from kernelwright.envs.sandbox.zygote import Zygote
from kernelwright.envs.system.cores import ONE_THREAD
from kernelwright.envs.system.hardware import Gpu
from kernelwright.envs.system.locks import exclusive
from kernelwright.envs.system.memfd import seal
from kernelwright.envs.system.paths import own_environment
from kernelwright.envs.types import Case, Precision, Problem, Tolerance, Verdict

ROUND_LIMIT_S = 60.0
END_LIMIT_S = 10.0


class ReferenceFailedError(RuntimeError):
    """The reference process refused a problem: never the candidate's fault. `what` is the reason,
    without the `line` of the module."""

    def __init__(self, error: str, what: str = "", line: int | None = None) -> None:
        super().__init__(error)
        self.what, self.line = what or error, line


class ReferenceGoneError(RuntimeError):
    """The reference process died: this worker is of no more use."""


@dataclass(frozen=True)
class Loaded:
    """A problem as the reference process knows it; one entry a case, of which it has more than the
    problem names (`judged_cases`): the first of those is the timed sizes with other values. Its
    rounds are played next to timed ones, so that a kernel cannot tell which of them is timed."""

    problem: Problem
    cases: tuple[Case, ...]
    specs: list[CaseSpec]
    tolerances: list[list[Tolerance]]
    """One for each output."""
    spreads: list[list[float]]
    """For each output, at least how far it varies from draw to draw."""
    levels: list[list[Level | None]]
    """For each output, how far plain loops are off; None where nobody holds that."""
    ranked: bool = False
    """Whether some outputs are indices that can be judged by what they point at."""
    precision: Precision = Precision.IEEE
    """What the tolerances and the expected outputs allow, and its rounds on a GPU have."""
    views: bool = True
    """Whether inputs lie as the problem has them, for an answer and for the module."""
    large: tuple[bool, ...] = ()
    """For each case, whether a GPU computes what is expected; empty where there is none."""

    def is_large(self, case: int) -> bool:
        return bool(self.large) and self.large[case]

    @cached_property
    def key(self) -> str:
        """The problem's: asked for in every round."""
        return self.problem.key

    @cached_property
    def timed(self) -> int:
        """The case on which candidates are timed."""
        return self.cases.index(self.problem.timed_case())

    def contiguous(self) -> Loaded:
        """The same for answers whose inputs are contiguous, as the module's then are; itself where
        no input is a view."""
        if not any(one.has_views for one in self.specs):
            return self
        return replace(self, specs=[one.contiguous() for one in self.specs], views=False)

    @property
    def other(self) -> int:
        """The case with the timed sizes and other values; the timed one where there is none."""
        own = len(self.problem.cases)
        return own if len(self.cases) > own else self.timed


@dataclass(frozen=True, slots=True)
class Draw:
    """One round's inputs (a sealed file), and the acceptable values of each output."""

    inputs: int
    expected: list[Expected]
    rankings: Callable[[], list[Ranking]]
    """What the indices among the outputs point into: asked for where they are other than those of
    the module."""
    losses: Callable[[], list[Array]]
    """What plain loops lose of each element of each output: asked for of a near miss."""

    @property
    def size_bytes(self) -> int:
        return os.fstat(self.inputs).st_size + sum(one.size_bytes for one in self.expected)

    def close(self) -> None:
        os.close(self.inputs)


class ReferenceProcess(RoundPeer):
    """The referee's line to `envs/reference/process.py`: draws, expectations, the baseline.

    With a GPU the baseline can be aimed at it. Its rounds last as long as the module took.
    """

    reports_ns = True
    PROGRAM: tuple[str, ...] = ("-m", "kernelwright.envs.reference.process")

    def __init__(self, gpu: Gpu | None = None) -> None:
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (mine, theirs):
            # A message of such a socket is sent whole, so it has to fit into the buffer.
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MESSAGE_BYTES)
        super().__init__(mine, ROUND_LIMIT_S)
        self.gpu = gpu
        with theirs:
            self._end = self.launch(theirs, gpu)

    def launch(self, theirs: socket.socket, gpu: Gpu | None) -> Callable[[], None]:
        """Starts the process; gives what ends it. A problem is anybody's code, so it is sandboxed:
        but not on a GPU, whose driver the sandbox does not let through."""
        if gpu is not None:
            return self.launch_unconfined(theirs, gpu.uuid)
        zygote = Zygote(rootfs.reference(), bounded=False)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        command = [sys.executable, "-P", *self.PROGRAM, "3"]
        zygote.start(
            "exec", REFERENCE_LIMITS, log=nowhere, channel=theirs.fileno(), command=command
        )
        os.close(nowhere)
        return zygote.close

    def launch_unconfined(self, theirs: socket.socket, gpu_uuid: str = "") -> Callable[[], None]:
        """The same in a process like ours."""
        process = subprocess.Popen(
            [sys.executable, "-P", *self.PROGRAM, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=own_environment(**ONE_THREAD, CUDA_VISIBLE_DEVICES=gpu_uuid),
        )

        def end() -> None:
            try:
                process.wait(END_LIMIT_S)  # it ends by itself: nobody asks any more
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

        return end

    def gone(self) -> Exception:
        return ReferenceGoneError("the reference process ended")

    def failed(self, reason: str, verdict: Verdict = Verdict.CRASHED) -> Exception:
        return ReferenceGoneError(f"the reference process: {reason}")  # no candidate's doing

    def _duration_ns(self, wall_ns: int, said: bytes) -> int:
        if self.gpu and not any(said):
            raise DeviceFullError("the GPU has no room now for the problem's own module")
        return super()._duration_ns(wall_ns, said)

    def release(self) -> None:
        """Gives back what the process keeps of a GPU's memory, but for what its rounds need."""
        self.ask({"op": "release"})

    def load(self, problem: Problem, precision: Precision = Precision.IEEE) -> Loaded:
        """Raises ReferenceFailedError if the problem cannot run."""
        request: dict[str, Any] = {
            "op": "load",
            "problem": to_plain(problem),
            "precision": precision,
        }
        if self.gpu is not None:
            sizes = [one.size_bytes or 0 for one in self.on_meta(problem)]
            request["large"] = [one >= LARGE_BYTES for one in sizes]
        with self._alone(any(request.get("large", ()))):
            answer, _ = self.ask(request)
        tolerances = [[Tolerance(**one) for one in case] for case in answer["tolerances"]]
        specs = [from_plain(CaseSpec, one) for one in answer["specs"]]
        cases = tuple(from_plain(Case, one) for one in answer["cases"])
        levels = [[level_from(one) for one in case] for case in answer["levels"]]
        known = (answer["spreads"], levels, answer["ranked"])
        large = tuple(answer["large"])
        return Loaded(problem, cases, specs, tolerances, *known, precision, large=large)

    def _alone(self, large: bool) -> AbstractContextManager[object]:
        """Within it nobody is timed on the GPU, on which what is expected of large cases is
        computed."""
        return exclusive(self.gpu.uuid) if self.gpu and large else nullcontext()

    def draw(self, loaded: Loaded, case: int, seed: int) -> Draw:
        """The inputs that a seed gives, and what is expected for them."""
        request = {"op": "draw", "key": loaded.key, "case": case, "seed": seed}
        with self._alone(loaded.is_large(case)):
            answer, (inputs, expected) = self.ask(request)
        seal(inputs)
        held = loaded.tolerances[case], loaded.spreads[case], loaded.levels[case]
        wanted = expected_from(expected, answer, loaded.specs[case], *held)
        ranked = cache(partial(self.rankings, loaded, case, seed)) if loaded.ranked else list
        lost = cache(partial(self.losses, loaded, case, seed))
        return Draw(inputs, wanted, ranked, lost)

    def rankings(self, loaded: Loaded, case: int, seed: int) -> list[Ranking]:
        """What the indices among the outputs of a draw point into."""
        request = {"op": "rankings", "key": loaded.key, "case": case, "seed": seed}
        answer, (file,) = self.ask(request)
        return rankings_from(answer["rankings"], mapped(file))

    def losses(self, loaded: Loaded, case: int, seed: int) -> list[Array]:
        """What plain loops lose of each element of a draw; of a problem's own tolerance nothing."""
        if loaded.problem.tolerance is not None:
            return []
        request = {"op": "losses", "key": loaded.key, "case": case, "seed": seed}
        with self._alone(loaded.is_large(case)):
            _, (file,) = self.ask(request)
        return losses_from(file, loaded.specs[case])

    def work(self, loaded: Loaded, case: int) -> Work:
        """The least that a kernel has to do for this case."""
        tolerances = to_plain(loaded.tolerances[case])
        request = {"op": "work", "key": loaded.key, "case": case, "tolerances": tolerances}
        return Work(**self.ask(request)[0])

    def shapes(self, problem: Problem) -> Shapes:
        """What its module takes and gives; nothing stays loaded for it."""
        answer, _ = self.ask({"op": "shapes", "problem": to_plain(problem)})
        return Shapes(from_plain(CaseSpec, answer["spec"]), answer["init"])

    def on_meta(self, problem: Problem) -> tuple[OnMeta, ...]:
        """What each of its cases takes."""
        answer, _ = self.ask({"op": "on_meta", "problem": to_plain(problem)})
        return tuple(OnMeta(**one) for one in answer["cases"])

    def check(self, problem: Problem, dropped: Sequence[str]) -> tuple[Admission, str]:
        """(which trivial answers it accepts, a fingerprint of what it computes). `dropped` are its
        codes less one operation."""
        request = {"op": "check", "problem": to_plain(problem), "dropped": list(dropped)}
        answer, _ = self.ask(request)
        return from_plain(Admission, answer["admission"]), answer["function"]

    def aim(
        self,
        problem: Problem,
        case: int,
        *,
        compiled: bool = False,
        on_device: bool = False,
        views: bool = True,
    ) -> None:
        """Rounds from now on run this case's module: as it is or through torch.compile, on the GPU
        or on this core; without `views` on inputs that are all contiguous."""
        where = {"compiled": compiled, "on_device": on_device, "views": views}
        self.ask({"op": "aim", "key": problem.key, "case": case, **where})

    def time_by(self, *, graphs: bool | None) -> None:
        """Whether rounds on the GPU are launches of CUDA graphs from now on. None leaves it to the
        next round, which tries. To be called after `aim`; True once a round of this module was."""
        self.ask({"op": "time_by", "graphs": graphs})

    def by_graphs(self) -> bool:
        """Whether the last round on the GPU was one."""
        answer, _ = self.ask({"op": "by_graphs"})
        return bool(answer["graphs"])

    def ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        try:
            self.channel.send(json.dumps(request).encode())
            message, files, _, _ = socket.recv_fds(self.channel, MESSAGE_BYTES, 2)
        except OSError as error:
            raise ReferenceGoneError(str(error)) from None
        if not message:
            raise self.gone()
        answer = json.loads(message)
        if "device_full" in answer:
            failed = DeviceFullError if self.gpu else ReferenceFailedError
            raise failed(answer["device_full"])
        if "error" in answer:
            raise ReferenceFailedError(**answer)
        return answer, files

    def close(self) -> None:
        self.channel.close()
        self._end()
