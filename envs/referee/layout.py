"""Layout of tensors in a shared file, and the message that tells it to the other process."""

from __future__ import annotations

import json
import math
import secrets
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelwright.envs.abi import ITEM_BYTES, CaseSpec, TensorSpec

ALIGNMENT_BYTES = 64
GUARD_BYTES = 4096
"""Bytes after each tensor. After an output each is the same one of `GUARDS`: a kernel that writes
past it is found out. After an input each is one of `LEFTOVERS`: one that reads past it computes
with that."""
LEFTOVERS = (0xFF, 0x7F, 0xC7)
"""In floats no number, a large one, a small one; which it is depends on the round."""

POISON = 0xFF
"""Every byte of the outputs before a round. As floats it is NaN, which never compares equal."""
GUARDS = (POISON, 0xC7)
"""Every byte after an output; which it is, is chosen for each round. A kernel that works in place
past its end leaves NaN as it was, but not a negative number."""

NONCE_BYTES = 16
"""Of the number that a message carries behind its first letter, and its answer back."""
LAYOUT_AT = 8
"""Where the body of a message begins that has one: its head is part of the nonce."""
NS_BYTES = 8
"""A device's duration, behind the answer of a process of ours."""

MESSAGE_BYTES = 1 << 22
"""Longest message between the referee and the reference process."""

BRAIN = "bfloat16"
"""Numpy has none: it is compared as float32, whose upper half it is."""

NUMPY_TYPES: dict[str, np.dtype[Any]] = {
    "float32": np.dtype("float32"),
    "float64": np.dtype("float64"),
    "float16": np.dtype("float16"),
    "bfloat16": np.dtype("float32"),
    "int64": np.dtype("int64"),
    "int32": np.dtype("int32"),
    "int16": np.dtype("int16"),
    "int8": np.dtype("int8"),
    "uint8": np.dtype("uint8"),
    "bool": np.dtype("bool"),
}


_READ_AS = {**NUMPY_TYPES, "bool": np.dtype("uint8"), BRAIN: np.dtype("uint16")}


def offsets(tensors: Sequence[TensorSpec], guard_bytes: int = 0) -> tuple[list[int], int]:
    """(offset of each tensor, size of the file), in bytes; never an empty file.

    Behind all tensors without their gaps lies the storage of each view: a native kernel is given
    the first, a module of Python's the second.
    """
    at, places = 0, []
    for tensor in tensors:
        places.append(at)
        dense_bytes = math.prod(tensor.shape) * ITEM_BYTES[tensor.dtype]
        at += -(-(dense_bytes + guard_bytes) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    for number, tensor in enumerate(tensors):
        if tensor.strides is not None:
            places[number] = at
            at += -(-(tensor.size_bytes + guard_bytes) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    return places, max(at, ALIGNMENT_BYTES)


def input_places(spec: CaseSpec) -> tuple[list[int], int]:
    """(offset of each input, size of their file), in bytes."""
    return offsets(spec.inputs, GUARD_BYTES)


def output_file_bytes(spec: CaseSpec) -> int:
    return offsets(spec.outputs, GUARD_BYTES)[1]


def native_layout(spec: CaseSpec) -> bytes:
    """Counts, offsets, sizes, scalars, as native/player.h reads them."""
    inputs, outputs = input_places(spec)[0], offsets(spec.outputs, GUARD_BYTES)[0]
    scalars = [float(value) for _, value in spec.scalars]
    words = [len(inputs), len(outputs), len(spec.sizes), len(scalars)]
    words += [*inputs, *outputs, *spec.sizes]
    return struct.pack(f"<{len(words)}q{len(scalars)}d", *words, *scalars)


def python_layout(spec: CaseSpec) -> bytes:
    """The same as JSON, with names and types, as guest/rounds.py reads it."""

    def places(tensors: Sequence[TensorSpec]) -> list[dict[str, Any]]:
        starts = offsets(tensors, GUARD_BYTES)[0]
        return [
            {"dtype": one.dtype, "shape": one.shape, "offset": start, **_laid(one)}
            for one, start in zip(tensors, starts, strict=True)
        ]

    plain = {
        "names": [one.name for one in spec.inputs],
        "inputs": places(spec.inputs),
        "outputs": places(spec.outputs),
        **_called(spec),
        "state": spec.state,
        "fills": spec.fills or [None] * len(spec.state),
        "init": json.loads(spec.init),
    }
    return json.dumps(plain).encode()


def _laid(one: TensorSpec) -> dict[str, Any]:
    """What is said of a view only."""
    return {} if one.strides is None else {"strides": one.strides, "first": one.first}


def _called(spec: CaseSpec) -> dict[str, Any]:
    """How `forward` is called: arguments, and those with a keyword. A tensor is {"name": ...}, a
    number or text {"value": ...}; `list`, `tuple` and `dict` hold more of them."""
    scalars = dict(spec.scalars)

    def filled(one: Any) -> Any:
        match one:
            case {"name": name} if name in scalars:
                return {"value": scalars[name]}
            case {"list": items} | {"tuple": items}:
                return {next(iter(one)): [filled(item) for item in items]}
            case {"dict": items}:
                return {"dict": {name: filled(item) for name, item in items.items()}}
        return one

    flat: dict[str, Any] = {"arguments": [{"name": name} for name in spec.arguments]}
    nest: dict[str, Any] = json.loads(spec.nest) if spec.nest else flat
    keywords = {name: filled(one) for name, one in nest.get("keywords", {}).items()}
    found = {"arguments": [filled(one) for one in nest["arguments"]]}
    return {**found, "keywords": keywords} if keywords else found


def guarded(spec: CaseSpec) -> Iterator[tuple[int, bytes]]:
    """What lies behind each output before a round, and where, in order."""
    guard = bytes([secrets.choice(GUARDS)])
    starts = offsets(spec.outputs, GUARD_BYTES)[0]
    ends = [*starts[1:], output_file_bytes(spec)]
    for tensor, start, end in zip(spec.outputs, starts, ends, strict=True):
        stop = start + tensor.size_bytes
        yield stop, guard * (end - stop)


def poisoned(spec: CaseSpec) -> Iterator[bytes]:
    """The parts of the file of outputs before a round, in order."""
    at = 0
    for stop, guard in guarded(spec):
        yield bytes([POISON]) * (stop - at)
        yield guard
        at = stop + len(guard)


def read_outputs(copy: bytes, spec: CaseSpec) -> tuple[list[NDArray[np.generic]], bool]:
    """(the outputs, whether anything outside them was written), from the referee's own copy.

    A bool output comes as bytes, of which only 0 and 1 are bools: poison must not read as True.
    """
    places, whole = offsets(spec.outputs, GUARD_BYTES)[0], memoryview(copy)
    arrays, guards = [], []
    for tensor, start, end in zip(spec.outputs, places, [*places[1:], len(copy)], strict=True):
        stop = start + tensor.size_bytes
        array = np.frombuffer(whole[start:stop], _READ_AS[tensor.dtype]).reshape(tensor.shape)
        if tensor.dtype == BRAIN:
            array = (array.astype(np.uint32) << 16).view(np.float32)
        arrays.append(array)
        guards.append(np.frombuffer(whole[stop:end], np.uint8))
    before = guards[0][0] if guards else POISON
    spilled = before not in GUARDS or any(bool((one != before).any()) for one in guards)
    return arrays, spilled
