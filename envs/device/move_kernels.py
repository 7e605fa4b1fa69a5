"""Kernels for the moves of a plan: the driver copies bytes, and knows neither strides nor dtypes.

It fills with four bytes at most, so fills with eight are launches, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from kernelwright.envs.abi import ITEM_BYTES
from kernelwright.envs.plan.plan import First, Kernel, Plan
from kernelwright.envs.plan.steps import Fill, Launch, Move, Side
from kernelwright.envs.types import content_hash

THREADS = 256
WIDE = 16
"""Digits of a fill that the driver cannot do."""
_HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n"
_LOADS = {
    "float16": "ld.global.b16 %h, [%from]; cvt.f64.f16 %d, %h;",
    "bfloat16": "ld.global.u16 %u, [%from]; shl.b32 %u, %u, 16; cvt.f64.f32 %d, %u;",
    "float32": "ld.global.f32 %f, [%from]; cvt.f64.f32 %d, %f;",
    "float64": "ld.global.f64 %d, [%from];",
}
_STORES = {
    "float16": "cvt.rn.f32.f64 %f, %d; cvt.rn.f16.f32 %h, %f; st.global.b16 [%to], %h;",
    "bfloat16": "cvt.rn.f32.f64 %f, %d; cvt.rn.bf16.f32 %h, %f; st.global.b16 [%to], %h;",
    "float32": "cvt.rn.f32.f64 %f, %d; st.global.f32 [%to], %f;",
    "float64": "st.global.f64 [%to], %d;",
}
_WHOLE = {
    "int64": "s64",
    "int32": "s32",
    "int16": "s16",
    "int8": "s8",
    "uint8": "u8",
    "bool": "u8",
}
_PLAIN = {8: "b64", 4: "b32", 2: "b16", 1: "b8"}


def as_launches(plan: Plan) -> Plan:
    """The same plan, its moves kernels of ours, whose addresses are constants."""
    kernels, steps = list(plan.kernels), plan.all_steps
    for number, step in enumerate(steps):
        if isinstance(step, Move) and 0 not in step.shape:
            count, ptx = prod(step.shape), move_ptx(step)
            places = step.to.at, step.source.at
        elif isinstance(step, Fill) and len(step.fill) == WIDE and step.bytes:
            count, ptx = step.bytes // 8, fill_ptx(step)
            places = step.at, step.at
        else:
            continue
        # By what it is: the process that replays keeps code, and another case has other sizes.
        code = f"move.{content_hash(ptx)}"
        kernels.append(Kernel(name="move", code=code, target="sm_80", ptx=ptx, info=""))
        steps[number] = Launch(
            kernel="move",
            code=code,
            grid=(-(-count // THREADS), 1, 1),
            block=(THREADS, 1, 1),
            shared_bytes=0,
            arguments=list(places),
        )
    firsts = len(steps) - len(plan.steps)
    first = plan.first and First(steps=steps[:firsts], outputs=plan.first.outputs)
    update = {"kernels": kernels, "steps": steps[firsts:], "first": first}
    return plan.model_copy(update=update)


def move_ptx(step: Move) -> str:
    """A kernel `move` of (to, from), a thread for each element."""
    each = (*_addresses(step), *_element(step.source.dtype, step.to.dtype))
    return _kernel(prod(step.shape), each)


def fill_ptx(step: Fill) -> str:
    """The same for a fill with eight bytes."""
    value = int.from_bytes(bytes.fromhex(step.fill), "little")
    return _kernel(
        step.bytes // 8,
        (f"mad.lo.u64 %to, %i, 8, %to; mov.b64 %x, 0x{value:x}; st.global.b64 [%to], %x;",),
    )


def _kernel(count: int, each: Iterable[str]) -> str:
    lines = [
        ".visible .entry move(.param .u64 p_to, .param .u64 p_from)",
        "{",
        ".reg .pred %p; .reg .b16 %h; .reg .b32 %u, %a, %b, %n; .reg .f32 %f; .reg .f64 %d;",
        ".reg .b64 %to, %from, %x, %i, %r, %q;",
        "mov.u32 %a, %ctaid.x; mov.u32 %b, %ntid.x; mov.u32 %n, %tid.x;",
        "mul.wide.u32 %i, %a, %b; cvt.u64.u32 %x, %n; add.u64 %i, %i, %x;",
        f"setp.ge.u64 %p, %i, {count};",
        "@%p bra $done;",
        "ld.param.u64 %to, [p_to]; ld.param.u64 %from, [p_from];",
        *each,
        "$done:",
        "ret;",
        "}",
    ]
    return _HEAD + "\n".join(lines) + "\n"


def _addresses(step: Move) -> Iterator[str]:
    """Moves both pointers from the first element to the `%i`-th."""

    def bytes_(side: Side, at: int) -> int:
        return side.strides[at] * ITEM_BYTES[side.dtype]

    for at in reversed(range(len(step.shape))):
        size = step.shape[at]
        yield f"div.u64 %q, %i, {size}; rem.u64 %r, %i, {size}; mov.u64 %i, %q;"
        yield f"mad.lo.u64 %to, %r, {bytes_(step.to, at)}, %to;"
        yield f"mad.lo.u64 %from, %r, {bytes_(step.source, at)}, %from;"


def _element(source: str, to: str) -> Iterator[str]:
    """Loads one as a number (`%d` where it has fractions, else `%x`), and stores it."""
    if source == to:
        kind = _PLAIN[ITEM_BYTES[to]]
        register = {"b64": "%x", "b32": "%u"}.get(kind, "%h")
        yield f"ld.global.{kind} {register}, [%from]; st.global.{kind} [%to], {register};"
        return
    if source in _LOADS:
        yield _LOADS[source]
    else:
        kind = _WHOLE[source]
        register = "%x" if kind == "s64" else "%u" if kind == "s32" else "%h"
        yield f"ld.global.{kind} {register}, [%from];"
        yield "" if kind == "s64" else f"cvt.s64.{kind} %x, {register};"
    if to in _STORES:
        yield "" if source in _LOADS else "cvt.rn.f64.s64 %d, %x;"
        yield _STORES[to]
    elif to == "bool":
        yield "setp.ne.s64 %p, %x, 0; selp.u16 %h, 1, 0, %p; st.global.u8 [%to], %h;"
    elif to == "int64":
        yield "st.global.s64 [%to], %x;"
    elif to == "int32":
        yield "cvt.u32.u64 %u, %x; st.global.s32 [%to], %u;"
    else:
        yield f"cvt.u16.u64 %h, %x; st.global.{_WHOLE[to]} [%to], %h;"
