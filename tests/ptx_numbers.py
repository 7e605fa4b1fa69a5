"""Numbers as PTX has them, by Python's exact fractions and numpy's IEEE arithmetic."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kernelwright.envs.ptx.parse import BITS

FORMATS = {
    "f16": (11, -24, 16),
    "bf16": (8, -133, 128),
    "f32": (24, -149, 128),
    "f64": (53, -1074, 1024),
}
"""Type → digits, exponent of the smallest number, exponent above the largest."""
Function = Callable[..., Any]


@dataclass(frozen=True)
class Row:
    opcode: str
    reads: tuple[str, ...]
    gives: str
    expect: Function
    close: Function | None = None
    """Whether a result is near enough; None: the bits, or both no number."""


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> (bits - 1) & 1 else x


def number(bits: int, kind: str) -> Any:
    """The bits as what they mean: int, Fraction, or a float that is no Fraction."""
    width = BITS[kind]
    bits &= (1 << width) - 1
    if kind[0] in "ub" and kind != "bf16":
        return bits
    if kind[0] == "s":
        return signed(bits, width)
    value = as_float(bits, kind)
    return value if not math.isfinite(value) or value == 0 else Fraction(value)


def as_float(bits: int, kind: str) -> float:
    if kind == "bf16":
        bits, kind = (bits & 0xFFFF) << 16, "f32"
    letter = {"f16": "<e", "f32": "<f", "f64": "<d"}[kind]
    found: float = struct.unpack(letter, bits.to_bytes(BITS[kind] // 8, "little"))[0]
    return found


def rounded(x: Any, kind: str, how: str = "rn") -> int:
    """The bits of the nearest number of a type, or of the next one in a direction."""
    digits, lowest, highest = FORMATS[kind]
    width, top = BITS[kind], digits - 1
    exponents = (highest - lowest - digits + 2).bit_length()
    infinity = ((1 << exponents) - 1) << top
    if isinstance(x, float) and math.isnan(x):
        return infinity | 1 << (top - 1)
    negative = math.copysign(1, x) < 0 if isinstance(x, float) else x < 0
    sign = (1 << (width - 1)) if negative else 0
    if isinstance(x, float) and math.isinf(x):
        return sign | infinity
    x = abs(Fraction(x))
    if not x:
        return sign
    power = max(_exponent(x) - digits + 1, lowest)
    scaled = x / Fraction(2) ** power
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    up = {"rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1), "rz": False}
    up |= {"rm": negative and rest > 0, "rp": not negative and rest > 0}
    up["rna"] = rest >= Fraction(1, 2)
    whole += up[how]
    if whole >> digits:
        whole, power = whole >> 1, power + 1
    if power + digits > highest:
        away = how in ("rn", "rna") or (how == "rm" and negative) or (how == "rp" and not negative)
        return sign | (infinity if away else infinity - 1)
    biased = power - lowest + 1 if whole >> top else 0
    return sign | biased << top | (whole & ((1 << top) - 1))


def _exponent(x: Fraction) -> int:
    """The largest e with 2^e <= x."""
    found = x.numerator.bit_length() - x.denominator.bit_length()
    return found if Fraction(2) ** found <= x else found - 1


def in_ieee(function: Function, kind: str) -> Function:
    """numpy's operation on numbers of a type, bits in and bits out."""
    letter = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind]
    whole = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}[kind]

    def run(*given: int) -> int:
        with np.errstate(all="ignore"):
            found = function(*(np.array(one, whole).view(letter)[()] for one in given))
        return int(np.asarray(letter(found)).view(whole))

    return run


def exactly(function: Function, kind: str, how: str = "rn") -> Function:
    """The exact result rounded once; where something is not finite, or a zero, as IEEE's."""

    def run(*given: int) -> int:
        values = [number(one, kind) for one in given]
        floats = [as_float(one & ((1 << BITS[kind]) - 1), kind) for one in given]
        if any(isinstance(one, float) and not math.isfinite(one) for one in values):
            return rounded(_unbounded(function, floats), kind)
        found = function(*(Fraction(one) for one in values))
        if found == 0:
            return rounded(_zero(function, floats, how), kind)
        return rounded(found, kind, how)

    return run


def _unbounded(function: Function, given: list[float]) -> float:
    try:
        return float(function(*given))
    except (OverflowError, ZeroDivisionError):
        return math.nan


def _zero(function: Function, given: list[float], how: str) -> float:
    """Which zero a result is: of exact cancellation -0 only where one rounds down."""
    found = function(*(math.copysign(1.0 if one else 0.0, one) for one in given))
    if any(one != 0 for one in given) and function(*map(abs, given)) != 0:
        return -0.0 if how == "rm" else 0.0
    if how == "rm" and {math.copysign(1, one) for one in given} == {1.0, -1.0} and function is _sum:
        return -0.0
    return float(found)


def _sum(a: Any, b: Any) -> Any:
    return a + b


def ints(function: Function, kind: str, gives: str | None = None) -> Function:
    """An operation on Python's integers, cut to the type."""
    width = BITS[gives or kind]
    return lambda *given: function(*(number(one, kind) for one in given)) % (1 << width)


def toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def divided(a: int, b: int, kind: str) -> int:
    return toward_zero(a, b) if b else -1


def same(found: int, wanted: int, kind: str) -> bool:
    if kind in FORMATS and math.isnan(as_float(wanted, kind)):
        return math.isnan(as_float(found, kind))
    return found == wanted
