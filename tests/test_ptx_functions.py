"""Functions that kernels call: each call has registers, labels and memory of its own."""

from __future__ import annotations

import numpy as np
import pytest

from kernelwright.envs.ptx.parse import NotEmulatedError, OddPtxError
from kernelwright.envs.ptx.program import program
from tests.ptx_tools import HEAD, launch, outputs_of, plan_of, spec_of

FUNCTIONS = """
.func (.param .b32 func_retval0) steps(.param .b32 steps_param_0)
{
.reg .pred %p<2>; .reg .b32 %r<4>;
ld.param.u32 %r1, [steps_param_0]; mov.u32 %r2, 0;
$L: setp.eq.u32 %p1, %r1, 0; @%p1 bra $E;
shr.u32 %r1, %r1, 1; add.u32 %r2, %r2, 1; bra.uni $L;
$E: st.param.b32 [func_retval0], %r2;
ret;
}
.visible .func (.param .align 8 .b8 pair_out[8]) pair(.param .b32 pair_x, .param .b32 pair_y)
{
.reg .pred %p<2>; .reg .b32 %r<9>;
ld.param.u32 %r1, [pair_x]; ld.param.u32 %r2, [pair_y];
{ .param .b32 a; .param .b32 b;
st.param.b32 [a+0], %r1; call.uni (b), steps, (a); ld.param.b32 %r3, [b+0]; }
st.param.b32 [pair_out], %r3; st.param.b32 [pair_out+4], %r2;
setp.lt.u32 %p1, %r2, 1000; @%p1 ret;
add.u32 %r2, %r2, 7; st.param.b32 [pair_out+4], %r2;
ret;
}
.func count(.param .b64 count_at)
{
.reg .b64 %d<3>; .reg .b32 %r<3>;
ld.param.u64 %d1, [count_at]; ld.u32 %r1, [%d1]; add.u32 %r1, %r1, 1; st.u32 [%d1], %r1;
ret;
}
"""
KERNEL = """
.visible .entry k(.param .u64 x, .param .u64 o)
{{
.reg .pred %p<3>; .reg .b32 %r<19>; .reg .b64 %d<19>;
.local .align 8 .b8 own[16];
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [o];
mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 8; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
ld.global.u32 %r2, [%d4];
{body}
cvt.u64.u32 %d9, %r9; st.global.u64 [%d5], %d9;
ret;
}}
"""
STEPS = "{{ .param .b32 a; .param .b32 b; st.param.b32 [a], {x}; call.uni (b), steps, (a); "
STEPS += "ld.param.b32 {to}, [b]; }}"
PAIR = "{ .param .b32 a; .param .b32 c; .param .align 8 .b8 b[8]; st.param.b32 [a], %r2; "
PAIR += "st.param.b32 [c], %r2; call.uni (b), pair, (a, c); ld.param.b32 %r3, [b]; "
PAIR += "ld.param.b32 %r4, [b+4]; } mad.lo.u32 %r9, %r4, 100, %r3;"
COUNT = "{ .param .b64 a; st.param.b64 [a], %d7; call.uni count, (a); } "
VALUES = [0, 1, 2, 3, 7, 8, 500, 999, 1000, 1001, 4096, 65535] * 3


def values_of(body: str, functions: str = FUNCTIONS) -> list[int]:
    spec = spec_of(["x"], {"out": 32}, 32)
    plan = plan_of(HEAD + functions + KERNEL.format(body=body), [launch("k", ["x", "out"])])
    (found,) = outputs_of(spec, plan, [np.array(VALUES[:32], np.uint64)])
    return [int(one) for one in found]


def test_a_function_with_a_loop_gives_back_what_it_found() -> None:
    assert values_of(STEPS.format(x="%r2", to="%r9")) == [x.bit_length() for x in VALUES[:32]]


