"""Translates `wmma`: loads, products and stores of matrices by a whole warp
(native/ptx/fragments.h)."""

from __future__ import annotations

import re

from kernelwright.envs.ptx.handler import Handler, given, only, words_in, words_out
from kernelwright.envs.ptx.operands import Scope, Step, space_of, vector
from kernelwright.envs.ptx.parse import BITS, Instruction, NotEmulatedError

SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
DEPTHS = {"f16": 16, "bf16": 16, "s8": 16, "u8": 16, "tf32": 8}
"""Type of a factor → how deep its shapes are (PTX ISA 8.7); tf32 has no other than 16x16."""
SIZES = ((16, 16), (32, 8), (8, 32))
PARTS = "sync aligned row col m16n16k16 m32n8k16 m8n32k16 m16n16k8 satfinite"
PARTS += " global shared shared::cta"
NUMBERS = {"f16": "F16", "bf16": "BF16", "tf32": "TF32", "f32": "F32", "s8": "S8", "u8": "U8"}


def wmma(scope: Scope, one: Instruction) -> list[Step]:
    what = one.parts[1]
    if what == "mma":
        return _product(scope, one)
    if what not in ("load", "store"):
        raise NotEmulatedError(one.opcode)
    return _moved(scope, one, what)


def _shape(one: Instruction) -> tuple[int, int, int]:
    """(m, n, k), which its parts name."""
    found = next(filter(None, map(SHAPE.fullmatch, one.parts)), None)
    if found is None:
        raise NotEmulatedError(one.opcode)
    m, n, k = (int(text) for text in found.groups())
    if (m, n) not in SIZES:
        raise NotEmulatedError(one.opcode)
    return m, n, k


def _registers(rows: int, columns: int, kind: str, factor: bool) -> int:
    """32 bits each, of a lane's part; factors of f16 are held twice."""
    return 8 if factor and kind == "f16" else rows * columns * BITS[kind] // 32 // 32


def _moved(scope: Scope, one: Instruction, what: str) -> list[Step]:
    """`wmma.load` of a, b or c and `wmma.store` of d."""
    only(one, f"{what} a b c d {PARTS}")
    (m, n, k), which, kind = _shape(one), one.parts[2], scope.kind(one)
    sizes = {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}
    rows, columns = sizes[which]
    factor, order = which in "ab", [part for part in one.parts if part in ("row", "col")]
    fits = DEPTHS.get(kind) == k if factor else kind in ("f16", "f32", "s32")
    first, second, *more = given(one, 2, 3)
    where, part = (first, second) if what == "store" else (second, first)
    names = vector(part)
    if not fits or len(order) != 1 or len(names) != _registers(rows, columns, kind, factor):
        raise NotEmulatedError(one.opcode)
    row_major = order == ["row"]
    stride = more[0] if more else str(columns if row_major else rows)
    space = space_of(one)
    address, reads = scope.address(where, space)
    if space != "global":
        scope.shared_unit = min(scope.shared_unit, BITS[kind] // 8)
    if space != "shared":
        scope.global_unit = min(scope.global_unit, BITS[kind] // 8)
    a, s, t = (scope.array() for _ in range(3))
    given_types = f"u{BITS[kind]}, {rows}, {columns}, {str(row_major).lower()}"
    if what == "load":
        given_types += f", {len(names)}"
    call = f"{what}_fragment<{given_types}, {(space or 'generic').upper()}>"
    step = Step(reads | scope.reads(stride), meets=True)
    step.call = f"{call}(w, {scope.site(one)}, on_, {a}, {s}, {t});"
    step.inputs = [("u32" if space == "shared" else "u64", a, address)]
    step.inputs += [("u32", s, scope.value(stride, "u32"))]
    if what == "load":
        return words_out(scope, step, names, t)
    step.reads |= scope.reads(*names)
    step.inputs += words_in(scope, names, t)
    return [step]


def _product(scope: Scope, one: Instruction) -> list[Step]:
    """`wmma.mma`: types are of d and c where factors are f16, of all four elsewhere."""
    only(one, f"mma {PARTS}")
    (m, n, k), saturated = _shape(one), "satfinite" in one.parts
    kinds = [part for part in one.parts if part in BITS]
    if len(kinds) == 2:
        kinds[1:1] = ["f16", "f16"]
    if len(kinds) != 4:
        raise NotEmulatedError(one.opcode)
    d, a, b, c = kinds
    whole = (d, c) == ("s32", "s32") and a == b and a in ("s8", "u8")
    halves = a == b == "f16" and {d, c} <= {"f16", "f32"}
    wide = (d, c) == ("f32", "f32") and a == b and a in ("bf16", "tf32")
    if DEPTHS.get(a) != k or not (whole or ((halves or wide) and not saturated)):
        raise NotEmulatedError(one.opcode)
    parts = [vector(text) for text in given(one, 4)]
    sizes = [(m, n, d, False), (m, k, a, True), (k, n, b, True), (m, n, c, False)]
    if [len(some) for some in parts] != [_registers(*size) for size in sizes]:
        raise NotEmulatedError(one.opcode)
    summed = f"S32<{str(saturated).lower()}>"
    numbers = ", ".join(summed if kind == "s32" else NUMBERS[kind] for kind in (d, a, b, c))
    t, *arrays = (scope.array() for _ in range(4))
    function = f"multiply_fragments<{m}, {n}, {k}, {numbers}, {len(parts[0])}>"
    step = Step(scope.reads(*parts[1], *parts[2], *parts[3]), meets=True)
    step.call = f"if (on_) {function}({', '.join([*arrays, t])});"
    for array, names in zip(arrays, parts[1:], strict=True):
        step.inputs += words_in(scope, names, array)
    return words_out(scope, step, parts[0], t)


OPCODES: dict[str, Handler] = {"wmma": wmma}
