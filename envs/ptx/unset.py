"""Marks the inactive lanes of Triton's masked loads without `other` as undefined.

Triton's code sets their registers to zero, so a kernel that relies on the zero is right by chance.
A zero among integers may be intended, so only registers that are used as floats are marked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kernelwright.envs.ptx.operands import FLOATS, UNSET, vector
from kernelwright.envs.ptx.parse import BITS, NAME, Instruction, Kernel

MOVES = frozenset(("mov", "selp", "shfl", "prmt", "shl", "and", "or"))
"""Instructions that pass the bits of a float on."""
NUMBERS = FLOATS | {"f16x2", "bf16x2"}


def unset_lanes(kernel: Kernel) -> None:
    """Puts `%unset` in place of the zero that a guarded load of floats leaves in lanes that are
    off."""
    floats = _floats(kernel)
    for at, one in enumerate(kernel.body):
        if not (isinstance(one, Instruction) and one.guard and one.parts[0] == "ld"):
            continue
        wanted = set(vector(one.operands[0])) & floats
        for before in range(at - 1, max(at - 9, -1), -1):
            zero = kernel.body[before]
            if not (isinstance(zero, Instruction) and zero.parts[0] == "mov" and not zero.guard):
                break
            if zero.operands[1:] == ("0x0",) and zero.operands[0] in wanted:
                kernel.body[before] = replace(zero, operands=(zero.operands[0], UNSET))


def _floats(kernel: Kernel) -> set[str]:
    """Registers whose bits are computed with as floats, here or where they are moved to."""
    moved: dict[str, set[str]] = {}
    found: set[str] = set()
    for one in kernel.statements:
        names = [set(NAME.findall(text)) & kernel.registers.keys() for text in one.operands]
        sources = set[str]().union(*names[1:])
        if _takes_floats(one):
            found |= sources
        if one.parts[0] in MOVES or one.parts[:3] == ["cvt", "u32", "u16"]:
            for target in names[0] if names else ():
                moved.setdefault(target, set()).update(sources)
    return found | set(_behind(found, moved))


def _takes_floats(one: Instruction) -> bool:
    """Whether an instruction computes with its operands as floats."""
    kinds = [part for part in one.parts if part in NUMBERS | BITS.keys()]
    if one.parts[0] in ("ld", "st", *MOVES) or not kinds:
        return False
    return (kinds[-1] if one.parts[0] == "cvt" else kinds[0]) in NUMBERS


def _behind(known: set[str], moved: dict[str, set[str]]) -> Iterator[str]:
    """What moves into these registers, at last."""
    left, seen = list(known), set(known)
    while left:
        for source in moved.get(left.pop(), set()) - seen:
            seen.add(source)
            left.append(source)
            yield source
