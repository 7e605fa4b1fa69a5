"""The judge's client of the GPU process: sends it plans to replay, and runs rounds with it."""

from __future__ import annotations

import base64
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, NoReturn

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.device.memory import DeviceFullError
from kernelwright.envs.device.move_kernels import as_launches
from kernelwright.envs.plan.assemble import NoCodeError, assembled, best_for
from kernelwright.envs.plan.plan import GpuReplay, Plan, sizes_of
from kernelwright.envs.plan.steps import Launch, Place, Step, Struct, is_empty
from kernelwright.envs.referee.exit_codes import DEVICE_FULL, DEVICE_LOST, REPLAY_EXITS
from kernelwright.envs.referee.layout import (
    GUARD_BYTES,
    NONCE_BYTES,
    NS_BYTES,
    input_places,
    offsets,
)
from kernelwright.envs.referee.rounds import CandidateFailedError, RoundPeer
from kernelwright.envs.sandbox.build import head
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.system.hardware import DeviceLostError, Gpu
from kernelwright.envs.system.memfd import memfd
from kernelwright.envs.types import UNSUPPORTED, Evaluation, Verdict

START_LIMIT_S = 60.0
END_LIMIT_S = 20.0
PROGRAM = ("-m", "kernelwright.envs.device.process")
INPUTS = "inputs"


