"""Translates PTX instructions that compute on a lane's own registers: arithmetic and bit
operations.

`NAME: (modifiers, what types, C++)`; an opcode with a modifier that its row does not list is
refused by name. `{0}`, `{1}` are operands as numbers of the type `{T}`. Source of what each does:
PTX ISA 8.7, chapter 9.7; how exact approximate functions are stands there with each.
"""

from __future__ import annotations

import re

from kernelwright.envs.ptx.handler import Handler, given, nothing, number_type, only, pure
from kernelwright.envs.ptx.operands import HOLDS, READS, WRITES, Scope, Step, ctype, variable
from kernelwright.envs.ptx.parse import BITS, Instruction, NotEmulatedError

F, H, B = {"f32", "f64"}, {"f16", "bf16", "f16x2", "bf16x2"}, {"b16", "b32", "b64"}
N = {f"{sign}{bits}" for sign in "su" for bits in (16, 32, 64)}

Row = tuple[str, set[str], str]
TABLE: dict[str, Row] = {
    "add": ("rn rz rm rp ftz sat", F | H | N, "{0} + {1}"),
    "sub": ("rn rz rm rp ftz sat", F | H | N, "{0} - {1}"),
    "mul": ("rn rz rm rp ftz sat", F | H, "{0} * {1}"),
    "fma": ("rn rz rm rp ftz sat relu", F | H, "fused({0}, {1}, {2})"),
    "div": ("rn approx full ftz", F | N, "quotient<{T}>({0}, {1})"),
    "rem": ("", N, "remainder_of<{T}>({0}, {1})"),
    "min": ("ftz NaN", F | H | N, "least<{NaN}>(({T}){0}, ({T}){1})"),
    "max": ("ftz NaN", F | H | N, "most<{NaN}>(({T}){0}, ({T}){1})"),
    "abs": ("ftz", F | H | N, "absolute<{T}>({0})"),
    "neg": ("ftz", F | H | N, "negative<{T}>({0})"),
    "sqrt": ("rn approx ftz", F, "root({0})"),
    "rsqrt": ("approx ftz", F, "({T})1 / root({0})"),
    "rcp": ("rn approx ftz", F, "({T})1 / {0}"),
    "ex2": ("approx ftz", {"f32"} | H, "exp2_approx({0})"),
    "lg2": ("approx ftz", {"f32"}, "log2_approx({0})"),
    "sin": ("approx ftz", {"f32"}, "sine_approx({0})"),
    "cos": ("approx ftz", {"f32"}, "cosine_approx({0})"),
    "tanh": ("approx", {"f32"} | H, "tanh_approx({0})"),
    "copysign": ("", F, "with_sign<{T}>({1}, {0})"),
    "and": ("", B | {"pred"}, "{0} & {1}"),
    "or": ("", B | {"pred"}, "{0} | {1}"),
    "xor": ("", B | {"pred"}, "{0} ^ {1}"),
    "not": ("", B, "~{0}"),
    "cnot": ("", B, "{0} == 0"),
    "shl": ("", B, "shifted_left<{T}>({0}, {u1})"),
    "shr": ("", B | N, "shifted_right<{T}>({0}, {u1})"),
    "bfe": ("", N, "bit_field<{T}>({0}, {u1}, {u2})"),
    "bfi": ("", B, "insert_bits<{T}>({0}, {1}, {u2}, {u3})"),
    "brev": ("", B, "reversed_bits<{T}>({0})"),
    "prmt": ("", {"b32"}, "permuted({0}, {1}, {2})"),
    "sad": ("", N, "sum_of_differences<{T}>({0}, {1}, {2})"),
}
COUNTS: dict[str, tuple[set[str], str]] = {
    "popc": ({"b32", "b64"}, "__builtin_popcountll({0})"),
    "clz": ({"b32", "b64"}, "leading_zeros<{T}>({0})"),
    "bfind": ({"u32", "u64", "s32", "s64"}, "highest_bit<{T}, {shiftamt}>({0})"),
}
"""Whose result has 32 bits, whatever they count in."""

DIRECTED = {"rz": "Toward::kZero", "rm": "Toward::kDown", "rp": "Toward::kUp"}


def by_table(scope: Scope, one: Instruction) -> list[Step]:
    allowed, kinds, template = TABLE[one.parts[0]]
    only(one, allowed)
    kind = scope.kind(one)
    if kind not in kinds:
        raise NotEmulatedError(one.opcode)
    count = 1 + len(set(re.findall(r"\{u?(\d)\}", template)))
    to, *values = given(one, count)
    if kind.endswith("x2"):
        halves = ", ".join(
            _half(scope, one, template, values, part) for part in ("low16", "high16")
        )
        return pure(scope, one, (to, f"pack16({halves})"))
    numbers = [scope.value(text, kind) for text in values]
    return pure(scope, one, scope.result(to, kind, _computed(scope, one, kind, numbers, values)))


