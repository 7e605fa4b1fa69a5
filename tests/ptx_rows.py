"""Opcodes, what they read, and what each has to give."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernelwright.envs.ptx.parse import BITS
from tests.ptx_float_rows import approximate, conversions, floats
from tests.ptx_numbers import Function, Row, as_float, divided, ints, number, signed, toward_zero


def rows() -> Iterator[Row]:
    yield from integers()
    yield from bit_fields()
    yield from masks()
    yield from floats()
    yield from conversions()
    yield from approximate()
    yield from comparisons()


def integers() -> Iterator[Row]:
    for kind in ("s16", "u16", "s32", "u32", "s64", "u64"):
        w = BITS[kind]
        two = (kind, kind)
        yield Row(f"add.{kind}", two, kind, ints(lambda a, b: a + b, kind))
        yield Row(f"sub.{kind}", two, kind, ints(lambda a, b: a - b, kind))
        yield Row(f"mul.lo.{kind}", two, kind, ints(lambda a, b: a * b, kind))
        yield Row(f"mul.hi.{kind}", two, kind, ints(lambda a, b, w=w: a * b >> w, kind))
        yield Row(f"mad.lo.{kind}", (*two, kind), kind, ints(lambda a, b, c: a * b + c, kind))
        yield Row(f"min.{kind}", two, kind, ints(min, kind))
        yield Row(f"max.{kind}", two, kind, ints(max, kind))
        yield Row(f"div.{kind}", two, kind, ints(lambda a, b, k=kind: divided(a, b, k), kind))
        rem = ints(lambda a, b: a - toward_zero(a, b) * b if b else a, kind)
        yield Row(f"rem.{kind}", two, kind, rem)
        yield Row(f"sad.{kind}", (*two, kind), kind, ints(lambda a, b, c: abs(a - b) + c, kind))
        yield Row(
            f"shr.{kind}",
            (kind, "u32"),
            kind,
            lambda a, n, k=kind: (number(a, k) >> min(n, BITS[k])) % (1 << BITS[k]),
        )
        if kind[0] == "s":
            yield Row(f"abs.{kind}", (kind,), kind, ints(abs, kind))
            yield Row(f"neg.{kind}", (kind,), kind, ints(lambda a: -a, kind))
        if w < 64:
            wide = f"{kind[0]}{2 * w}"
            yield Row(f"mul.wide.{kind}", two, wide, ints(lambda a, b: a * b, kind, wide))
            yield Row(
                f"mad.wide.{kind}",
                (*two, wide),
                wide,
                lambda a, b, c, k=kind, v=wide: (
                    (number(a, k) * number(b, k) + number(c, v)) % (1 << BITS[v])
                ),
            )
    low, high = -(1 << 31), (1 << 31) - 1
    yield Row(
        "add.sat.s32", ("s32", "s32"), "s32", ints(lambda a, b: min(max(a + b, low), high), "s32")
    )
    yield Row(
        "sub.sat.s32", ("s32", "s32"), "s32", ints(lambda a, b: min(max(a - b, low), high), "s32")
    )
    for signs in ("s32.s32", "u32.u32", "u32.s32", "s32.u32"):
        x, y = signs.split(".")
        yield Row(
            f"dp4a.{signs}",
            ("u32", "u32", "u32"),
            "u32",
            lambda a, b, c, x=x, y=y: (
                (
                    c
                    + sum(
                        number(a >> 8 * i, x[0] + "8") * number(b >> 8 * i, y[0] + "8")
                        for i in range(4)
                    )
                )
                % (1 << 32)
            ),
        )


def bit_fields() -> Iterator[Row]:
    for kind in ("b16", "b32", "b64"):
        w = BITS[kind]
        ones = (1 << w) - 1
        yield Row(f"and.{kind}", (kind, kind), kind, lambda a, b: a & b)
        yield Row(f"or.{kind}", (kind, kind), kind, lambda a, b: a | b)
        yield Row(f"xor.{kind}", (kind, kind), kind, lambda a, b: a ^ b)
        yield Row(f"not.{kind}", (kind,), kind, lambda a, o=ones: ~a & o)
        yield Row(f"cnot.{kind}", (kind,), kind, lambda a: int(a == 0))
        yield Row(
            f"shl.{kind}", (kind, "u32"), kind, lambda a, n, o=ones, w=w: a << n & o if n < w else 0
        )
        yield Row(f"mov.{kind}", (kind,), kind, lambda a: a)
        yield Row(f"selp.{kind}", (kind, kind, "pred"), kind, lambda a, b, p: a if p else b)
        if w > 16:
            yield Row(f"popc.{kind}", (kind,), "u32", lambda a: a.bit_count())
            yield Row(f"clz.{kind}", (kind,), "u32", lambda a, w=w: w - a.bit_length())
            yield Row(f"brev.{kind}", (kind,), kind, lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2))
            yield Row(
                f"bfi.{kind}",
                (kind, kind, "u32", "u32"),
                kind,
                lambda a, b, at, n, w=w: _inserted(a, b, at & 255, n & 255, w),
            )
    for kind in ("u32", "s32", "u64", "s64"):
        w = BITS[kind]
        yield Row(
            f"bfe.{kind}",
            (kind, "u32", "u32"),
            kind,
            lambda a, at, n, k=kind: _extracted(a, at & 255, n & 255, k),
        )
        yield Row(f"bfind.{kind}", (kind,), "u32", lambda a, k=kind: _highest(number(a, k)))
        if kind in ("u32", "u64"):
            yield Row(
                f"bfind.shiftamt.{kind}",
                (kind,),
                "u32",
                lambda a, w=w: w - a.bit_length() if a else (1 << 32) - 1,
            )
    three = ("b32", "b32", "b32")
    yield Row("prmt.b32", three, "b32", _permuted)
    for table in (0x96, 0xE8, 0xCA, 0x01, 0xFE):
        yield Row(
            f"lop3.b32:{table:#x}",
            three,
            "b32",
            lambda a, b, c, t=table: sum(
                (t >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i
                for i in range(32)
            ),
        )
    for side in "lr":
        for mode in ("wrap", "clamp"):
            yield Row(
                f"shf.{side}.{mode}.b32",
                ("b32", "b32", "u32"),
                "b32",
                lambda a, b, n, s=side, m=mode: _funnel(a, b, n, s, m),
            )


def masks() -> Iterator[Row]:
    for mode in ("clamp", "wrap"):
        yield Row(
            f"bmsk.{mode}.b32",
            ("u32", "u32"),
            "b32",
            lambda a, b, m=mode: _masked(*((a, b) if m == "clamp" else (a % 32, b % 32))),
        )


def _highest(x: int) -> int:
    """The highest bit that is not the sign's, counted from 0; all ones for none."""
    return ((~x if x < 0 else x).bit_length() - 1) % (1 << 32)


