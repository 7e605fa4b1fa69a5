"""Translates PTX instructions that access memory into calls of native/ptx/memory.h for all lanes at
once."""

from __future__ import annotations

from kernelwright.envs.ptx.handler import Handler, given, nothing, only, words_out
from kernelwright.envs.ptx.operands import INTEGER, Scope, Step, ctype, space_of, vector
from kernelwright.envs.ptx.parse import BITS, Instruction, NotEmulatedError

ORDER = "weak relaxed acquire release acq_rel volatile cta gpu sys nc"
CACHE = "ca cg cs lu cv wb wt level::eviction_priority L1::no_allocate L1::evict_first"
CACHE += " L1::evict_last L1::evict_normal L1::evict_unchanged L2::64B L2::128B L2::256B"
CACHE += " L2::evict_first L2::evict_last L2::evict_normal L2::cache_hint"
WHERE = "global shared shared::cta local param param::entry param::func const"
FUNCTIONS = {
    "global": "global",
    "shared": "shared",
    "local": "local",
    "param": "local",
    "": "generic",
}
VECTORS = {"v2": 2, "v4": 4}
UPDATES = "add min max and or xor exch cas inc dec"


def _at(space: str) -> str:
    """The C++ type of an address in a space."""
    return "u32" if space == "shared" else "u64"


def _note(scope: Scope, one: Instruction, space: str, item_bytes: int) -> None:
    """What an access says about the kernel: how small its units are, whether it waits in a loop."""
    if space in ("shared", "") and item_bytes < scope.shared_unit:
        scope.shared_unit = item_bytes
    if space in ("global", ""):
        count = next((VECTORS[part] for part in one.parts if part in VECTORS), 1)
        scope.global_unit = min(scope.global_unit, item_bytes * count)
        scope.publishes |= _releases(one)
    if {"volatile", "acquire", "relaxed", "acq_rel"} & set(one.parts):
        scope.strong = True
        scope.weak_order |= space in ("shared", "")


def _releases(one: Instruction) -> bool:
    """Whether it hands over, to who reads what it writes, all that was written before."""
    return bool({"release", "acq_rel"} & set(one.parts)) and "cta" not in one.parts


def _published(one: Instruction, space: str) -> str:
    """What a call begins with."""
    return "if (on_) publish(w); " if space != "shared" and _releases(one) else ""


def _reached(one: Instruction, space: str) -> str:
    """How memory that blocks share is reached, as a last argument of a template
    (native/ptx/global.h)."""
    if space not in ("global", ""):
        return ""
    if {"volatile", "acquire", "relaxed", "release", "cv"} & set(one.parts):
        return ", kStrong"
    return ", kReadOnly" if "nc" in one.parts else ""


def _as_many(one: Instruction, parts: list[str]) -> None:
    """Refuses a vector of another length than the opcode says."""
    said = next((part for part in one.parts if part in VECTORS), "")
    if len(parts) != VECTORS.get(said, 1):
        raise NotEmulatedError(one.opcode)


