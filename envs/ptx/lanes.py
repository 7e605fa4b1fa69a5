"""Translates PTX instructions that exchange values between lanes of a warp, and those of tensor
cores."""

from __future__ import annotations

import re

from kernelwright.envs.ptx.handler import Handler, given, only, words_in, words_out
from kernelwright.envs.ptx.operands import Scope, Step, vector
from kernelwright.envs.ptx.parse import BITS, Instruction, NotEmulatedError


def shuffle(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "sync up down bfly idx")
    to, a, by, clamp, *members = given(one, 4, 5)
    how = next((part for part in one.parts if part in ("up", "down", "bfly", "idx")), "")
    value, _, inside = (text.strip() for text in to.partition("|"))
    x, y, z, m, d, p = (scope.array() for _ in range(6))
    site = scope.site(one)
    mask = members[0] if members else "-1"
    step = Step(scope.reads(a, by, clamp, mask), meets=True)
    step.call = f"meet(w, {site}, on_, {m}); "
    step.call += f"shuffle<{how.upper()}>(w, {site}, on_, {x}, {y}, {z}, {m}, {d}, {p});"
    step.inputs = [
        ("u32", x, scope.value(a, "b32")),
        ("u32", y, scope.value(by, "u32")),
        ("u32", z, scope.value(clamp, "u32")),
        ("u32", m, scope.value(mask, "u32")),
    ]
    step.outputs = [("u32", d), ("u32", p)]
    rows = [(value, "b32", f"{d}[l]"), *([(inside, "pred", f"{p}[l]")] if inside else [])]
    step.rows = [scope.result(*row) for row in rows if row[0] != "_"]
    return [step]


def _gathered(scope: Scope, one: Instruction, kind: str, line: str, result: str) -> list[Step]:
    """A call that sees all lanes' first operand as {x} and, for each lane l, those that it names
    and that are there as {group}, and gives it {d}[l]. A lane that does not name itself gets
    nothing that means anything."""
    to, value, *members = given(one, 2, 3)
    x, d, m = scope.array(), scope.array(), scope.array()
    site = scope.site(one)
    meeting = f"meet(w, {site}, on_, {m}); " if members else ""
    group = f"(on_ & {m}[l])" if members else "on_"
    own = f"EACH(on_) {d}[l] = {group} >> l & 1 ? {d}[l] : (u32)w.block->unset;"
    text = f"{line.format(x=x, d=d, group=group)} {own if members else ''}"
    step = Step(scope.reads(value, *members), call=meeting + text, meets=True)
    step.inputs = [("u32", x, scope.value(value, kind))]
    step.inputs += [("u32", m, scope.value(members[0], "u32"))] if members else []
    step.outputs = [("u32", d)]
    name, _, all_same = (text.strip() for text in to.partition("|"))
    if all_same:
        raise NotEmulatedError(one.opcode)
    step.rows = [scope.result(name, result, f"{d}[l]")]
    return [step]


def vote(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "sync all any uni ballot")
    how = next((part for part in one.parts if part in ("all", "any", "uni", "ballot")), "")
    rules = {"ballot": "t", "any": "t != 0", "all": "t == g", "uni": "t == g || !t"}
    if how not in rules:
        raise NotEmulatedError(one.opcode)
    line = (
        "{{ const u32 all_ = taken({x}); LANES {{ const u32 g = {group}, t = all_ & g; (void)g; "
        "{d}[l] = " + rules[how] + "; }} }}"
    )
    return _gathered(scope, one, "pred", line, "b32" if how == "ballot" else "pred")


def active_mask(scope: Scope, one: Instruction) -> list[Step]:
    (to,) = given(one, 1)
    d = scope.array()
    step = Step(set(), call=f"LANES {d}[l] = on_;", outputs=[("u32", d)])
    step.rows = [scope.result(to, "b32", f"{d}[l]")]
    return [step]


