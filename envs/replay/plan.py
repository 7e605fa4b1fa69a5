"""What an answer asks of a device in one call, written down in a process that has none: enough for
a trusted process to do it again (envs/replay/process.py).

Whoever wrote it down shared a process with the answer. So a plan is never believed: it is run, on
inputs that nobody had seen when it was written, and what comes out is compared.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from kernelwright.envs.abi import ITEM_BYTES, CaseSpec
from kernelwright.envs.replay.ptx import ARCHITECTURES, static_facts
from kernelwright.envs.types import Evaluation

MOST_STEPS = 10_000
"""In one call: at some microseconds a launch, nobody is served by more."""
MOST_KERNELS = 1_000
MOST_BYTES = 1 << 40
MOST_CONSTANT_BYTES = 8 << 20
Count = Annotated[int, Field(ge=0, le=MOST_BYTES)]
Size = Annotated[int, Field(ge=0, lt=1 << 31)]
Hex = Annotated[str, Field(pattern=r"^([0-9a-f]{2})*$", max_length=8192)]
Pattern = Annotated[str, Field(pattern=r"^([0-9a-f]{2}|[0-9a-f]{4}|[0-9a-f]{8}|[0-9a-f]{16})$")]
Three = tuple[Size, Size, Size]
MOST_DIMS, MOST_ARGUMENTS = 16, 64
"""Of a tensor, and of a function of C++ (native/include/kernelwright, native/plan/call.h)."""
MOST_LISTED = 256
"""Tensors or whole numbers in one argument."""
Dims = Annotated[list[Count], Field(max_length=MOST_DIMS)]
Dtype = Annotated[str, Field(pattern=f"^({'|'.join(ITEM_BYTES)})$")]
Word = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]


class Strict(BaseModel):
    """No key too many: a step that is misread would be another step."""

    model_config = ConfigDict(extra="forbid")


Name = Annotated[str, Field(max_length=200)]
Said = Annotated[str, Field(max_length=200, pattern=r"^[ -~]*$")]
"""What names something that cannot be done: it becomes part of a reason."""


class Place(Strict):
    """A number of bytes into a tensor. What the answer allocated is `new.0` and so on: no tensor of
    a problem's can be called so."""

    tensor: Name
    offset: Count


class Pointer(Strict):
    """An address inside an argument, so many bytes from its start."""

    at: Size
    place: Place


class Struct(Strict):
    """An argument with addresses in it: its bytes in hexadecimal, and what lies over them."""

    bytes: Hex
    pointers: Annotated[list[Pointer], Field(max_length=512)]


class Launch(Strict):
    """One launch of a kernel; an argument is its bytes in hexadecimal, a pointer, or a struct."""

    kernel: Name
    code: Name = ""
    """Names the kernel's own code, where each is compiled when it is launched."""
    grid: Three
    block: Three
    shared_bytes: Size
    cluster: Size = 1
    """Blocks that run as one cluster, side by side in x."""
    arguments: Annotated[list[Place | Hex | Struct], Field(max_length=4096, fail_fast=True)]

    @property
    def places(self) -> Iterator[Place]:
        for one in self.arguments:
            if isinstance(one, Place):
                yield one
            elif isinstance(one, Struct):
                yield from (pointer.place for pointer in one.pointers)


class Fill(Strict):
    """`fill`, of one, two, four or eight bytes, over and over until so many bytes are written."""

    at: Place
    fill: Pattern
    bytes: Count


class Copy(Strict):
    """Bytes from one place to another."""

    source: Place
    to: Place
    bytes: Count


class Side(Strict):
    """One side of a move; strides count elements."""

    at: Place
    dtype: Dtype
    strides: Dims


class Move(Strict):
    """Elements of this shape from one strided place to another, made another type on the way."""

    shape: Dims
    source: Side
    to: Side

    @model_validator(mode="after")
    def _moves(self) -> Move:
        kinds = [one.dtype.strip("b").startswith("float") for one in (self.source, self.to)]
        if kinds == [True, False]:
            raise ValueError("whole numbers of others are computed, not moved")
        return self


class View(Strict):
    """A tensor that a function of C++ is given, or gives back: where the memory begins that it is
    part of, and what of it. Offset and strides count elements."""

    storage: Name
    dtype: Dtype
    shape: Dims
    strides: Dims
    offset: Count


def _is_real(text: str) -> str:
    try:
        float.fromhex(text)
    except OverflowError as error:
        raise ValueError(str(error)) from None
    return text


Real = Annotated[str, Field(max_length=64), AfterValidator(_is_real)]


class Argument(Strict):
    """What a function of C++ is given: one of these, or nothing; `real` as a hexadecimal float."""

    tensor: View | None = None
    tensors: Annotated[list[View], Field(max_length=MOST_LISTED, fail_fast=True)] | None = None
    whole: Word | None = None
    real: Real | None = None
    truth: bool | None = None
    wholes: Annotated[list[Word], Field(max_length=MOST_LISTED, fail_fast=True)] | None = None
    text: Annotated[str, Field(max_length=4096)] | None = None
    left_out: bool = False
    """Whether the call says nothing about it, and the function has a value of its own."""


class Result(Strict):
    """A tensor that it gives back, `made` the number of its memory among those that it makes: None
    where it lies in memory that was there before."""

    view: View
    made: Annotated[int, Field(ge=0, le=MOST_STEPS)] | None = None