def _half(scope: Scope, one: Instruction, template: str, values: list[str], part: str) -> str:
    kind = scope.kind(one)[:-2]
    numbers = [f"{READS[kind]}({part}({scope.value(text, 'b32')}))" for text in values]
    return f"{WRITES[kind]}({_computed(scope, one, kind, numbers, values)})"


def _computed(
    scope: Scope, one: Instruction, kind: str, numbers: list[str], texts: list[str]
) -> str:
    """C++ of an instruction's number, of those of its operands."""
    parts, template = set(one.parts), TABLE[one.parts[0]][2]
    T = number_type(kind)
    flush = "ftz" in parts and kind == "f32"
    if flush:
        numbers = [f"flushed({text})" for text in numbers]
    directed = next((DIRECTED[part] for part in one.parts if part in DIRECTED), None)
    if directed:
        if kind != "f32" or one.parts[0] not in ("add", "sub", "mul", "fma"):
            raise NotEmulatedError(one.opcode)
        found = f"{one.parts[0]}_toward<{directed}>({', '.join(numbers)})"
    elif kind in N and one.parts[0] in ("add", "sub"):
        sign = "+" if one.parts[0] == "add" else "-"
        if "sat" in parts:
            if kind != "s32":
                raise NotEmulatedError(one.opcode)
            return f"clamped_s32((s64){numbers[0]} {sign} (s64){numbers[1]})"
        found = f"(u64){numbers[0]} {sign} (u64){numbers[1]}"
    else:
        counts = {f"u{i}": scope.value(text, "u32") for i, text in enumerate(texts)}
        nan = "true" if "NaN" in parts else "false"
        if one.parts[0] == "fma" and kind in ("f16", "bf16"):
            template = "fused_odd({0}, {1}, {2})"
        found = template.format(*numbers, T=T, NaN=nan, **counts)
    if "sat" in parts:
        found = f"unit_interval(({T})({found}))"
    if "relu" in parts:
        found = f"most<true>(({'double' if kind in ('f16', 'bf16') else T})({found}), 0)"
    return f"flushed({found})" if flush else found


def counted(scope: Scope, one: Instruction) -> list[Step]:
    kinds, template = COUNTS[one.parts[0]]
    only(one, "shiftamt")
    kind, (to, value) = scope.kind(one), given(one, 2)
    if kind not in kinds:
        raise NotEmulatedError(one.opcode)
    amount = "true" if "shiftamt" in one.parts else "false"
    text = template.format(scope.value(value, kind), T=number_type(kind), shiftamt=amount)
    return pure(scope, one, scope.result(to, "u32", text))


def mul(scope: Scope, one: Instruction) -> list[Step]:
    kind = scope.kind(one)
    if kind not in N:
        return by_table(scope, one)
    only(one, "lo hi wide")
    to, a, b = given(one, 3)
    return pure(scope, one, _product(scope, one, to, a, b, None))


def mad(scope: Scope, one: Instruction) -> list[Step]:
    kind = scope.kind(one)
    if kind not in N:
        changed = Instruction("fma" + one.opcode[3:], one.operands)
        return by_table(scope, changed)
    if "cc" in one.parts:
        return carried(scope, one)
    only(one, "lo hi wide")
    to, a, b, c = given(one, 4)
    return pure(scope, one, _product(scope, one, to, a, b, c))


def _product(
    scope: Scope, one: Instruction, to: str, a: str, b: str, c: str | None
) -> tuple[str, str]:
    kind = scope.kind(one)
    x, y, bits = scope.value(a, kind), scope.value(b, kind), BITS[kind]
    result = kind
    if "wide" in one.parts:
        if bits == 64:
            raise NotEmulatedError(one.opcode)
        result = f"{kind[0]}{2 * bits}"
        found = f"(u64)((s64){x} * (s64){y})"
    elif "hi" in one.parts:
        found = f"(u64)high_product<{ctype(kind)}>({x}, {y})"
    else:
        found = f"(u64){x} * (u64){y}"
    if c is not None:
        found = f"{found} + (u64){scope.value(c, result)}"
    return scope.result(to, result, found)