def reduce(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "sync add min max and or xor")
    rules = {
        "add": "r + v",
        "min": "least<false>(r, v)",
        "max": "most<false>(r, v)",
        "and": "r & v",
        "or": "r | v",
        "xor": "r ^ v",
    }
    how = next((part for part in one.parts if part in rules), "")
    kind = scope.kind(one)
    if kind not in ("u32", "s32", "b32") or not how:
        raise NotEmulatedError(one.opcode)
    c = "s32" if kind == "s32" else "u32"
    line = (
        f"EACH(on_) {{{{ u32 g = {{group}}; g = g ? g : 1u << l; "
        f"{c} r = ({c}){{x}}[__builtin_ctz(g)]; "
        f"for (g &= g - 1; g; g &= g - 1) {{{{ const {c} v = ({c}){{x}}[__builtin_ctz(g)]; "
        f"r = {rules[how]}; }}}} {{d}}[l] = (u32)r; }}}}"
    )
    return _gathered(scope, one, "u32", line, "b32")


def match(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "any sync")
    if scope.kind(one) != "b32":
        raise NotEmulatedError(one.opcode)
    line = (
        "EACH(on_) {{ u32 r = 0; for (int i = 0; i < 32; ++i) r |= (u32)({x}[i] == {x}[l]) << i; "
        "{d}[l] = r & {group}; }}"
    )
    return _gathered(scope, one, "u32", line, "b32")


def elect(scope: Scope, one: Instruction) -> list[Step]:
    only(one, "sync")
    to, _ = given(one, 2)
    leader, _, chosen = (text.strip() for text in to.partition("|"))
    d = scope.array()
    step = Step(set(), call=f"LANES {d}[l] = on_ ? __builtin_ctz(on_) : 0;", meets=True)
    step.outputs = [("u32", d)]
    rows = [(leader, "b32", f"{d}[l]"), (chosen, "pred", f"{d}[l] == (u32)l")]
    step.rows = [scope.result(*row) for row in rows if row[0] != "_"]
    return [step]


def warp_barrier(scope: Scope, one: Instruction) -> list[Step]:
    """`bar.warp.sync`; what a whole block waits for ends a basic block (lower.py)."""
    only(one, "warp sync")
    m = scope.array()
    (members,) = given(one, 1)
    step = Step(scope.reads(members), call=f"meet(w, {scope.site(one)}, on_, {m});", meets=True)
    step.inputs = [("u32", m, scope.value(members, "u32"))]
    return [step]


def product(scope: Scope, one: Instruction) -> list[Step]:
    """`mma.sync.m16n8kK`."""
    only(one, "sync aligned row col m16n8k4 m16n8k8 m16n8k16 m16n8k32 satfinite")
    found = re.search(r"\.m16n8k(\d+)\.row\.col\.", one.opcode)
    kinds = [part for part in one.parts if part in BITS]
    d, a, b, c = (vector(text) for text in given(one, 4))
    saturated = "satfinite" in one.parts
    if found is None or len(kinds) != 4:
        raise NotEmulatedError(one.opcode)
    function = _product_of(int(found[1]), kinds, saturated)
    if function is None:
        raise NotEmulatedError(one.opcode)
    x, y, z, t = (scope.array() for _ in range(4))
    step = Step(
        scope.reads(*a, *b, *c), call=f"if (on_) {function}({x}, {y}, {z}, {t});", meets=True
    )
    for array, names in ((x, a), (y, b), (z, c)):
        step.inputs += words_in(scope, names, array)
    return words_out(scope, step, d, t)


def _product_of(k: int, kinds: list[str], saturated: bool) -> str | None:
    """The function of native/ptx/lanes.h for [d, a, b, c]'s types."""
    d, a, b, c = kinds
    if (d, c) == ("s32", "s32") and {a, b} <= {"s8", "u8"} and k in (16, 32):
        return f"mma_bytes<{k}, {a}, {b}, {'true' if saturated else 'false'}>"
    if saturated:
        return None
    if a == b and a in ("f16", "bf16") and (d, c) == ("f32", "f32") and k in (8, 16):
        return f"mma_half<{k}, {'true' if a == 'bf16' else 'false'}>"
    if kinds == ["f16"] * 4 and k in (8, 16):
        return f"mma_half_half<{k}>"
    if kinds == ["f32", "tf32", "tf32", "f32"] and k in (4, 8):
        return f"mma_tf32<{k}>"
    return None


OPCODES: dict[str, Handler] = {
    "shfl": shuffle,
    "vote": vote,
    "activemask": active_mask,
    "redux": reduce,
    "match": match,
    "elect": elect,
    "mma": product,
}