class Call(Strict):
    """A call of a function of a library that the answer wrote in C++; None: nothing came back."""

    library: Name
    function: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z_0-9]{0,100}$")]
    arguments: Annotated[list[Argument], Field(max_length=MOST_ARGUMENTS)]
    results: Annotated[list[Result | None], Field(max_length=MOST_ARGUMENTS, fail_fast=True)]

    @property
    def views(self) -> Iterator[View]:
        """All tensors that it has to do with."""
        for one in self.arguments:
            yield from (one.tensors or []) + ([one.tensor] if one.tensor else [])
        yield from (one.view for one in self.results if one)


Step = Launch | Fill | Copy | Move | Call


class Kernel(Strict):
    """Device code for one target, and what its assembler says about it."""

    name: str
    code: str = ""
    target: str
    ptx: str
    info: str


class Variable(Strict):
    """Of the device code: `__constant__` or `__device__`, by the name that its PTX has for it."""

    code: Name
    symbol: Name
    bytes: Count


class Plan(Strict):
    """All steps of one call, in order, and what they need.

    `buffers` are the sizes of what the answer allocated, `constants` what is in some of them before
    the call (compressed by zlib, in base64), `variables` those of the code that steps mention;
    `outputs` say where it leaves its results,
    empty where it was given the outputs' own places. `left_out` names what it did that cannot be
    done again.
    """

    steps: Annotated[list[Step], Field(max_length=MOST_STEPS, fail_fast=True)]
    buffers: Annotated[dict[Name, Count], Field(max_length=MOST_STEPS)]
    constants: Annotated[dict[Name, str], Field(max_length=MOST_STEPS)] = {}
    variables: Annotated[dict[str, Variable], Field(max_length=MOST_STEPS)] = {}
    outputs: Annotated[list[Place], Field(max_length=MOST_STEPS)] = []
    kernels: Annotated[list[Kernel], Field(max_length=MOST_KERNELS)]
    left_out: Said | None = None

    @property
    def computes(self) -> bool:
        """Whether any step of it is more than moving: a launch of some block, or a call."""
        return any(isinstance(one, Launch | Call) and not is_empty(one) for one in self.steps)

    @property
    def launches(self) -> list[Launch]:
        return [one for one in self.steps if isinstance(one, Launch)]

    @property
    def calls(self) -> list[Call]:
        return [one for one in self.steps if isinstance(one, Call)]

    def contents(self) -> dict[str, bytes]:
        """What is in buffers before the call. Raises ValueError where that is more than fits."""
        found = {}
        for name, packed in self.constants.items():
            size_bytes = self.buffers.get(name, 0)
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
        for step in self.steps:
            match step:
                case Launch():
                    yield from ((one, 0) for one in step.places)
                case Fill():
                    yield step.at, step.bytes
                case Copy():
                    yield step.source, step.bytes
                    yield step.to, step.bytes
                case Move():
                    for side in (step.source, step.to):
                        yield side.at, span_bytes(side.dtype, step.shape, side.strides)
                case Call():
                    for view in step.views:
                        used_bytes = span_bytes(view.dtype, view.shape, view.strides)
                        yield place_of(view), used_bytes
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


def place_of(view: View) -> Place:
    """Where its first element lies."""
    return Place(tensor=view.storage, offset=view.offset * ITEM_BYTES[view.dtype])


def span_bytes(dtype: str, shape: Sequence[int], strides: Sequence[int]) -> int:
    """From the first byte of such a tensor to behind its last.

    >>> span_bytes("float32", [2, 3], [3, 1]), span_bytes("int64", [2, 0], [1, 1])
    (24, 0)
    """
    if len(shape) != len(strides):
        raise ValueError(f"{len(strides)} strides of {len(shape)} dimensions")
    if 0 in shape:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return (last + 1) * ITEM_BYTES[dtype]


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


def is_empty(step: Step) -> bool:
    """Whether it does nothing: Triton leaves out a launch of no block, the driver refuses it."""
    match step:
        case Launch():
            return not all(step.grid)
        case Move():
            return 0 in step.shape
        case Fill() | Copy():
            return not step.bytes
        case Call():
            return False


def packed(content: bytes) -> str:
    """What is in a buffer, as `Plan.constants` has it."""
    return base64.b64encode(zlib.compress(content, 1)).decode()


class Before(Strict):
    """How much of a record of two calls is the first's, and what of it cannot be done again."""

    steps: Annotated[int, Field(ge=0, le=MOST_STEPS)]
    buffers: Annotated[int, Field(ge=0, le=MOST_STEPS)]
    left_out: Said | None


def second_alone(plan: Plan, steps: int, before: Before) -> Plan:
    """The second of two calls, without the first (so many steps) if it needs nothing of that one.

    What an answer makes once and keeps (packed weights, room for results) is the first call's. What
    it has kept since before is needed where the calls differ: the first may have filled it.
    """
    firsts = {f"new.{number}" for number in range(before.buffers)} - plan.constants.keys()
    first = plan.model_copy(update={"steps": plan.steps[:steps], "outputs": []})
    second = plan.model_copy(
        update={
            "steps": plan.steps[steps:],
            "buffers": {name: size for name, size in plan.buffers.items() if name not in firsts},
        }
    )
    needed = {place.tensor for place, _ in second.places()}
    filled = {place.tensor for place, _ in first.places()} & plan.constants.keys()
    differ = len(first.steps) != len(second.steps)
    if needed & firsts or (differ and needed & filled):
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
