"""What the process that replays is told of each case, made before anybody holds the GPU: the
answer's plan with its places in memory, and its code assembled for this device."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.device.move_kernels import as_launches
from kernelwright.envs.plan.assemble import NoCodeError, assembled, best_for
from kernelwright.envs.plan.plan import GpuReplay, Plan, sizes_of
from kernelwright.envs.plan.steps import Launch, Place, Step, Struct, is_empty
from kernelwright.envs.referee.layout import GUARD_BYTES, input_places, offsets
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.system.hardware import Gpu
from kernelwright.envs.types import UNSUPPORTED, Evaluation, Verdict

INPUTS = "inputs"


class Messages:
    """Those of one answer on one GPU; each is made once. Not thread-safe.

    `bare`: for a sanitizer, each input in a region of its own, and nothing around or in a region
    but what the answer puts there.
    """

    def __init__(
        self, on_device: GpuReplay, gpu: Gpu, sandboxes: Sandboxes, *, bare: bool = False
    ) -> None:
        self.on_device, self.gpu, self.sandboxes = on_device, gpu, sandboxes
        self.bare = bare
        self.known: dict[CaseSpec, bytes | Evaluation] = {}
        self.binaries: dict[tuple[str, str], bytes] = {}
        """Target and PTX of a kernel → what it was assembled to."""

    def prepare(self, specs: Iterable[CaseSpec]) -> None:
        """Makes those of these cases, up to the first that has none: it ends the answer."""
        for spec in specs:
            if isinstance(self.of(spec), Evaluation):
                return

    def plan(self, spec: CaseSpec) -> Plan | Evaluation:
        """What the answer launches for this case, or why nothing can be replayed."""
        return self.on_device.trace(spec, self.gpu.architecture)

    def of(self, spec: CaseSpec) -> bytes | Evaluation:
        """The message of this case, as JSON; or the verdict on an answer that has none."""
        if spec not in self.known:
            self.known[spec] = self._made(spec)
        return self.known[spec]

    def _made(self, spec: CaseSpec) -> bytes | Evaluation:
        plan = self.plan(spec)
        if isinstance(plan, Evaluation):
            return plan
        if plan.asks_torch:
            plan = plan.model_copy(update={"left_out": "PyTorch beside kernels on a device"})
        if plan.left_out:
            name = UNSUPPORTED + plan.left_out.replace(" ", "_")
            return _failed(Verdict.BUILD_FAILED, name, f"{plan.left_out} cannot be replayed")
        try:
            plan = as_launches(plan)
            codes = {one.code for one in plan.all_launches}
            codes |= {one.code for one in plan.variables.values()}
            binaries = {code: self._binary(plan, code) for code in codes}
            return json.dumps(replay_message(plan, spec, binaries, bare=self.bare)).encode()
        except NoCodeError as error:
            return _failed(Verdict.BUILD_FAILED, "no_code", str(error))
        except (LookupError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
            return _failed(Verdict.CHEATED, "launch_misused", str(error))

    def _binary(self, plan: Plan, code: str) -> bytes:
        architecture, assembler = self.gpu.architecture, self.on_device.assembler
        kernel = best_for((one for one in plan.kernels if one.code == code), architecture)
        key = (kernel.target, kernel.ptx)
        if key not in self.binaries:
            self.binaries[key] = assembled(kernel, architecture, assembler, self.sandboxes)
        return self.binaries[key]


def _failed(verdict: Verdict, reason: str, log: str) -> Evaluation:
    return Evaluation(verdict=verdict, reason=reason, log=log)


Region = tuple[str, int, int]
"""A region's name, an offset, bytes."""


def _placed(spec: CaseSpec, bare: bool) -> tuple[list[Region], dict[str, Region]]:
    """(regions for inputs, and their places in a round's file; input → its place in a region)."""
    starts, size_bytes = input_places(spec)
    known = list(zip(spec.inputs, starts, strict=True))
    if bare:
        apart = {one.name: (one.name, 0, one.size_bytes) for one in spec.inputs}
        return [(one.name, start, one.size_bytes) for one, start in known], apart
    together = {one.name: (INPUTS, start, one.size_bytes) for one, start in known}
    return [(INPUTS, 0, size_bytes)], together


def _encoded(contents: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(content).decode() for name, content in contents.items()}


def replay_message(
    plan: Plan, spec: CaseSpec, modules: dict[str, bytes], *, bare: bool = False
) -> dict[str, Any]:
    """The plan as the process that runs it is told: tensors are places in regions of its memory.

    Raises ValueError where a place lies outside its tensor.
    """
    given, placed = _placed(spec, bare)
    own = {region: size for region, _, size in given}
    own |= {one.name: one.size_bytes for one in spec.outputs}
    if own.keys() & plan.buffers.keys():
        raise ValueError("a buffer has the name of a tensor")
    sizes_of(plan, spec)
    regions = own | plan.buffers | {name: one.bytes for name, one in plan.variables.items()}
    inside = {name: (name, 0, size) for name, size in regions.items()} | placed

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
    return {
        "bare": bare,
        "inputs": given,
        "regions": own,
        "buffers": plan.buffers,
        "contents": _encoded(kept),
        "kept": [*plan.kept, *kept],
        "variables": {name: [one.code, one.symbol] for name, one in plan.variables.items()},
        "modules": _encoded(modules),
        "first": plan.first and call(plan.first.steps, plan.first.outputs),
        "watched": [[address(one.at), address(one.copied), one.bytes] for one in plan.results],
        "later": call(plan.steps, plan.outputs),
    }
