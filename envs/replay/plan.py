"""What an answer asks of a device in one call, written down in a process that has none: enough for
a trusted process to do it again (envs/replay/process.py).

Whoever wrote it down shared a process with the answer. So a plan is never believed: it is run, on
inputs that nobody had seen when it was written, and what comes out is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.replay.ptx import ARCHITECTURES, static_facts
from kernelwright.envs.types import Evaluation

MOST_STEPS = 10_000
"""In one call: at some microseconds a launch, nobody is served by more."""
MOST_KERNELS = 1_000
MOST_BYTES = 1 << 40
Count = Annotated[int, Field(ge=0, le=MOST_BYTES)]
Size = Annotated[int, Field(ge=0, lt=1 << 31)]
Hex = Annotated[str, Field(pattern=r"^([0-9a-f]{2})*$", max_length=8192)]
Pattern = Annotated[str, Field(pattern=r"^([0-9a-f]{2}|[0-9a-f]{4}|[0-9a-f]{8})$")]
Three = tuple[Size, Size, Size]


class Strict(BaseModel):
    """No key too many: a step that is misread would be another step."""

    model_config = ConfigDict(extra="forbid")


class Place(Strict):
    """A number of bytes into a tensor. What the answer allocated is `new.0` and so on: no tensor of
    a problem's can be called so."""

    tensor: str
    offset: Count


class Launch(Strict):
    """One launch of a kernel; an argument is its bytes in hexadecimal, or a pointer."""

    kernel: str
    code: str = ""
    """Names the kernel's own code, where each is compiled when it is launched."""
    grid: Three
    block: Three
    shared_bytes: Size
    cluster: Size = 1
    """Blocks that run as one cluster, side by side in x."""
    arguments: Annotated[list[Place | Hex], Field(max_length=4096)]


class Fill(Strict):
    """`fill`, of one, two or four bytes, over and over until so many bytes are written."""

    at: Place
    fill: Pattern
    bytes: Count


class Copy(Strict):
    """Bytes from one place to another."""

    source: Place
    to: Place
    bytes: Count


Step = Launch | Fill | Copy


class Kernel(Strict):
    """Device code for one target, and what its assembler says about it."""

    name: str
    code: str = ""
    target: str
    ptx: str
    info: str


class Plan(Strict):
    """All steps of one call, in order, and what they need.

    `buffers` are the sizes of what the answer allocated; `outputs` say where it leaves its results,
    empty where it was given the outputs' own places. `left_out` names what it did that cannot be
    done again.
    """

    steps: Annotated[list[Step], Field(max_length=MOST_STEPS)]
    buffers: Annotated[dict[str, Count], Field(max_length=MOST_STEPS)]
    outputs: Annotated[list[Place], Field(max_length=MOST_STEPS)] = []
    kernels: Annotated[list[Kernel], Field(max_length=MOST_KERNELS)]
    left_out: str | None = None

    @property
    def launches(self) -> list[Launch]:
        return [one for one in self.steps if isinstance(one, Launch)]

    def places(self) -> Iterator[tuple[Place, int]]:
        """Every place that is mentioned, with the bytes that are known to be used there."""
        for step in self.steps:
            match step:
                case Launch():
                    yield from ((one, 0) for one in step.arguments if isinstance(one, Place))
                case Fill():
                    yield step.at, step.bytes
                case Copy():
                    yield step.source, step.bytes
                    yield step.to, step.bytes
        yield from ((one, 0) for one in self.outputs)

    def facts(self) -> tuple[tuple[str, float], ...]:
        """Static facts of all kernels together, by architecture."""
        found = []
        for name in ARCHITECTURES:
            ours = [one for one in self.kernels if one.target.startswith(f"sm_{name}")]
            if not ours:
                continue
            code, said = "\n".join(one.ptx for one in ours), "\n".join(one.info for one in ours)
            found += [(f"sm_{name}.{fact}", value) for fact, value in static_facts(code, said)]
        return tuple(found)


def sizes_of(plan: Plan, spec: CaseSpec) -> dict[str, int]:
    """The bytes of each tensor that the plan may mention. Raises ValueError where it mentions a
    place in none of them, or calls a buffer as a tensor is called."""
    given = {one.name: one.size_bytes for one in spec.tensors}
    if given.keys() & plan.buffers.keys():
        raise ValueError("a buffer has the name of a tensor")
    sizes = given | plan.buffers
    for place, used_bytes in plan.places():
        if place.tensor not in sizes or place.offset + used_bytes > sizes[place.tensor]:
            raise ValueError(f"{place} is in no tensor")
    return sizes


def is_empty(step: Step) -> bool:
    """Whether it does nothing: Triton leaves out a launch of no block, the driver refuses it."""
    return not (all(step.grid) if isinstance(step, Launch) else step.bytes)


class Before(Strict):
    """How much of a record of two calls is the first's, and what of it cannot be done again."""

    steps: Annotated[int, Field(ge=0, le=MOST_STEPS)]
    buffers: Annotated[int, Field(ge=0, le=MOST_STEPS)]
    left_out: str | None


def second_alone(plan: Plan, steps: int, before: Before) -> Plan:
    """The second of two calls, without the first (so many steps) if it needs nothing of that one.

    What an answer makes once and keeps (packed weights, room for results) is the first call's.
    """
    firsts = {f"new.{number}" for number in range(before.buffers)}
    second = plan.model_copy(
        update={
            "steps": plan.steps[steps:],
            "buffers": {name: size for name, size in plan.buffers.items() if name not in firsts},
        }
    )
    if any(place.tensor in firsts for place, _ in second.places()):
        return plan.model_copy(update={"left_out": plan.left_out or before.left_out})
    return second


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReplay:
    """How to replay an answer on a GPU: only its recorded launches run there, never its host code.

    `trace` takes a case and an architecture (90 is Hopper); `assembler` is the program that
    understands the PTX in its plans.
    """

    trace: Callable[[CaseSpec, int], Plan | Evaluation]
    assembler: str