def carried(scope: Scope, one: Instruction) -> list[Step]:
    """add, sub and mad that give a carry on or take one."""
    only(one, "cc lo hi")
    kind, base = scope.kind(one), one.parts[0]
    to, *texts = given(one, 4 if base.startswith("mad") else 3)
    bits = BITS[kind]
    if bits not in (32, 64):
        raise NotEmulatedError(one.opcode)
    values = [scope.value(text, f"u{bits}") for text in texts]
    takes, gives = base.endswith("c"), "cc" in one.parts
    scope.registers.setdefault("%CC", 32)
    scope.registers.setdefault(f"%sum{bits}", bits)
    carry = f"({variable('%CC')} & 1)" if takes else "0"
    if base.startswith("mad"):
        a, b, c = values
        high = f"high_product<{ctype(kind)}>({a}, {b})"
        first = f"(u{bits}){high}" if "hi" in one.parts else f"(u{bits})({a} * {b})"
        total = f"(u128){first} + {c} + {carry}"
    else:
        sign = "-" if base.startswith("sub") else "+"
        total = f"(u128){values[0]} {sign} {values[1]} {sign} {carry}"
    reads = scope.reads(*texts) | ({"%CC"} if takes else set())
    rows = [(f"%sum{bits}", f"(u{bits})({total})")]
    if gives:
        rows.append(("%CC", f"(u32)(({total}) >> {bits}) & 1"))
    copied = Step({f"%sum{bits}"}, [scope.result(to, f"u{bits}", variable(f"%sum{bits}"))])
    return [Step(reads, rows), copied]


def add(scope: Scope, one: Instruction) -> list[Step]:
    return carried(scope, one) if "cc" in one.parts else by_table(scope, one)


def logic_not(scope: Scope, one: Instruction) -> list[Step]:
    if scope.kind(one) != "pred":
        return by_table(scope, one)
    to, a = given(one, 2)
    return pure(scope, one, (to, f"({scope.value(a, 'pred')} ^ 1u)"))


def bmsk(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "clamp wrap")
    to, *values = given(one, 3)
    clamps = {"clamp": "true", "wrap": "false"}.get(one.parts[1])
    if clamps is None or scope.kind(one) != "b32":
        raise NotEmulatedError(one.opcode)
    at, count = (scope.value(text, "b32") for text in values)
    return pure(scope, one, (to, f"mask_of_bits<{clamps}>({at}, {count})"))


def shf(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "l r wrap clamp")
    to, *values = given(one, 4)
    a, b, n = (scope.value(text, "u32") for text in values)
    amount = f"({n} & 31)" if "wrap" in one.parts else f"least<false>({n}, 32u)"
    side = "left" if one.parts[1] == "l" else "right"
    return pure(scope, one, (to, f"funnel_{side}({a}, {b}, {amount})"))


def lop3(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "")
    to, *values, table = given(one, 5)
    if not re.fullmatch(r"0[xX][0-9a-fA-F]{1,2}|\d{1,3}", table) or int(table, 0) > 255:
        raise NotEmulatedError(f"{one.opcode} {table[:20]}")
    numbers = ", ".join(scope.value(text, "u32") for text in values)
    return pure(scope, one, (to, f"lop3<{int(table, 0)}>({numbers})"))


def dp4a(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "")
    to, *values = given(one, 4)
    kinds = [part for part in one.parts if part in BITS]
    a, b, c = (scope.value(text, "u32") for text in values)
    signs = [f"{kind[0]}8" for kind in (kinds[0], kinds[-1])]
    products = " + ".join(
        f"(s32)({signs[0]})({a} >> {8 * i}) * (s32)({signs[1]})({b} >> {8 * i})" for i in range(4)
    )
    return pure(scope, one, (to, f"(u32)({c} + (u32)({products}))"))


def policy(scope: Scope, one: Instruction) -> list[Step]:
    """`createpolicy`: a hint for caches."""
    return [Step(set(), [(one.operands[0], f"({HOLDS[scope.width(one.operands[0])]})0")])]


def fence(scope: Scope, one: Instruction) -> list[Step]:
    """Memory is in order here; who has fences may know what others have written."""
    scope.fenced = True
    if not {"gl", "gpu", "sys", "cluster"} & set(one.parts):
        scope.fenced_in_block = True
        return nothing(scope, one)
    scope.publishes = True
    return [Step(set(), call="if (on_) publish(w);")]


OPCODES: dict[str, Handler] = {
    **dict.fromkeys(TABLE, by_table),
    **dict.fromkeys(COUNTS, counted),
    **dict.fromkeys(("nanosleep", "prefetch", "prefetchu", "discard", "pmevent"), nothing),
    **{"membar": fence, "fence": fence},
    **{"add": add, "sub": add, "mul": mul, "mad": mad, "addc": carried, "subc": carried},
    **{"madc": carried, "not": logic_not, "shf": shf, "bmsk": bmsk, "lop3": lop3, "dp4a": dp4a},
    **{"createpolicy": policy, "applypriority": nothing},
}
