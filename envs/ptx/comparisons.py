"""Translates PTX instructions that compare, and that select by a predicate."""

from __future__ import annotations

from kernelwright.envs.ptx.handler import Handler, given, only, pure
from kernelwright.envs.ptx.operands import FLOATS, READS, Scope, Step
from kernelwright.envs.ptx.parse import BITS, Instruction, NotEmulatedError

ORDERED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
ORDERED |= {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
UNORDERED = {"equ": "ne", "neu": "eq", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}
"""Comparison → the ordered one of which it is the contrary."""
JOINS = {"and": "&", "or": "|", "xor": "^"}


def testp(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "finite infinite number notanumber normal subnormal")
    to, a = given(one, 2)
    kind = scope.kind(one)
    text = scope.value(a, kind)
    return pure(scope, one, (to, f"(is_{one.parts[1]}({text}) ? 1u : 0u)"))


def selp(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "")
    kind, (to, a, b, p) = scope.kind(one), given(one, 4)
    yes, no = (scope.bits(text, kind) for text in (a, b))
    chosen = f"{scope.value(p, 'pred')} ? (u64){yes} : (u64){no}"
    return pure(scope, one, scope.result(to, f"b{BITS[kind]}", chosen))


def slct(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "ftz")
    to, a, b, c = given(one, 4)
    kinds = [part for part in one.parts if part in BITS]
    yes, no = (scope.bits(text, kinds[0]) for text in (a, b))
    chosen = f"{scope.value(c, kinds[-1])} >= 0 ? (u64){yes} : (u64){no}"
    return pure(scope, one, scope.result(to, f"b{BITS[kinds[0]]}", chosen))


def comparison(one: Instruction, how: str, kind: str, x: str, y: str) -> str:
    """C++ that is 1 where the comparison holds."""
    flush = "flushed" if "ftz" in one.parts and kind == "f32" else ""
    x, y = f"{flush}({x})", f"{flush}({y})"
    if how in UNORDERED:
        other = UNORDERED[how]
        holds = f"({x} < {y} || {x} > {y})" if other == "ne" else f"({x} {ORDERED[other]} {y})"
        return f"(!{holds} ? 1u : 0u)"
    if how in ("num", "nan"):
        both = f"({x} == {x} && {y} == {y})"
        return f"({both if how == 'num' else '!' + both} ? 1u : 0u)"
    if how not in ORDERED:
        raise NotEmulatedError(one.opcode)
    if how == "ne" and kind in FLOATS:
        return f"({x} < {y} || {x} > {y} ? 1u : 0u)"
    return f"({x} {ORDERED[how]} {y} ? 1u : 0u)"


COMPARISONS = " ".join([*ORDERED, *UNORDERED, "num", "nan", *JOINS])


def setp(scope: Scope, one: Instruction) -> list[Step]:
    only(one, f"{COMPARISONS} ftz")
    kind, how = scope.kind(one), one.parts[1]
    to, a, b, *more = given(one, 3, 4)
    yes, _, no = (text.strip() for text in to.partition("|"))
    if kind.endswith("x2"):
        tests = [_half_test(scope, one, a, b, part) for part in ("low16", "high16")]
    else:
        test = comparison(one, how, kind, scope.value(a, kind), scope.value(b, kind))
        tests = [test, f"({test} ^ 1u)"]
    if more:
        sign = next((JOINS[part] for part in one.parts if part in JOINS), "&")
        tests = [f"({test} {sign} {scope.value(more[0], 'pred')})" for test in tests]
    rows = [(yes, tests[0])] + ([(no, tests[1])] if no else [])
    return pure(scope, one, *rows)


def _half_test(scope: Scope, one: Instruction, a: str, b: str, part: str) -> str:
    kind = scope.kind(one)[:-2]
    x, y = (f"{READS[kind]}({part}({scope.value(text, 'b32')}))" for text in (a, b))
    return comparison(one, one.parts[1], kind, x, y)


def set_(scope: Scope, one: Instruction) -> list[Step]:
    only(one, f"{COMPARISONS} ftz")
    kinds = [part for part in one.parts if part in BITS]
    to, a, b = given(one, 3)
    if len(kinds) != 2:
        raise NotEmulatedError(one.opcode)
    result, kind = kinds
    if kind.endswith("x2"):
        if result not in ("f16x2", "bf16x2"):
            raise NotEmulatedError(one.opcode)
        yes = {"f16x2": "0x3c00", "bf16x2": "0x3f80"}[result]
        low, high = (_half_test(scope, one, a, b, part) for part in ("low16", "high16"))
        return pure(scope, one, (to, f"pack16({low} ? {yes} : 0, {high} ? {yes} : 0)"))
    test = comparison(one, one.parts[1], kind, scope.value(a, kind), scope.value(b, kind))
    yes = {"f32": "0x3f800000u", "f16": "0x3c00u", "bf16": "0x3f80u"}.get(result, "~0u")
    return pure(scope, one, scope.result(to, f"b{BITS[result]}", f"{test} ? {yes} : 0u"))


OPCODES: dict[str, Handler] = {
    "testp": testp,
    "selp": selp,
    "slct": slct,
    "setp": setp,
    "set": set_,
}