def load(scope: Scope, one: Instruction) -> list[Step]:
    only(one, f"{ORDER} {CACHE} {WHERE} v2 v4")
    kind, space, (to, where) = scope.kind(one), space_of(one), given(one, 2, 3)[:2]
    targets = vector(to)
    _as_many(one, targets)
    if space == "param" and (found := _parameter(scope, kind, targets, where)):
        return found
    address, reads = scope.address(where, space)
    _note(scope, one, space, BITS[kind] // 8)
    a, t = scope.array(), scope.array()
    whole = f"u{BITS[kind]}"
    how = _reached(one, space)
    function = f"load_{FUNCTIONS[space]}<{whole}, {len(targets)}{how}>"
    step = Step(
        reads,
        call=f"{function}(w, {scope.site(one)}, on_, {a}, {t});",
        inputs=[(_at(space), a, address)],
        outputs=[(whole, f"{t}[{len(targets)}]")],
    )
    step.rows = [
        scope.result(name, f"{'s' if kind[0] == 's' else 'b'}{BITS[kind]}", f"{t}[{i}][l]")
        for i, name in enumerate(targets)
        if name != "_"
    ]
    return [step]


def _parameter(scope: Scope, kind: str, targets: list[str], where: str) -> list[Step] | None:
    """A read of what the kernel was launched with; None where it is of a local of this name."""
    inner = where.strip().removeprefix("[").removesuffix("]").strip()
    name = inner.partition("+")[0].strip()
    if name in scope.symbols:
        return None
    address, reads = scope.address(where, "")
    c, item = ctype(kind), BITS[kind] // 8
    rows = [
        scope.result(
            target,
            kind if kind[0] == "s" else f"b{BITS[kind]}",
            f"parameter<{c}>(b, {address} + {i * item})",
        )
        for i, target in enumerate(targets)
        if target != "_"
    ]
    return [Step(reads, rows)]


def store(scope: Scope, one: Instruction) -> list[Step]:
    only(one, f"{ORDER} {CACHE} {WHERE} v2 v4")
    kind, space, (where, value) = scope.kind(one), space_of(one), given(one, 2, 3)[:2]
    values = vector(value)
    _as_many(one, values)
    address, reads = scope.address(where, space)
    _note(scope, one, space, BITS[kind] // 8)
    a, t = scope.array(), scope.array()
    whole, count = f"u{BITS[kind]}", len(values)
    step = Step(reads | scope.reads(*values))
    function = f"store_{FUNCTIONS[space]}<{whole}, {count}{_reached(one, space)}>"
    step.call = f"{_published(one, space)}{function}(w, {scope.site(one)}, on_, {a}, {t});"
    step.inputs = [(_at(space), a, address)]
    step.inputs += [
        (whole, f"{t}[{count}]@{i}", f"({whole}){scope.bits(text, kind)}")
        for i, text in enumerate(values)
    ]
    return [step]


def _next(kind: str, how: str) -> str:
    """C++ for what an atomic leaves, of what was there (n), its operand (v) and its last (z)."""
    bits = BITS[kind]
    if kind.endswith("x2"):
        read, write = {"f16x2": ("h2f", "f2h"), "bf16x2": ("b2f", "f2b")}[kind]
        if how not in ("add", "min", "max"):
            raise NotEmulatedError(f"atom.{how}.{kind}")
        halves = [_of_two(how, f"{read}({p}(n))", f"{read}({p}(v))") for p in ("low16", "high16")]
        return f"pack16({write}({halves[0]}), {write}({halves[1]}))"
    floats = {"f32": ("f32", "bits"), "f64": ("f64", "bits64"), "f16": ("h2f", "f2h")}
    floats["bf16"] = ("b2f", "f2b")
    if kind in floats and how in ("add", "min", "max"):
        read, write = floats[kind]
        return f"{write}({_of_two(how, f'{read}(n)', f'{read}(v)')})"
    as_number = f"({'s' if kind[0] == 's' else 'u'}{bits})"
    rules = {
        "add": "n + v",
        "min": f"least<false>({as_number}n, {as_number}v)",
        "max": f"most<false>({as_number}n, {as_number}v)",
        "and": "n & v",
        "or": "n | v",
        "xor": "n ^ v",
        "exch": "v",
        "cas": "n == v ? z : n",
        "inc": "n >= v ? 0 : n + 1",
        "dec": "n == 0 || n > v ? v : n - 1",
    }
    return rules[how]


def _of_two(how: str, n: str, v: str) -> str:
    return (
        f"{n} + {v}" if how == "add" else f"{'least' if how == 'min' else 'most'}<false>({n}, {v})"
    )


def atomic(scope: Scope, one: Instruction) -> list[Step]:
    only(one, f"{ORDER} {WHERE} {UPDATES} noftz L2::cache_hint")
    kind, space = scope.kind(one), space_of(one)
    returns = one.parts[0] == "atom"
    to, where, value, *rest = one.operands if returns else ("_", *one.operands)
    how = next((part for part in one.parts if part in UPDATES.split()), "")
    if not how or space not in ("global", "shared", "") or (how == "cas" and not rest):
        raise NotEmulatedError(one.opcode)
    third = rest[0] if how == "cas" else value
    scope.strong |= to != "_"
    scope.fenced_in_block |= to != "_" and space != "global"
    if space in ("shared", "") and how in ("cas", "exch"):
        scope.weak_order = True
    address, reads = scope.address(where, space)
    _note(scope, one, space, BITS[kind] // 8)
    whole = f"u{BITS[kind]}"
    a, x, y, old = (scope.array() for _ in range(4))
    takes = f"({whole} n, {whole} v, {whole} z) -> {whole}"
    rule = f"[]{takes} {{ (void)n, (void)z; return {_next(kind, how)}; }}"
    step = Step(reads | scope.reads(value, third))
    function = f"atomic_{space or 'generic'}<{whole}, {str(how == 'cas').lower()}>"
    arrays = f"{a}, {x}, {y}, {old}"
    step.call = f"{_published(one, space)}{function}(w, {scope.site(one)}, on_, {arrays}, {rule});"
    step.inputs = [
        (_at(space), a, address),
        (whole, x, f"({whole}){scope.bits(value, kind)}"),
        (whole, y, f"({whole}){scope.bits(third, kind)}"),
    ]
    step.outputs = [(whole, old)]
    if to != "_":
        step.rows = [scope.result(to, f"b{BITS[kind]}", f"{old}[l]")]
    return [step]


def copy_async(scope: Scope, one: Instruction) -> list[Step]:
    only(one, f"async commit_group wait_group wait_all ca cg shared shared::cta global {CACHE}")
    if one.parts[2] == "commit_group":
        return [Step(set(), call="if (on_) commit_async(w);")]
    if one.parts[2] == "wait_group":
        (left,) = given(one, 1)
        if not INTEGER.fullmatch(left):
            raise NotEmulatedError(one.opcode)
        return [Step(set(), call=f"if (on_) wait_async(w, {int(left, 0)});")]
    if one.parts[2] == "wait_all":
        return [Step(set(), call="if (on_) wait_all_async(w);")]
    to, source, size, *rest = given(one, 3, 5)
    size = str(int(size, 0)) if INTEGER.fullmatch(size) else size
    if size not in ("4", "8", "16"):
        raise NotEmulatedError(f"{one.opcode} {size[:20]}")
    hints = sum("cache_hint" in part for part in one.parts)
    copied = rest[0] if len(rest) > hints else size
    scope.global_unit = min(scope.global_unit, int(size))
    at, reads = scope.address(to, "shared")
    where, more = scope.address(source, "global")
    a, s, n = scope.array(), scope.array(), scope.array()
    step = Step(reads | more | scope.reads(copied))
    step.call = f"copy_async(w, {scope.site(one)}, on_, {a}, {s}, {size}, {n});"
    step.inputs = [("u32", a, at), ("u64", s, where), ("u32", n, scope.value(copied, "u32"))]
    return [step]


def load_matrix(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "sync aligned m8n8 x1 x2 x4 trans shared shared::cta")
    to, where = given(one, 2)
    targets = vector(to)
    if scope.kind(one) != "b16" or len(targets) not in (1, 2, 4):
        raise NotEmulatedError(one.opcode)
    address, reads = scope.address(where, "shared")
    scope.shared_unit = min(scope.shared_unit, 2)
    a, t = scope.array(), scope.array()
    turned = "true" if "trans" in one.parts else "false"
    call = f"load_matrix<{len(targets)}, {turned}>(w, {scope.site(one)}, on_, {a}, {t});"
    step = Step(reads, call=call, meets=True)
    step.inputs = [("u32", a, address)]
    return words_out(scope, step, targets, t)


def call(scope: Scope, one: Instruction) -> list[Step]:
    """What CUDA's own headers call: `printf` prints nothing, an assertion that fails stops all."""
    only(one, "uni")
    name = next((text for text in one.operands if not text.startswith("(")), "")
    if name == "vprintf":
        return []
    if name == "__assertfail":
        stop = f"if (on_) fail(kTrap, b, {scope.site(one)}, (u32)__builtin_ctz(on_), w.number, 0);"
        return [Step(set(), call=stop)]
    raise NotEmulatedError(f"{one.opcode} {name[:40]}")


OPCODES: dict[str, Handler] = {
    "ld": load,
    "ldu": load,
    "st": store,
    "atom": atomic,
    "red": atomic,
    "cp": copy_async,
    "ldmatrix": load_matrix,
    "call": call,
    "griddepcontrol": nothing,
}