def _masked(at: int, n: int) -> int:
    """A word whose bits are set from one on, so many of them."""
    return sum(1 << i for i in range(32) if at <= i < at + n)


def _inserted(a: int, b: int, at: int, n: int, w: int) -> int:
    for i in range(min(n, max(w - at, 0))):
        b = b & ~(1 << (at + i)) | (a >> i & 1) << (at + i)
    return b


def _extracted(a: int, at: int, n: int, kind: str) -> int:
    w = BITS[kind]
    if not n:
        return 0
    sign = a >> min(at + n - 1, w - 1) & 1 if kind[0] == "s" else 0
    return sum((a >> (at + i) & 1 if i < n and at + i < w else sign) << i for i in range(w))


def _permuted(a: int, b: int, how: int) -> int:
    data = (b << 32 | a).to_bytes(8, "little")
    found = 0
    for i in range(4):
        pick = how >> 4 * i & 15
        byte = data[pick & 7]
        found |= ((255 if byte & 128 else 0) if pick & 8 else byte) << 8 * i
    return found


def _funnel(a: int, b: int, n: int, side: str, mode: str) -> int:
    n = n & 31 if mode == "wrap" else min(n, 32)
    both = b << 32 | a
    return both << n >> 32 & 0xFFFFFFFF if side == "l" else both >> n & 0xFFFFFFFF


def comparisons() -> Iterator[Row]:
    tests: dict[str, Function] = {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }
    for kind in ("s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64", "f16"):
        for how, function in tests.items():
            read = as_float if kind[0] == "f" else number

            def expect(
                a: int,
                b: int,
                f: Function = function,
                k: str = kind,
                r: Function = read,
                how: str = how,
            ) -> int:
                x, y = r(a, k), r(b, k)
                return int(f(x, y)) if how != "ne" or (x == x and y == y) else 0

            yield Row(f"setp.{how}.{kind}", (kind, kind), "pred", expect)
            if kind[0] == "f":
                yield Row(
                    f"setp.{how}u.{kind}",
                    (kind, kind),
                    "pred",
                    lambda a, b, f=function, r=read, k=kind: int(
                        r(a, k) != r(a, k) or r(b, k) != r(b, k) or f(r(a, k), r(b, k))
                    ),
                )
    for how, test in {
        "finite": math.isfinite,
        "infinite": math.isinf,
        "notanumber": math.isnan,
    }.items():
        yield Row(
            f"testp.{how}.f32", ("f32",), "pred", lambda a, t=test: int(t(as_float(a, "f32")))
        )
    yield Row(
        "set.lt.u32.s32",
        ("s32", "s32"),
        "u32",
        lambda a, b: 0xFFFFFFFF if signed(a, 32) < signed(b, 32) else 0,
    )
    yield Row(
        "set.ge.f32.f32",
        ("f32", "f32"),
        "f32",
        lambda a, b: 0x3F800000 if as_float(a, "f32") >= as_float(b, "f32") else 0,
    )
    yield Row(
        "slct.b32.s32", ("b32", "b32", "s32"), "b32", lambda a, b, c: a if signed(c, 32) >= 0 else b
    )
