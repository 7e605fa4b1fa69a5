"""Shared helpers of handlers, which translate one PTX instruction into C++ steps."""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.envs.ptx.operands import FLOATS, Scope, Step, ctype
from kernelwright.envs.ptx.parse import BITS, Instruction, NotEmulatedError

Handler = Callable[[Scope, Instruction], list[Step]]


def only(one: Instruction, allowed: str) -> None:
    """Refuses modifiers that are not among these."""
    known = {*allowed.split(), *BITS}
    if any(part not in known for part in one.parts[1:]):
        raise NotEmulatedError(one.opcode)


def number_type(kind: str) -> str:
    """The C++ type that numbers of a type are computed with."""
    if kind in FLOATS:
        return "double" if kind == "f64" else "float"
    return ctype(kind)


def pure(scope: Scope, one: Instruction, *rows: tuple[str, str]) -> list[Step]:
    """The step of an instruction that reads all its operands but the first."""
    kept = [(register, text) for register, text in rows if register != "_"]
    return [Step(scope.reads(*one.operands[1:]), kept)]


def given(one: Instruction, least: int, most: int | None = None) -> tuple[str, ...]:
    """Its operands, if they are as many as they should be."""
    if not least <= len(one.operands) <= (most or least):
        raise NotEmulatedError(f"{one.opcode} of {len(one.operands)}")
    return one.operands


def words_in(scope: Scope, names: list[str], array: str) -> list[tuple[str, str, str]]:
    """The inputs of a step that takes registers of 32 bits as `array[i]`."""
    return [
        ("u32", f"{array}[{len(names)}]@{i}", f"(u32){scope.bits(name, 'b32')}")
        for i, name in enumerate(names)
    ]


def words_out(scope: Scope, step: Step, names: list[str], array: str) -> list[Step]:
    """The step, which leaves registers of 32 bits in `array[i]`."""
    step.outputs = [("u32", f"{array}[{len(names)}]")]
    step.rows = [scope.result(name, "b32", f"{array}[{i}][l]") for i, name in enumerate(names)]
    return [step]


def nothing(scope: Scope, one: Instruction) -> list[Step]:
    """What changes nothing here: memory is in order, and nothing is fetched ahead of time."""
    del scope, one
    return []
