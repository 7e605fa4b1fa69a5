"""Parses the log of the recording CUDA runtime (native/recorder.h) into steps of a plan.

Every line of it is an answer's word: what the runtime would not have written is refused.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from kernelwright.envs.abi import ITEM_BYTES
from kernelwright.envs.plan.device_code import needs_of
from kernelwright.envs.plan.plan import CALLS, Kernel, Variable, packed
from kernelwright.envs.plan.ptx_text import uncommented
from kernelwright.envs.plan.steps import (
    Copy,
    Fill,
    Launch,
    Move,
    Place,
    Pointer,
    Side,
    Step,
    Struct,
)
from kernelwright.envs.plan.tables import TYPES

POINTER_DIGITS = 16
ARGUMENT_BYTES = CALLS * 4 << 20
"""Of all launches of all calls together; more is read by nobody."""
_PARAMETER = re.compile(r"\s*\.param\s+(?:\.align \d+\s+)?\.\w?(\d{1,3})\s[^\[]*(?:\[(\d{1,5})\])?")
DTYPES = {number: name for name, number in TYPES.items()}
Range = tuple[str, int, int]
"""A tensor's name, the address at which it lies, and its bytes."""


class Addresses:
    """Which tensor lies where, for host code that was traced; `code` is the PTX of each library, by
    its name. `buffers`, `constants` and `variables` are what its steps need besides tensors."""

    def __init__(self, ranges: Iterable[Range], code: Mapping[str, str]) -> None:
        self.ranges = sorted(ranges, key=_start)
        self.known = {name: parameters_of(ptx) for name, ptx in code.items()}
        self.symbols = {name: variables_of(ptx) for name, ptx in code.items()}
        self.left_out: str | None = None
        self.refused: str | None = None
        self.buffers: dict[str, int] = {}
        self.constants: dict[str, str] = {}
        self.variables: dict[str, Variable] = {}
        self._bytes_left = ARGUMENT_BYTES

    def place(self, address: int) -> Place:
        """Raises ValueError where nothing lies."""
        found = self._where(address)
        if found is None:
            raise ValueError(f"{address:#x} is in no tensor")
        return found

    def _where(self, address: int) -> Place | None:
        number = bisect_right(self.ranges, address, key=_start) - 1
        if number >= 0:
            name, start, size = self.ranges[number]
            # One past the end is a pointer into it too; native/recorder.h leaves room for that.
            if address <= start + size:
                return Place(tensor=name, offset=address - start)
        return None

    def argument(self, digits: str) -> Place | str | Struct:
        """A pointer where the bytes are one, a struct where some are, else the bytes."""
        words = memoryview(bytes.fromhex(digits)[: len(digits) // 16 * 8]).cast("Q")
        found = [(8 * number, self._where(word)) for number, word in enumerate(words)]
        pointers = [Pointer(at=at, place=place) for at, place in found if place]
        if len(digits) == POINTER_DIGITS and pointers:
            return pointers[0].place
        return Struct(bytes=digits, pointers=pointers) if pointers else digits

    def constant(self, digits: str) -> Place:
        """A buffer with these bytes of the host's in it."""
        content = bytes.fromhex(digits)
        self._bytes_left -= len(content)
        if self._bytes_left < 0:
            raise ValueError(f"more than {ARGUMENT_BYTES} bytes of arguments")
        name = f"host.{len(self.constants)}"
        self.buffers[name], self.constants[name] = len(content), packed(content)
        return Place(tensor=name, offset=0)

    def variable(self, code: str, symbol: str, offset: int) -> Place:
        """A place in a variable of the code."""
        name = f"variable.{code}.{symbol}"
        size_bytes = self.symbols[code][symbol]
        self.variables[name] = Variable(code=code, symbol=symbol, bytes=size_bytes)
        return Place(tensor=name, offset=offset)

    def steps(self, events: Iterable[tuple[dict[str, Any], str]]) -> Iterator[Step]:
        """The steps that events of libraries are; ValueError where one is none.

        What touches memory from before the call, or the host's, is left out and named; so is the
        first launch that a device would refuse.
        """
        for event, code in events:
            if "refused" in event:
                self.refused = self.refused or event["refused"]
                continue
            touched = [_address(event[one]) for one in ("at", "from", "to") if one in event]
            if any(self._where(one) is None for one in touched):
                self.left_out = "a copy or a fill of memory that is not of this call"
            else:
                yield self.step(event, code)

    def step(self, event: dict[str, Any], code: str = "") -> Step:
        """The step that an event of this library's is; ValueError if it is none."""
        match event:
            case {"kernel": name, "arguments": [*given]}:
                sizes = [len(digits) // 2 for digits in given]
                if self.known[code].get(name) != sizes:
                    raise ValueError(f"no kernel {name} takes arguments of {sizes} bytes")
                self._bytes_left -= sum(sizes)
                if self._bytes_left < 0:
                    raise ValueError(f"more than {ARGUMENT_BYTES} bytes of arguments")
                arguments = [self.argument(one) for one in given]
                return Launch(**{**event, "code": code, "arguments": arguments})
            case {"set": int(value), "at": at, "bytes": size}:
                return Fill(at=self.place(at), fill=f"{value & 255:02x}", bytes=size)
            case {"fill": pattern, "at": at, "bytes": size}:
                return Fill(at=self.place(at), fill=pattern, bytes=size)
            case {"copied": size, **ends}:
                source = self.constant(ends["hex"]) if "hex" in ends else self.place(ends["from"])
                if "symbol" in ends:
                    to = self.variable(code, ends["symbol"], ends["offset"])
                else:
                    to = self.place(ends["at"])
                return Copy(source=source, to=to, bytes=size)
            case {"moved": shape, "to": [*to], "from": [*source]}:
                move = Move(shape=shape, source=self.side(*source), to=self.side(*to))
                return as_copy(move) or move
        raise ValueError(f"no event is {event}")

    def side(self, address: int, kind: int, strides: list[int]) -> Side:
        return Side(at=self.place(address), dtype=DTYPES[kind], strides=strides)


def _address(side: Any) -> int:
    """Where an event's tensor begins, which is a number or the first of a list."""
    found = side[0] if isinstance(side, list) else side
    if not isinstance(found, int):
        raise ValueError(f"no address is {found}")
    return found


def as_copy(move: Move) -> Copy | None:
    """The same as bytes from one place to another, if it is no more than that."""
    dense = dense_strides(move.shape)
    if move.source.strides != dense or move.to.strides != dense:
        return None
    if move.source.dtype != move.to.dtype:
        return None
    size_bytes = prod(move.shape) * ITEM_BYTES[move.to.dtype]
    return Copy(source=move.source.at, to=move.to.at, bytes=size_bytes)


def dense_strides(shape: Sequence[int]) -> list[int]:
    """Of a tensor that lies one element behind the other.

    >>> dense_strides([2, 3, 4])
    [12, 4, 1]
    """
    return [prod(max(size, 1) for size in shape[at + 1 :]) for at in range(len(shape))]


def _start(one: Range) -> int:
    return one[1]


def kernel_lines(code: Kernel) -> str:
    """A line for each kernel of the code: its name, what a launch of it has to keep to, and the
    sizes of its parameters (native/recorder.h)."""
    needs = needs_of(code.ptx, code.info)
    lines = []
    for name, sizes in parameters_of(code.ptx).items():
        own = needs[name]
        numbers = [own.threads, *own.block, own.registers, own.shared_bytes, *sizes]
        lines.append(" ".join(map(str, [name, *numbers])) + "\n")
    return "".join(lines)


_VARIABLE = re.compile(
    r"\.(?:global|const)\s+(?:\.align \d+\s+)?\.\w?(\d{1,3})\s+([\w$]+)(?:\[(\d{1,9})\])?"
)


def variables_of(ptx: str) -> dict[str, int]:
    """Variable of the PTX → its bytes.

    >>> variables_of(".visible .const .align 4 .b8 c[32];\\n.global .align 8 .u64 n;")
    {'c': 32, 'n': 8}
    """
    rows = _VARIABLE.findall(uncommented(ptx))
    return {name: int(bits) // 8 * int(count or 1) for bits, name, count in rows}


def parameters_of(ptx: str) -> dict[str, list[int]]:
    """Kernel of the PTX → the size in bytes of each of its parameters.

    >>> parameters_of(".visible .entry f(.param .u64 f_param_0, .param .align 8 .b8 p[24])")
    {'f': [8, 24]}
    """
    found = {}
    for part in uncommented(ptx).split(".entry")[1:]:
        name, _, rest = part.partition("(")
        rows = [_PARAMETER.match(one) for one in rest.partition(")")[0].split(",")]
        found[name.strip()] = [int(one[1]) // 8 * int(one[2] or 1) for one in rows if one]
    return found
