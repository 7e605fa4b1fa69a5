"""The plan of one call of an answer: recorded without a device, replayed by a trusted process
(envs/device/process.py).

Whoever wrote it down shared a process with the answer. So a plan is never believed: it is run, on
inputs that nobody had seen when it was written, and what comes out is compared.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.plan.device_code import occupancy, static_facts
from kernelwright.envs.plan.steps import (
    MOST_STEPS,
    Call,
    Count,
    Launch,
    Name,
    Place,
    Said,
    Step,
    Strict,
    Symbol,
    is_empty,
    places_of,
)
from kernelwright.envs.system.architectures import ARCHITECTURES, generation_of
from kernelwright.envs.types import Evaluation

MOST_KERNELS = 1_000
CALLS = 3
"""An answer is called so often to learn its plan."""
MOST_CONSTANT_BYTES = 8 << 20


class Kernel(Strict):
    """Device code for one target, and its assembler's report."""

    name: str
    code: str = ""
    target: str
    ptx: str
    info: str


class Variable(Strict):
    """Of the device code: `__constant__` or `__device__`, by the name that its PTX has for it."""

    code: Name
    symbol: Symbol
    bytes: Count


class First(Strict):
    """The first call of an answer, where it differs: its steps, and the places of its results."""

    steps: Annotated[list[Step], Field(max_length=CALLS * MOST_STEPS, fail_fast=True)]
    outputs: list[Place] = Field(default_factory=list, max_length=MOST_STEPS)


class Result(Strict):
    """A result of the first call, its size, and the place of the copy that was made of it."""

    at: Place
    copied: Place
    bytes: Count


