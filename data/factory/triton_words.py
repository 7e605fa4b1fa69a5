"""Translates C++ statements to Triton's Python."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelwright.data.factory.walk import Loop

INFINITE = 'float("inf")'
NAMES = {"max": "tl.maximum", "min": "tl.minimum", "fabs": "tl.abs"}
SAME = ("exp", "sin", "erf", "sqrt")
"""Functions of `tl` under C's name; `libdevice` has the others."""
NUMBER = re.compile(r"(?<![\w.])(\d[\d.]*(?:e-?\d+)?)f\b")
CONSTANT = re.compile(r"float (\w) = (-?INFINITY|\d\S*f);")
READ = re.compile(r"(\w+)\[([^\[\]]*)\]")
WRITE = re.compile(r"(out\d?)\[([^\[\]]*)\] = (.*)")
CHOICE = re.compile(r"(.* = )?(.*?) \? (.*) : (.*)")


def lines_of(statements: Sequence[str | Loop]) -> list[str]:
    """The lines of a program; what was read before is not read again."""
    lines: list[str] = []
    for one in statements:
        if isinstance(one, Loop):
            head = f"for {one.index} in range({one.count}):"
            new = [head, *(f"    {line}" for line in lines_of(one.statements))]
        else:
            new = [line for line in translated(one) if "tl.load" not in line or line not in lines]
        lines += new
    return lines


def translated(statement: str) -> list[str]:
    """A statement, and before it a line for each tensor that it reads.

    >>> translated("v = std::max(v, b[j]);")
    ['b = tl.load(b_ptr + j, mask=mask)', 'v = tl.maximum(v, b)']
    >>> translated("v = v > 0.0f ? v : 0.1f * v;")
    ['v = tl.where(v > 0.0, v, 0.1 * v)']
    """
    if found := CONSTANT.fullmatch(statement):
        return [f"{found[1]} = tl.full([BLOCK], {spoken(found[2])}, tl.float32)"]
    text = spoken(statement)
    written = WRITE.fullmatch(text)
    lines, value = _with_reads(written[3] if written else text)
    if found := CHOICE.fullmatch(value):
        value = f"{found[1] or ''}tl.where({found[2]}, {found[3]}, {found[4]})"
    if written:
        value = f"tl.store({written[1]}_ptr + {written[2]}, {value}{_mask(written[2])})"
    return [*lines, value]


def spoken(text: str) -> str:
    """Numbers, functions and declarations as Python has them."""
    text = text.removesuffix(";").removeprefix("float ").replace("(float)", "")
    text = re.sub(r"std::(\w+)", lambda found: _function(found[1]), text)
    return NUMBER.sub(r"\1", text.replace("INFINITY", INFINITE))


def _function(name: str) -> str:
    return NAMES.get(name) or (f"tl.{name}" if name in SAME else f"libdevice.{name}")


def _with_reads(text: str) -> tuple[list[str], str]:
    """A tensor is read under its own name; where it is read twice, or as `v`, in place."""
    lines = []
    while reads := list(dict.fromkeys(READ.findall(text))):
        names = [name for name, _ in reads]
        for name, index in reads:
            here = f"{name}[{index}]"
            value = f"tl.load({name}_ptr + {index}{_mask(index)})"
            if names.count(name) == 1 and text != f"v = {here}":
                lines.append(f"{name} = {value}")
                value = name
            text = text.replace(here, value)
    return lines, text


def _mask(index: str) -> str:
    return ", mask=mask" if re.search(r"\bj\b", index) else ""
