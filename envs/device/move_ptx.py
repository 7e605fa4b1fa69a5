"""PTX that moves elements between strided tensors: one after the other, or in tiles where they are
read along one dimension and written along another. Each kernel is `move(to, from)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import NamedTuple

from kernelwright.envs.abi import ITEM_BYTES
from kernelwright.envs.plan.steps import Fill

SMALL = 1 << 31
"""Counts and strides below it are multiplied and divided in 32 bits: constants, so no division is
left."""
_HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n"
_LOADS = {
    "float16": "ld.global.b16 %h, [%from]; cvt.f32.f16 %f, %h;",
    "bfloat16": "ld.global.u16 %u, [%from]; shl.b32 %u, %u, 16; mov.b32 %f, %u;",
    "float32": "ld.global.f32 %f, [%from];",
    "float64": "ld.global.f64 %d, [%from];",
}
_STORES = {
    "float16": "cvt.rn.f16.f32 %h, %f; st.{space}.b16 [%to], %h;",
    "bfloat16": "cvt.rn.bf16.f32 %h, %f; st.{space}.b16 [%to], %h;",
    "float32": "st.{space}.f32 [%to], %f;",
    "float64": "st.{space}.f64 [%to], %d;",
}
_WHOLE = {
    "int64": "s64",
    "int32": "s32",
    "int16": "s16",
    "int8": "s8",
    "uint8": "u8",
    "bool": "u8",
}
_PLAIN = {8: "b64", 4: "b32", 2: "b16", 1: "b8"}


class Dim(NamedTuple):
    """A dimension of a move: elements, and bytes from one to the next on either side."""

    size: int
    to: int
    source: int


def elementwise(dims: Sequence[Dim], source: str, to: str) -> tuple[str, int]:
    """(a kernel with a thread for each element, how many elements there are)."""
    count = prod(one.size for one in dims)
    return _kernel(_linear(count, [*_steps(dims, count), *_element(source, to)])), count


def fill(step: Fill) -> tuple[str, int]:
    """The same for a fill with eight bytes."""
    value, count = int.from_bytes(bytes.fromhex(step.fill), "little"), step.bytes // 8
    store = f"mov.b64 %x, 0x{value:x}; st.global.b64 [%to], %x;"
    return _kernel(_linear(count, [*_steps([Dim(count, 8, 0)], count), store])), count


def tiled(dims: Sequence[Dim], source: str, to: str, tile: int, rows: int) -> tuple[str, int]:
    """(a kernel whose blocks of `tile` x `rows` threads move a square of `tile` elements through
    shared memory, how many squares there are). The last dimension is written along, the one before
    it read along."""
    *others, read, written = dims
    item_bytes, pitch = ITEM_BYTES[to], tile + 1
    down, across = (-(-one.size // tile) for one in (read, written))
    squares = [*others, Dim(down, read.to * tile, read.source * tile)]
    squares.append(Dim(across, written.to * tile, written.source * tile))
    count = prod(one.size for one in squares)
    lines = [
        f".shared .align 8 .b8 square[{tile * pitch * item_bytes}];",
        "mov.u32 %a, %tid.x; mov.u32 %b, %tid.y; mov.u32 %i, %ctaid.x;",
        "ld.param.u64 %to, [p_to]; ld.param.u64 %from, [p_from];",
        # What is left of both dimensions in this square.
        f"rem.u32 %n, %i, {across}; mul.lo.u32 %n, %n, {tile}; sub.u32 %r, {written.size}, %n;",
        f"div.u32 %n, %i, {across}; rem.u32 %n, %n, {down}; mul.lo.u32 %n, %n, {tile};",
        f"sub.u32 %c, {read.size}, %n;",
        *_steps(squares, count),
        "mov.u64 %y, %to; mov.u64 %z, %from; mov.u64 %w, square;",
    ]
    for first in range(0, tile, rows):  # read along: a thread's own place, and rows of the other
        lines += [
            f"add.u32 %n, %b, {first};",
            "setp.ge.u32 %p, %a, %c; setp.ge.u32 %q, %n, %r; or.pred %p, %p, %q;",
            f"@%p bra $read{first};",
            *_offset("%from", "%z", ("%a", read.source), ("%n", written.source)),
            *_offset("%to", "%w", ("%n", pitch * item_bytes), ("%a", item_bytes)),
            *_element(source, to, "shared"),
            f"$read{first}:",
        ]
    lines.append("bar.sync 0;")
    for first in range(0, tile, rows):
        lines += [
            f"add.u32 %n, %b, {first};",
            "setp.ge.u32 %p, %n, %c; setp.ge.u32 %q, %a, %r; or.pred %p, %p, %q;",
            f"@%p bra $written{first};",
            *_offset("%from", "%w", ("%a", pitch * item_bytes), ("%n", item_bytes)),
            *_offset("%to", "%y", ("%n", read.to), ("%a", written.to)),
            *_plain(to, "shared", "global"),
            f"$written{first}:",
        ]
    return _kernel(lines), count


def _kernel(lines: Iterable[str]) -> str:
    head = [
        ".visible .entry move(.param .u64 p_to, .param .u64 p_from)",
        "{",
        ".reg .pred %p, %q; .reg .b16 %h; .reg .b32 %u, %a, %b, %c, %i, %n, %r, %s;",
        ".reg .f32 %f; .reg .f64 %d; .reg .b64 %to, %from, %x, %y, %z, %w, %I, %N;",
    ]
    return _HEAD + "\n".join([*head, *lines, "ret;", "}"]) + "\n"


def _linear(count: int, each: Iterable[str]) -> Iterator[str]:
    """A thread for each of so many; its number is `%i`, or `%I` where 32 bits are too few."""
    yield "mov.u32 %a, %ctaid.x; mov.u32 %b, %ntid.x; mov.u32 %n, %tid.x;"
    if count < SMALL:
        yield f"mad.lo.u32 %i, %a, %b, %n; setp.ge.u32 %p, %i, {count};"
    else:
        yield "mul.wide.u32 %I, %a, %b; cvt.u64.u32 %x, %n; add.u64 %I, %I, %x;"
        yield f"setp.ge.u64 %p, %I, {count};"
    yield "@%p bra $done;"
    yield "ld.param.u64 %to, [p_to]; ld.param.u64 %from, [p_from];"
    yield from each
    yield "$done:"


def _steps(dims: Sequence[Dim], count: int) -> Iterator[str]:
    """Moves both pointers from the first element to the one with this thread's number."""
    number, left, part, bits = ("%i", "%s", "%n", 32) if count < SMALL else ("%I", "%x", "%N", 64)
    for at, one in reversed(list(enumerate(dims))):
        if at == 0:
            yield f"mov.b{bits} {part}, {number};"
        else:
            yield f"div.u{bits} {left}, {number}, {one.size};"
            yield f"rem.u{bits} {part}, {number}, {one.size}; mov.b{bits} {number}, {left};"
        yield from _along("%to", part, one.to, bits)
        yield from _along("%from", part, one.source, bits)


