"""Translates PTX instructions that convert numbers to another type, or rearrange bits."""

from __future__ import annotations

from kernelwright.envs.ptx.handler import Handler, given, number_type, only, pure
from kernelwright.envs.ptx.operands import FLOATS, WRITES, Scope, Step, ctype, vector
from kernelwright.envs.ptx.parse import BITS, Instruction, NotEmulatedError

ROUND = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


def mov(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "")
    kind, (to, a) = scope.kind(one), given(one, 2)
    bits = BITS[kind]
    if to.startswith("{"):
        names, width = _parts(one, to, bits)
        value = scope.value(a, f"u{bits}")
        rows = [
            scope.result(name, f"b{width}", f"(u64){value} >> {i * width}")
            for i, name in enumerate(names)
            if name != "_"
        ]
        return pure(scope, one, *rows)
    if a.startswith("{"):
        names, width = _parts(one, a, bits)
        pieces = [
            f"(u64){scope.value(name, f'u{width}')} << {i * width}" for i, name in enumerate(names)
        ]
        return pure(scope, one, scope.result(to, f"b{bits}", " | ".join(pieces)))
    if kind == "pred":
        return pure(scope, one, (to, scope.value(a, "pred")))
    return pure(scope, one, scope.result(to, f"b{bits}", scope.bits(a, kind)))


def _parts(one: Instruction, text: str, bits: int) -> tuple[list[str], int]:
    """(the parts of `{a, b}`, the bits of each)."""
    names = vector(text)
    width = bits // len(names)
    if width not in (8, 16, 32) or width * len(names) != bits:
        raise NotEmulatedError(f"{one.opcode} of {len(names)} parts")
    return names, width


def cvta(scope: Scope, one: Instruction) -> list[Step]:
    """Addresses of shared and of local memory have windows of their own (native/ptx/warp.h)."""
    only(one, "to global shared shared::cta local param const param::entry")
    to, a = given(one, 2)
    window = {"shared": "kSharedWindow", "local": "kLocalWindow"}.get(
        next(part for part in one.parts[1:] if part != "to").partition("::")[0], "0ull"
    )
    sign = "-" if "to" in one.parts else "+"
    value = f"(u64){scope.value(a, 'u64')} {sign} {window}"
    return pure(scope, one, scope.result(to, f"u{scope.width(to)}", value))


def isspacep(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "global shared local const param shared::cta")
    to, a = given(one, 2)
    text = f"in_{one.parts[1].partition('::')[0]}({scope.value(a, 'u64')})"
    return pure(scope, one, (to, f"({text} ? 1u : 0u)"))


def cvt(scope: Scope, one: Instruction) -> list[Step]:
    kinds = [part for part in one.parts if part in BITS]
    only(one, "rn rna rni rzi rmi rpi rz rm rp ftz sat relu")
    if len(kinds) != 2:
        raise NotEmulatedError(one.opcode)
    (wanted, kind), (to, *values) = kinds, given(one, 2, 3)
    if wanted in ("f16x2", "bf16x2"):
        return pure(scope, one, (to, _packed(scope, one, wanted, values)))
    x = scope.value(values[0], kind)
    if "ftz" in one.parts and kind == "f32":
        x = f"flushed({x})"
    return pure(scope, one, scope.result(to, wanted, _converted(one, wanted, kind, x)))


def _packed(scope: Scope, one: Instruction, wanted: str, values: list[str]) -> str:
    if len(values) != 2 or {"rz", "sat"} & set(one.parts):
        raise NotEmulatedError(one.opcode)
    high, low = (scope.value(text, "f32") for text in values)
    if "relu" in one.parts:
        high, low = f"most<true>({high}, 0.f)", f"most<true>({low}, 0.f)"
    write = WRITES[wanted[:-2]]
    return f"pack16({write}({low}), {write}({high}))"


def _converted(one: Instruction, wanted: str, kind: str, x: str) -> str:
    """The number of one type as one of another."""
    parts = set(one.parts)
    whole = _rounding(one)
    if wanted == "tf32":
        return f"to_tf32({x})"
    if kind in FLOATS and wanted not in FLOATS:
        if whole is None:
            raise NotEmulatedError(one.opcode)
        return f"saturated<{ctype(wanted)}>({_whole(whole, kind, x)})"
    if kind not in FLOATS and wanted not in FLOATS:
        return f"clamped<{ctype(wanted)}>({x})" if "sat" in parts else x
    return _to_float(one, wanted, kind, x)


def _to_float(one: Instruction, wanted: str, kind: str, x: str) -> str:
    parts = set(one.parts)
    whole = _rounding(one)
    if parts & {"rm", "rp"} or ("rz" in parts and (wanted, kind) not in _TRUNCATED):
        raise NotEmulatedError(one.opcode)
    if "rz" in parts:
        x = f"truncated_{wanted}({x})"
    if whole and kind in FLOATS:
        x = _whole(whole, kind, x)
    if wanted in ("f16", "bf16"):
        # From a wider type: rounded once.
        x = f"(double){x}" if kind not in ("f32", "f16", "bf16") else x
    elif wanted != kind:
        x = f"({number_type(wanted)}){x}"
    if "relu" in parts:
        x = f"most<true>({x}, 0.f)"
    x = f"unit_interval({x})" if "sat" in parts else x
    return f"flushed({x})" if "ftz" in parts and wanted == "f32" else x


_TRUNCATED = {("bf16", "f32"), ("f16", "f32"), ("f32", "f64")}


def _rounding(one: Instruction) -> str | None:
    """How it makes a number whole, if it does."""
    return next((ROUND[part] for part in one.parts if part in ROUND), None)


def _whole(how: str, kind: str, x: str) -> str:
    return f"__builtin_{how}{'' if kind == 'f64' else 'f'}({x})"


OPCODES: dict[str, Handler] = {"mov": mov, "cvta": cvta, "isspacep": isspacep, "cvt": cvt}