class Plan(Strict):
    """All steps of one call, in order, and the data that they need.

    `buffers` are the sizes of what the answer allocated, `constants` what is in some of them before
    the first call (compressed by zlib, in base64), `variables` those of the code that steps
    mention; `outputs` say where it leaves its results, empty where it was given the outputs' own
    places. `first` is there where a process's first call is another, or leaves something behind;
    `results` are its results that no call may change, as who called still has them.
    `left_out` names what it did that cannot be done again; `refused` the first launch that a device
    would not have begun, which is no step.
    """

    steps: Annotated[list[Step], Field(max_length=MOST_STEPS, fail_fast=True)]
    buffers: Annotated[dict[Name, Count], Field(max_length=CALLS * MOST_STEPS)]
    constants: Annotated[dict[Name, str], Field(max_length=CALLS * MOST_STEPS)] = Field(
        default_factory=dict
    )
    variables: Annotated[dict[str, Variable], Field(max_length=MOST_STEPS)] = Field(
        default_factory=dict
    )
    outputs: list[Place] = Field(default_factory=list, max_length=MOST_STEPS)
    kernels: Annotated[list[Kernel], Field(max_length=MOST_KERNELS)]
    first: First | None = None
    results: Annotated[list[Result], Field(max_length=MOST_STEPS)] = Field(default_factory=list)
    left_out: Said | None = None
    refused: Said | None = None

    @property
    def computes(self) -> bool:
        """Whether it launches some block of a kernel, or calls a function, of the answer's own."""
        launches = any(not is_empty(one) for one in self.all_launches)
        return launches or any(isinstance(one, Call) and one.is_own for one in self.all_steps)

    @property
    def asks_torch(self) -> bool:
        """Whether PyTorch computes a part of it."""
        return any(isinstance(one, Call) and not one.is_own for one in self.all_steps)

    @property
    def launches(self) -> list[Launch]:
        """Of every call but the first, as `calls`."""
        return [one for one in self.steps if isinstance(one, Launch)]

    @property
    def calls(self) -> list[Call]:
        return [one for one in self.steps if isinstance(one, Call)]

    @property
    def all_steps(self) -> list[Step]:
        """Those of the first call come first."""
        return [*(self.first.steps if self.first else ()), *self.steps]

    @property
    def all_launches(self) -> list[Launch]:
        return [one for one in self.all_steps if isinstance(one, Launch)]

    @property
    def kept(self) -> set[str]:
        """Buffers of the first call that later ones mention, but for those with constants in them,
        which every call finds as the one before left them."""
        if self.first is None:
            return set()
        return (
            tensors_of(self.first.steps, self.first.outputs)
            & self.mentioned
            & (self.buffers.keys() - self.constants.keys())
        )

    @property
    def mentioned(self) -> set[str]:
        """Tensors of every call but the first."""
        return tensors_of(self.steps, [*self.outputs, *(one.copied for one in self.results)])

    def contents(self) -> dict[str, bytes]:
        """What is in buffers before the call. Raises ValueError where that is more than fits, or
        in no buffer."""
        found = {}
        if others := self.constants.keys() - self.buffers.keys():
            raise ValueError(f"constants in no buffer: {sorted(others)[:5]}")
        for name, packed in self.constants.items():
            size_bytes = self.buffers[name]
            reader = zlib.decompressobj()
            try:
                found[name] = reader.decompress(base64.b64decode(packed), size_bytes + 1)
            except zlib.error as error:
                raise ValueError(f"{name}: {error}") from None
            if len(found[name]) != size_bytes:
                raise ValueError(f"{name} has not {size_bytes} bytes")
        if sum(map(len, found.values())) > MOST_CONSTANT_BYTES:
            raise ValueError(f"more than {MOST_CONSTANT_BYTES} bytes of constants")
        return found

    def places(self) -> Iterator[tuple[Place, int]]:
        """Every place that is mentioned, with the bytes that are known to be used there."""
        for result in self.results:
            yield result.at, result.bytes
            yield result.copied, result.bytes
        for step in self.all_steps:
            yield from places_of(step)
        yield from (
            (one, 0) for one in (*(self.first.outputs if self.first else ()), *self.outputs)
        )

    def facts(self) -> tuple[tuple[str, float], ...]:
        """Static facts of all kernels together, by architecture."""
        found: list[tuple[str, float]] = []
        launches = [(one.kernel, math.prod(one.block), one.shared_bytes) for one in self.launches]
        for name in ARCHITECTURES:
            ours = [one for one in self.kernels if generation_of(one.target) == name]
            if not ours:
                continue
            code, said = "\n".join(one.ptx for one in ours), "\n".join(one.info for one in ours)
            found += [(f"sm_{name}.{fact}", value) for fact, value in static_facts(code, said)]
            if (resident := occupancy(said, launches, name)) is not None:
                found.append((f"sm_{name}.occupancy", resident))
        return tuple(found)


def sizes_of(plan: Plan, spec: CaseSpec) -> dict[str, int]:
    """The bytes of each tensor that the plan may mention. Raises ValueError where it mentions a
    place in none of them, or calls a buffer as a tensor is called."""
    given = {one.name: one.size_bytes for one in spec.tensors}
    if given.keys() & plan.buffers.keys():
        raise ValueError("a buffer has the name of a tensor")
    sizes = given | plan.buffers | {name: one.bytes for name, one in plan.variables.items()}
    for place, used_bytes in plan.places():
        if place.tensor not in sizes or place.offset + used_bytes > sizes[place.tensor]:
            raise ValueError(f"{place} is in no tensor")
    return sizes


def packed(content: bytes) -> str:
    """What is in a buffer, as `Plan.constants` has it."""
    return base64.b64encode(zlib.compress(content, 1)).decode()


def tensors_of(steps: Iterable[Step], outputs: Iterable[Place] = ()) -> set[str]:
    """Those that these mention."""
    return {place.tensor for step in steps for place, _ in places_of(step)} | {
        one.tensor for one in outputs
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReplay:
    """How to replay an answer on a GPU: only its recorded launches run there, never its host code.

    `trace` takes a case and an architecture (90 is Hopper); `assembler` is the program that
    understands the PTX in its plans.
    """

    trace: Callable[[CaseSpec, int], Plan | Evaluation]
    assembler: str
    others: Callable[[int], Sequence[GpuReplay]] = lambda _: ()
    """For an architecture: the same answer with other configurations of its autotuned kernels, of
    which the device is to choose."""