def _along(pointer: str, number: str, stride_bytes: int, bits: int = 32) -> Iterator[str]:
    """Moves a pointer by so many strides."""
    if stride_bytes == 0:
        return
    if bits == 32 and stride_bytes < SMALL:
        yield f"mad.wide.u32 {pointer}, {number}, {stride_bytes}, {pointer};"
        return
    if bits == 32:
        yield f"cvt.u64.u32 %N, {number};"
    yield f"mad.lo.u64 {pointer}, %N, {stride_bytes}, {pointer};"


def _offset(pointer: str, base: str, *parts: tuple[str, int]) -> Iterator[str]:
    """Sets a pointer to a base and so many strides."""
    yield f"mov.u64 {pointer}, {base};"
    for number, stride_bytes in parts:
        yield from _along(pointer, number, stride_bytes)


def _plain(dtype: str, source: str = "global", to: str = "global") -> Iterator[str]:
    """Moves an element as it is."""
    kind = _PLAIN[ITEM_BYTES[dtype]]
    register = {"b64": "%x", "b32": "%u"}.get(kind, "%h")
    yield f"ld.{source}.{kind} {register}, [%from]; st.{to}.{kind} [%to], {register};"


def _element(source: str, to: str, space: str = "global") -> Iterator[str]:
    """Loads one as a number (`%f`, or `%d` if either has 64 bits; else `%x`), and stores it."""
    if source == to:
        yield from _plain(to, "global", space)
        return
    if source in _LOADS:
        yield _LOADS[source]
        if "float64" in (source, to):
            yield "cvt.rn.f32.f64 %f, %d;" if source == "float64" else "cvt.f64.f32 %d, %f;"
    else:
        kind = _WHOLE[source]
        register = "%x" if kind == "s64" else "%u" if kind == "s32" else "%h"
        yield f"ld.global.{kind} {register}, [%from];"
        yield "" if kind == "s64" else f"cvt.s64.{kind} %x, {register};"
        if to in _STORES:
            yield "cvt.rn.f64.s64 %d, %x;" if to == "float64" else "cvt.rn.f32.s64 %f, %x;"
    if to in _STORES:
        yield _STORES[to].format(space=space)
    elif to == "bool":
        yield f"setp.ne.s64 %p, %x, 0; selp.u16 %h, 1, 0, %p; st.{space}.u8 [%to], %h;"
    elif to == "int64":
        yield f"st.{space}.s64 [%to], %x;"
    elif to == "int32":
        yield f"cvt.u32.u64 %u, %x; st.{space}.s32 [%to], %u;"
    else:
        yield f"cvt.u16.u64 %h, %x; st.{space}.{_WHOLE[to]} [%to], %h;"