class GpuCandidate(RoundPeer):
    """An answer's launches in a process of ours (envs/device/process.py)."""

    reports_ns = True

    def __init__(
        self, on_device: GpuReplay, gpu: Gpu, sandboxes: Sandboxes, round_limit_s: float
    ) -> None:
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(mine, round_limit_s)
        self.on_device, self.gpu, self.sandboxes = on_device, gpu, sandboxes
        self.primed: CaseSpec | None = None
        self.spent_ns = 0
        """Of the device's time, in all rounds."""
        self.said = ""
        self.log_file = tempfile.TemporaryFile()  # noqa: SIM115  closed by `close`
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", *PROGRAM, str(theirs.fileno()), gpu.library],
                stdin=subprocess.DEVNULL,
                stdout=self.log_file,
                stderr=self.log_file,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "CUDA_VISIBLE_DEVICES": gpu.uuid},
            )

    def ready(self) -> None:
        """Returns when the device is there."""
        try:
            self.expect(b"R" + bytes(NONCE_BYTES), limit_s=START_LIMIT_S)
        except CandidateFailedError as error:
            raise DeviceLostError(f"{self.gpu.name}: {error.reason}") from None

    def prime(self, spec: CaseSpec) -> None:
        """Tells the process what to run for this case."""
        if self.primed == spec:
            return
        message_bytes = json.dumps(self._message(spec)).encode()
        message = b"P" + secrets.token_bytes(NONCE_BYTES)
        descriptor = memfd(message_bytes)
        try:
            self.send(message, [descriptor])
        finally:
            os.close(descriptor)
        self.expect(message, limit_s=START_LIMIT_S)  # loading code is no round of the answer's
        self.primed = spec

    def remembers(self, spec: CaseSpec) -> bool:
        """Whether the first call of this case is another than those after it."""
        plan = self.on_device.trace(spec, self.gpu.architecture)
        return not isinstance(plan, Evaluation) and plan.first is not None

    def _duration_ns(self, wall_ns: int, said: bytes) -> int:
        took_ns = super()._duration_ns(wall_ns, said)
        self.spent_ns += took_ns
        return took_ns

    def empty_ns(self) -> int:
        """How long a step without work takes the device, by the clock of rounds."""
        message = b"E" + secrets.token_bytes(NONCE_BYTES)
        self.send(message, [])
        return int.from_bytes(self.expect(message, NS_BYTES), "little")

    def gone(self) -> Exception:
        try:
            status = self.process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            return CandidateFailedError("hung_up")
        if status == DEVICE_FULL:
            why = head(self.log_file.fileno()).strip()
            return DeviceFullError(f"{self.gpu.name} has no room now: {why}")
        if status not in REPLAY_EXITS:
            said = head(self.log_file.fileno()).strip()
            if status != DEVICE_LOST:  # a mistake of ours, or a driver that lacks a function
                said = f"status {status} {said.rpartition(chr(10))[2]}".strip()
            return DeviceLostError(f"{self.gpu.name}: {said}")
        verdict, reason = REPLAY_EXITS[status]
        return CandidateFailedError(reason, verdict)

    def close(self) -> str:
        """Ends the process and what it runs on the device; returns the head of what it printed."""
        self.process.kill()
        self.process.wait()
        self.channel.close()
        log = self.said + head(self.log_file.fileno())
        self.log_file.close()
        return log

    def _message(self, spec: CaseSpec) -> dict[str, Any]:
        plan = self.on_device.trace(spec, self.gpu.architecture)
        if isinstance(plan, Evaluation):
            self._fail(plan.reason, plan.verdict, plan.log)
        if plan.asks_torch:
            plan = plan.model_copy(update={"left_out": "PyTorch beside kernels on a device"})
        if plan.left_out:
            name = UNSUPPORTED + plan.left_out.replace(" ", "_")
            self._fail(name, Verdict.BUILD_FAILED, f"{plan.left_out} cannot be replayed")
        try:
            plan = as_launches(plan)
            codes = {one.code for one in plan.all_launches}
            codes |= {one.code for one in plan.variables.values()}
            return replay_message(plan, spec, {code: self._binary(plan, code) for code in codes})
        except NoCodeError as error:
            self._fail("no_code", Verdict.BUILD_FAILED, str(error))
        except (LookupError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
            self._fail("launch_misused", Verdict.CHEATED, str(error))

    def _binary(self, plan: Plan, code: str) -> bytes:
        architecture, assembler = self.gpu.architecture, self.on_device.assembler
        kernel = best_for((one for one in plan.kernels if one.code == code), architecture)
        return assembled(kernel, architecture, assembler, self.sandboxes)

    def _fail(self, reason: str, verdict: Verdict, log: str) -> NoReturn:
        self.said = f"{log}\n"
        raise CandidateFailedError(reason, verdict)


def replay_message(plan: Plan, spec: CaseSpec, modules: dict[str, bytes]) -> dict[str, Any]:
    """The plan as the process that runs it is told: tensors are places in regions of its memory.

    Raises ValueError where a place lies outside its tensor.
    """
    starts, size_bytes = input_places(spec)
    own = {INPUTS: size_bytes, **{one.name: one.size_bytes for one in spec.outputs}}
    if INPUTS in plan.buffers:
        raise ValueError("a buffer has the name of a tensor")
    sizes_of(plan, spec)
    regions = own | plan.buffers | {name: one.bytes for name, one in plan.variables.items()}
    inside = {name: (name, 0, size) for name, size in regions.items()} | {
        one.name: (INPUTS, start, one.size_bytes)
        for one, start in zip(spec.inputs, starts, strict=True)
    }

    def address(place: Place) -> list[Any]:
        region, start, _ = inside[place.tensor]
        return [region, start + place.offset]

    def argument(one: Place | str | Struct) -> Any:
        if isinstance(one, Struct):
            pointers = [[pointer.at, address(pointer.place)] for pointer in one.pointers]
            return {"bytes": one.bytes, "pointers": pointers}
        return address(one) if isinstance(one, Place) else one

    def step(one: Step) -> dict[str, Any]:
        plain = one.model_dump()
        if isinstance(one, Launch):
            return {**plain, "arguments": [argument(it) for it in one.arguments]}
        places = {name: it for name, it in one if isinstance(it, Place)}
        return {**plain, **{name: address(it) for name, it in places.items()}}

    own_places = [Place(tensor=one.name, offset=0) for one in spec.outputs]
    places = offsets(spec.outputs, GUARD_BYTES)[0]

    def call(steps: Sequence[Step], outputs: Sequence[Place]) -> dict[str, Any]:
        results = [
            [*address(one), tensor.size_bytes, place]
            for one, tensor, place in zip(outputs or own_places, spec.outputs, places, strict=True)
        ]
        if any(at + size > regions[region] for region, at, size, _ in results):
            raise ValueError("an output lies outside its tensor")
        return {"steps": [step(one) for one in steps if not is_empty(one)], "results": results}

    kept = plan.contents()
    contents = {name: base64.b64encode(content).decode() for name, content in kept.items()}
    binaries = {code: base64.b64encode(binary).decode() for code, binary in modules.items()}
    return {
        "regions": own,
        "buffers": plan.buffers,
        "contents": contents,
        "kept": [*plan.kept, *kept],
        "variables": {name: [one.code, one.symbol] for name, one in plan.variables.items()},
        "modules": binaries,
        "first": plan.first and call(plan.first.steps, plan.first.outputs),
        "watched": [[address(one.at), address(one.copied), one.bytes] for one in plan.results],
        "later": call(plan.steps, plan.outputs),
    }
