"""Opcodes that compute with a point in their numbers, and what each has to give."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from kernelwright.envs.ptx.parse import BITS
from tests.ptx_numbers import Function, Row, as_float, exactly, in_ieee, number, rounded, same


def floats() -> Iterator[Row]:
    names: dict[str, Function] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
    }
    for kind in ("f32", "f64"):
        for name, function in names.items():
            yield Row(f"{name}.rn.{kind}", (kind, kind), kind, in_ieee(function, kind))
        yield Row(f"div.rn.{kind}", (kind, kind), kind, in_ieee(np.divide, kind))
        yield Row(f"sqrt.rn.{kind}", (kind,), kind, in_ieee(np.sqrt, kind))
        yield Row(f"rcp.rn.{kind}", (kind,), kind, in_ieee(lambda a: type(a)(1) / a, kind))
        yield Row(f"neg.{kind}", (kind,), kind, lambda a, k=kind: a ^ 1 << (BITS[k] - 1))
        yield Row(f"abs.{kind}", (kind,), kind, lambda a, k=kind: a & ~(1 << (BITS[k] - 1)))
        yield Row(
            f"copysign.{kind}",
            (kind, kind),
            kind,
            lambda a, b, k=kind: b & ~(1 << (BITS[k] - 1)) | a & 1 << (BITS[k] - 1),
        )
        yield Row(f"min.{kind}", (kind, kind), kind, lambda a, b, k=kind: _extreme(a, b, k, False))
        yield Row(f"max.{kind}", (kind, kind), kind, lambda a, b, k=kind: _extreme(a, b, k, True))
    for kind in ("f16", "f32", "f64", "bf16"):
        fused = exactly(lambda a, b, c: a * b + c, kind)
        yield Row(
            f"fma.rn.{kind}",
            (kind, kind, kind),
            kind,
            lambda *given, f=fused: _unless_zero(f, given),
        )
    yield from directed(names)
    yield from halves(names)


def directed(names: dict[str, Function]) -> Iterator[Row]:
    for how in ("rz", "rm", "rp"):
        for name, function in names.items():
            exact = exactly(function, "f32", how)
            yield Row(
                f"{name}.{how}.f32",
                ("f32", "f32"),
                "f32",
                lambda *given, f=exact: _unless_zero(f, given),
            )
        exact = exactly(lambda a, b, c: a * b + c, "f32", how)
        yield Row(
            f"fma.{how}.f32", ("f32",) * 3, "f32", lambda *given, f=exact: _unless_zero(f, given)
        )


def halves(names: dict[str, Function]) -> Iterator[Row]:
    for name in ("add", "mul"):
        half = in_ieee(names[name], "f16")
        yield Row(f"{name}.f16", ("f16", "f16"), "f16", half)
        yield Row(
            f"{name}.f16x2",
            ("f16x2", "f16x2"),
            "f16x2",
            lambda a, b, f=half: f(a & 0xFFFF, b & 0xFFFF) | f(a >> 16, b >> 16) << 16,
            _halves_close,
        )
        flush = in_ieee(names[name], "f32")
        yield Row(
            f"{name}.ftz.f32",
            ("f32", "f32"),
            "f32",
            lambda a, b, f=flush: _flushed(f(_flushed(a), _flushed(b))),
        )
    sat = in_ieee(
        lambda a, b: (
            np.float32(0) if np.isnan(a + b) else min(max(a + b, np.float32(0)), np.float32(1))
        ),
        "f32",
    )
    yield Row(
        "add.sat.f32",
        ("f32", "f32"),
        "f32",
        sat,
        lambda found, wanted, _: found & 0x7FFFFFFF == wanted & 0x7FFFFFFF,
    )


def _halves_close(found: int, wanted: int, _: Any) -> bool:
    return all(same(found >> s & 0xFFFF, wanted >> s & 0xFFFF, "f16") for s in (0, 16))


def _unless_zero(function: Function, given: tuple[int, ...]) -> int | None:
    """None where the sign of a zero is all that is asked."""
    found = function(*given)
    return None if found & 0x7FFFFFFF == 0 or found in (0x8000, 1 << 63) else found


def _flushed(bits: int) -> int:
    return bits & 0x80000000 if not bits & 0x7F800000 else bits


def _extreme(a: int, b: int, kind: str, largest: bool) -> int:
    x, y = as_float(a, kind), as_float(b, kind)
    if math.isnan(x) or math.isnan(y):
        return b if math.isnan(x) else a

    def key(one: int) -> tuple[float, bool]:
        return as_float(one, kind), not one >> (BITS[kind] - 1)

    return max(a, b, key=key) if largest else min(a, b, key=key)


def conversions() -> Iterator[Row]:
    whole = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")
    for kind in ("s32", "u32", "s64", "u64", "s16", "u16"):
        for wanted in whole:
            if BITS[wanted] > 8 and wanted != kind:
                yield Row(
                    f"cvt.{wanted}.{kind}",
                    (kind,),
                    wanted,
                    lambda a, k=kind, v=wanted: number(a, k) % (1 << BITS[v]),
                )
        for wanted in ("f32", "f64", "f16"):
            yield Row(
                f"cvt.rn.{wanted}.{kind}",
                (kind,),
                wanted,
                lambda a, k=kind, v=wanted: rounded(Fraction(number(a, k)), v),
            )
    yield from float_conversions()


def float_conversions() -> Iterator[Row]:
    for kind in ("f32", "f64", "f16"):
        for wanted in ("s32", "u32", "s64", "u64"):
            for how in ("rni", "rzi", "rmi", "rpi"):
                yield Row(
                    f"cvt.{how}.{wanted}.{kind}",
                    (kind,),
                    wanted,
                    lambda a, k=kind, v=wanted, h=how: _clamped(as_float(a, k), v, h),
                )
    for kind, wanted in (("f32", "f16"), ("f32", "bf16"), ("f64", "f32"), ("f64", "f16")):
        yield Row(
            f"cvt.rn.{wanted}.{kind}",
            (kind,),
            wanted,
            lambda a, k=kind, v=wanted: rounded(number(a, k), v),
        )
    for kind, wanted in (("f32", "f16"), ("f32", "bf16"), ("f64", "f32")):
        yield Row(
            f"cvt.rz.{wanted}.{kind}",
            (kind,),
            wanted,
            lambda a, k=kind, v=wanted: (
                rounded(number(a, k), v, "rz")
                if math.isfinite(as_float(rounded(number(a, k), v), v))
                else None
            ),
        )
    for kind, wanted in (("f16", "f32"), ("bf16", "f32"), ("f32", "f64")):
        yield Row(
            f"cvt.{wanted}.{kind}",
            (kind,),
            wanted,
            lambda a, k=kind, v=wanted: rounded(number(a, k), v),
        )
    yield Row(
        "cvt.rn.f16x2.f32",
        ("f32", "f32"),
        "f16x2",
        lambda a, b: rounded(number(b, "f32"), "f16") | rounded(number(a, "f32"), "f16") << 16,
        _halves_close,
    )
    yield Row(
        "cvt.rna.tf32.f32",
        ("f32",),
        "b32",
        lambda a: (a + 0x1000 & ~0x1FFF) if a & 0x7F800000 != 0x7F800000 else None,
    )
    for how, function in {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}.items():
        yield Row(f"cvt.{how}.f32.f32", ("f32",), "f32", in_ieee(function, "f32"))


WHOLE: dict[str, Callable[[Fraction], int]] = {
    "rni": round,
    "rzi": math.trunc,
    "rmi": math.floor,
    "rpi": math.ceil,
}


def _clamped(x: float, kind: str, how: str) -> int:
    low, high = (
        (-(1 << BITS[kind] - 1), (1 << BITS[kind] - 1) - 1)
        if kind[0] == "s"
        else (0, (1 << BITS[kind]) - 1)
    )
    if math.isnan(x):
        return 0
    if math.isinf(x):
        return (high if x > 0 else low) % (1 << BITS[kind])
    whole = WHOLE[how](Fraction(x))
    return min(max(whole, low), high) % (1 << BITS[kind])


def approximate() -> Iterator[Row]:
    def near(function: Function, relative: float, absolute: float = 0.0) -> Function:
        def check(found: int, _: int, given: list[int]) -> bool:
            x = [as_float(one, "f32") for one in given]
            try:
                wanted = function(*x)
            except (ValueError, OverflowError, ZeroDivisionError):
                return True
            got = as_float(found, "f32")
            if math.isnan(wanted) or abs(wanted) > 3e38 or abs(wanted) < 2e-38:
                return True
            return abs(got - wanted) <= relative * abs(wanted) + absolute

        return check

    def one(name: str, function: Function, relative: float, absolute: float = 0.0) -> Row:
        check = near(function, relative, absolute)
        return Row(f"{name}.approx.f32", ("f32",), "f32", lambda a: 0, check)

    yield one("ex2", lambda x: 2.0**x, 2**-21)
    yield one("lg2", lambda x: math.log2(x), 2**-22, 2**-22)
    yield one("rcp", lambda x: 1 / x, 2**-22)
    yield one("sqrt", math.sqrt, 2**-22)
    yield one("rsqrt", lambda x: 1 / math.sqrt(x), 2**-22)
    yield one("tanh", math.tanh, 2**-10.9)
    yield one("sin", lambda x: math.sin(x) if abs(x) < math.pi else math.nan, 0, 2**-20)
    yield one("cos", lambda x: math.cos(x) if abs(x) < math.pi else math.nan, 0, 2**-20)