def test_two_calls_have_nothing_in_common() -> None:
    body = STEPS.format(x="%r2", to="%r3") + "add.u32 %r4, %r2, 1000;"
    body += STEPS.format(x="%r4", to="%r5") + "mad.lo.u32 %r9, %r3, 100, %r5;"
    wanted = [100 * x.bit_length() + (x + 1000).bit_length() for x in VALUES[:32]]
    assert values_of(body) == wanted


def test_functions_call_functions_and_lanes_return_where_they_like() -> None:
    wanted = [100 * (x if x < 1000 else x + 7) + x.bit_length() for x in VALUES[:32]]
    assert values_of(PAIR) == wanted


def test_only_lanes_that_the_guard_holds_for_call() -> None:
    body = "mov.u32 %r9, 55; and.b32 %r6, %r2, 1; setp.ne.u32 %p1, %r6, 0; "
    body += "{ .param .b32 a; .param .b32 b; st.param.b32 [b], 55; st.param.b32 [a], %r2; "
    body += "@%p1 call.uni (b), steps, (a); ld.param.b32 %r9, [b]; }"
    assert values_of(body) == [x.bit_length() if x & 1 else 55 for x in VALUES[:32]]


def test_a_function_reaches_the_callers_memory_by_its_address() -> None:
    body = "mov.u64 %d6, own; cvta.local.u64 %d7, %d6; st.local.u32 [%d6], %r2; "
    body += COUNT + COUNT + "ld.local.u32 %r9, [%d6];"
    assert values_of(body) == [x + 2 for x in VALUES[:32]]


RECURSIVE = """
.func (.param .b32 r) again(.param .b32 n)
{ .reg .b32 %r<3>; ld.param.u32 %r1, [n];
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), again, (a);
ld.param.b32 %r2, [b]; } st.param.b32 [r], %r2; ret; }
"""


def doubling(depth: int) -> str:
    """Functions of which each calls the next twice."""
    one = ".func f{0}() {{ .reg .b32 %r<40>; call.uni f{1}; call.uni f{1}; ret; }}\n"
    return "".join(one.format(i, i + 1) for i in range(depth)) + f".func f{depth}() {{ ret; }}\n"


@pytest.mark.parametrize(
    ("functions", "named"),
    [
        (doubling(15), "too_m"),
        (doubling(17), "recursion"),
        (".func f0() { .reg .b32 %r<40000>; ret; }", "too_many_registers"),
        (
            f".func f0() {{ .reg .b32 %r<2>; mov.b32 %r0, {{{'%r1,' * 400_000}%r1}}; ret; }}",
            "too_m",
        ),
    ],
)
def test_what_grows_without_bounds_is_refused(functions: str, named: str) -> None:
    body = "call.uni f0; call.uni f0; call.uni f0;"
    text = HEAD + functions + KERNEL.format(body=body)
    with pytest.raises(NotEmulatedError, match=named):
        program([(spec_of(["x"], {"out": 32}, 32), plan_of(text, [launch("k", ["x", "out"])]))])


@pytest.mark.parametrize(
    ("functions", "body", "error", "named"),
    [
        (RECURSIVE, STEPS.format(x="%r2", to="%r9"), NotEmulatedError, "recursion"),
        (FUNCTIONS, "call.uni steps;", OddPtxError, "steps is given 0"),
        (FUNCTIONS, "call.uni elsewhere;", NotEmulatedError, "call"),
        (FUNCTIONS, "call %d1, (a), p;", NotEmulatedError, "call"),
    ],
)
def test_calls_that_have_no_end_or_no_function_are_refused_by_name(
    functions: str, body: str, error: type[Exception], named: str
) -> None:
    text = HEAD + functions + KERNEL.format(body=body.replace("steps,", "again,"))
    if functions is FUNCTIONS:
        text = HEAD + functions + KERNEL.format(body=body)
    plan = plan_of(text, [launch("k", ["x", "out"])])
    with pytest.raises(error, match=named):
        program([(spec_of(["x"], {"out": 32}, 32), plan)])
