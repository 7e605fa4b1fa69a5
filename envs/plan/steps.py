"""The kinds of steps in a plan: launch, fill, copy, move, call of a C++ function.

Each field was written beside an answer's own code, so each has a bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from kernelwright.envs.abi import ITEM_BYTES

MOST_STEPS = 10_000
"""In one call: at some microseconds a launch, nobody is served by more."""
MOST_BYTES = 1 << 40
Count = Annotated[int, Field(ge=0, le=MOST_BYTES)]
Size = Annotated[int, Field(ge=0, lt=1 << 31)]
Hex = Annotated[str, Field(pattern=r"^([0-9a-f]{2})*$", max_length=8192)]
Pattern = Annotated[str, Field(pattern=r"^([0-9a-f]{2}|[0-9a-f]{4}|[0-9a-f]{8}|[0-9a-f]{16})$")]
Three = tuple[Size, Size, Size]
MOST_DIMS, MOST_ARGUMENTS = 16, 64
"""Of a tensor, and of a function of C++ (native/include/kernelwright, native/plan/call.h)."""
MOST_LISTED = 256
"""Tensors or numbers in one argument."""
Dims = Annotated[list[Count], Field(max_length=MOST_DIMS)]
Dtype = Annotated[str, Field(pattern=f"^({'|'.join(ITEM_BYTES)})$")]
Word = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]


class Strict(BaseModel):
    """No key too many: a step that is misread would be another step."""

    model_config = ConfigDict(extra="forbid")


Name = Annotated[str, Field(max_length=200)]
Symbol = Annotated[str, Field(max_length=4096)]
"""Of a kernel or a variable; those of templates are long."""
Said = Annotated[str, Field(max_length=200, pattern=r"^[ -~]*$")]
"""What names something that cannot be done: it becomes part of a reason."""


class Place(Strict):
    """An offset in bytes into a tensor. Allocations of the answer are `new.0` and so on: no tensor
    of a problem has such a name."""

    tensor: Name
    offset: Count


class Pointer(Strict):
    """An address inside an argument, `at` bytes from its start."""

    at: Size
    place: Place


class Struct(Strict):
    """An argument that contains addresses: its bytes in hexadecimal, and the addresses over
    them."""

    bytes: Hex
    pointers: Annotated[list[Pointer], Field(max_length=512)]


class Launch(Strict):
    """One launch of a kernel; an argument is its bytes in hexadecimal, a pointer, or a struct."""

    kernel: Symbol
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
    """The pattern `fill`, of one, two, four or eight bytes, repeated for `bytes` bytes."""

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
    """A tensor argument or result of a C++ function: its storage, and its view of it. Offset and
    strides count elements."""

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
    """An argument of a C++ function: one of these, or nothing; `real` as a hexadecimal float."""

    tensor: View | None = None
    tensors: Annotated[list[View | None], Field(max_length=MOST_LISTED, fail_fast=True)] | None = (
        None
    )
    """None in it is a gap: PyTorch's own operators take such (`y[:, index]`)."""
    whole: Word | None = None
    real: Real | None = None
    truth: bool | None = None
    wholes: Annotated[list[Word], Field(max_length=MOST_LISTED, fail_fast=True)] | None = None
    reals: Annotated[list[Real], Field(max_length=MOST_LISTED, fail_fast=True)] | None = None
    text: Annotated[str, Field(max_length=4096)] | None = None
    left_out: bool = False
    """Whether the call says nothing about it, and the function has a value of its own."""


class Result(Strict):
    """A tensor result of a call. `made` is the number of its storage among those that the call
    allocates: None where the storage is older."""

    view: View
    made: Annotated[int, Field(ge=0, le=MOST_STEPS)] | None = None


Function = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z_0-9]{0,100}(\.[A-Za-z_0-9]{1,50})?$")]
"""By its name; one of PyTorch's also by its overload."""
TORCH = "torch"
"""The library whose functions are PyTorch's own operators, by name and overload."""


class Call(Strict):
    """A call of a C++ function of the answer's own library, or of PyTorch. A result of None:
    nothing came back."""

    library: Name
    function: Function
    arguments: Annotated[list[Argument], Field(max_length=MOST_ARGUMENTS)]
    results: Annotated[list[Result | None], Field(max_length=MOST_ARGUMENTS, fail_fast=True)]

    @property
    def is_own(self) -> bool:
        """Whether the answer wrote what it calls."""
        return self.library != TORCH

    @property
    def given(self) -> Iterator[View]:
        """All tensors among the arguments."""
        for one in self.arguments:
            yield from (view for view in (*(one.tensors or ()), one.tensor) if view)

    @property
    def views(self) -> Iterator[View]:
        """All tensors that it has to do with."""
        yield from self.given
        yield from (one.view for one in self.results if one)


Step = Launch | Fill | Copy | Move | Call


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


def places_of(step: Step) -> Iterator[tuple[Place, int]]:
    """Every place that it mentions, with the bytes that are known to be used there."""
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
                yield place_of(view), span_bytes(view.dtype, view.shape, view.strides)


def made_by_calls(steps: Sequence[Step]) -> set[str]:
    """Tensors that a call gives back and that no step has mentioned before."""
    met: set[str] = set()
    made: set[str] = set()
    for step in steps:
        if isinstance(step, Call):
            met |= {view.storage for view in step.given}
            made |= {one.view.storage for one in step.results if one} - met
        met |= {place.tensor for place, _ in places_of(step)}
    return made


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
