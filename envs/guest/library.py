"""Calls the functions of a library that an answer wrote in C++, on tensors of PyTorch's.

The other side is native/include/kernelwright/value.h.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

import torch

from kernelwright.envs.guest.rounds import ours

NONE, TENSOR, WHOLE, REAL, TRUTH, WHOLES, TENSORS, TEXT, LEFT_OUT, REALS = range(10)
"""Kinds of a value that goes to or comes from C++."""
MOST_RESULTS, MOST_DIMS = 64, 16
ERROR_BYTES = 2048
NO_MEMORY, SEQUENCE = -2, 1 << 20
CPU, CUDA = 0, 1
TYPES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bool: 11,
    torch.bfloat16: 15,
}
DTYPES = {number: dtype for dtype, number in TYPES.items()}


class Wire(ctypes.Structure):
    """A tensor for C++: its memory and its view of it. Offset and strides count elements."""

    _fields_ = (
        ("storage", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("bytes", "made", "type", "device", "offset", "dim")),
        ("sizes", ctypes.c_int64 * MOST_DIMS),
        ("strides", ctypes.c_int64 * MOST_DIMS),
    )


class Value(ctypes.Structure):
    """An argument or a result."""

    _fields_ = (("kind", ctypes.c_int64), ("number", ctypes.c_int64), ("pointer", ctypes.c_void_p))


class LeftOut:
    """Stands for an argument that a call leaves out."""


OnHost = Callable[[torch.Tensor], bool]


class Library:
    """A loaded library. Tensors that it returns live as long as this process does."""

    def __init__(self, path: str, on_host: OnHost) -> None:
        self.handle, self.on_host = ctypes.CDLL(path), on_host
        self.named = self.handle.kernelwright_named
        self.named.restype = ctypes.c_int64
        self.begin = self.handle.kernelwright_begin
        self.argument = self.handle.kernelwright_argument
        self.argument.restype = ctypes.c_char_p

    def call(self, name: str, given: Iterable[Any]) -> tuple[list[Any], bool]:
        """(what the function gives back, each a tensor with its `Wire`, a number, or None; whether
        that is a sequence to Python, however long).

        Raises RuntimeError where it throws, MemoryError where it found no memory.
        """
        kept: list[Any] = []
        values = [self._value(one, kept) for one in given]
        arguments = (Value * len(values))(*values)
        results = (Value * MOST_RESULTS)()
        error = ctypes.create_string_buffer(ERROR_BYTES)
        self.begin(None, ctypes.c_int64(0))
        sizes = [ctypes.c_int64(one) for one in (len(values), MOST_RESULTS, ERROR_BYTES)]
        count = self.named(name.encode(), arguments, sizes[0], results, sizes[1], error, sizes[2])
        if count < 0:
            kind = MemoryError if count == NO_MEMORY else RuntimeError
            raise kind(f"{name}: {error.value.decode('utf-8', 'replace')}")
        return [_result(one) for one in results[: count % SEQUENCE]], count >= SEQUENCE

    def ordered(self, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """All arguments in the function's own order."""
        left, ordered = dict(named), list(given)
        while left:
            next_name = self.argument(name.encode(), ctypes.c_int64(len(ordered)))
            if next_name is None:
                raise TypeError(f"{name} has no argument {', '.join(left)}")
            ordered.append(left.pop(next_name.decode(), LeftOut))
        return ordered

    def _value(self, one: Any, kept: list[Any]) -> Value:
        if one is None or one is LeftOut:
            return Value(NONE if one is None else LEFT_OUT, 0, None)
        if isinstance(one, torch.Tensor):
            return Value(TENSOR, 1, _pointer((Wire * 1)(self.wire(one)), kept))
        if isinstance(one, bool):
            return Value(TRUTH, int(one), None)
        if isinstance(one, int):
            return Value(WHOLE, one, None)
        if isinstance(one, float):
            return Value(REAL, ctypes.c_int64.from_buffer_copy(ctypes.c_double(one)).value, None)
        if isinstance(one, str):
            return Value(TEXT, len(one.encode()), _pointer(ctypes.c_char_p(one.encode()), kept))
        if isinstance(one, torch.dtype):
            return Value(WHOLE, TYPES[one], None)
        items = list(one)
        if items and isinstance(items[0], torch.Tensor):
            wires = (Wire * len(items))(*map(self.wire, items))
            return Value(TENSORS, len(items), _pointer(wires, kept))
        return Value(WHOLES, len(items), _pointer((ctypes.c_int64 * len(items))(*items), kept))

    def wire(self, tensor: torch.Tensor) -> Wire:
        storage = tensor.untyped_storage()
        return Wire(
            storage.data_ptr(),
            storage.nbytes(),
            -1,
            TYPES[tensor.dtype],
            CPU if self.on_host(tensor) else CUDA,
            tensor.storage_offset(),
            tensor.dim(),
            tuple(tensor.shape),
            tuple(tensor.stride()),
        )


def _pointer(one: Any, kept: list[Any]) -> int | None:
    kept.append(one)
    return ctypes.cast(one, ctypes.c_void_p).value


def _result(value: Value) -> Any:
    if value.kind == TENSOR:
        wire = Wire.from_address(value.pointer)
        return _tensor(wire), wire
    if value.kind == REAL:
        return ctypes.c_double.from_buffer_copy(ctypes.c_int64(value.number)).value
    return (
        None if value.kind == NONE else bool(value.number) if value.kind == TRUTH else value.number
    )


def _tensor(wire: Wire) -> torch.Tensor:
    """A tensor of PyTorch's in the memory that C++ has it in."""
    dtype = DTYPES[wire.type]
    shape, strides = wire.sizes[: wire.dim], wire.strides[: wire.dim]
    with ours():
        if not wire.bytes:
            return torch.empty_strided(shape, strides, dtype=dtype)
        memory = (ctypes.c_char * wire.bytes).from_address(wire.storage)
        whole = torch.frombuffer(memory, dtype=dtype, count=wire.bytes // dtype.itemsize)
        return whole.as_strided(shape, strides, wire.offset)
