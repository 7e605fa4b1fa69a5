"""Memory that blocks share is checked as a block's own is: what orders accesses there, and what
only seems to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.ptx.program import TRITON, program
from kernelwright.envs.referee.exit_codes import EMULATED_EXITS
from tests.ptx_tools import HEAD, called, launch, library, plan_of, run_main, spec_of

pytestmark = pytest.mark.sandbox

START = """
.visible .entry {name}(.param .u64 x, .param .u64 o)
{{
.reg .pred %p<9>; .reg .b32 %r<19>; .reg .b64 %d<19>; .reg .f32 %f<9>; .reg .b16 %h<9>;
.shared .align 16 .b8 s[256];
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [o];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shr.u32 %r3, %r1, 5; mad.lo.u32 %r4, %r2, 64, %r1;
setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r2, 0; and.b32 %r5, %r1, 31;
mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d2, %d3; mul.wide.u32 %d5, %r4, 4; add.s64 %d5, %d2, %d5;
mul.wide.u32 %d6, %r2, 4; add.s64 %d6, %d2, %d6; add.s64 %d7, %d2, 2048; add.s64 %d8, %d2, 2052;
{body}
E: ret;
}}
"""
# %d4 is a word of the thread's number, %d5 of the thread, %d6 of the block; %d7 and %d8 are two of
# all, of which the first is 256 before the launch.
PART = "@!%p1 bra A; st.global.u32 [%d6], %r4; {} A: "
TICKET = "atom.global{}.add.u32 %r9, [%d7], 1; add.u32 %r9, %r9, 1;"
LAST = "@!%p1 bra E; setp.ne.u32 %p3, %r9, {}; @%p3 bra E; "
OTHERS = "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d2];"
LOCK = "L: atom.global{}.cas.b32 %r9, [%d7], 256, 9; setp.ne.u32 %p3, %r9, 256; @%p3 bra L; "
ADD = "ld.global.u32 %r10, [%d8]; add.u32 %r10, %r10, 1; st.global.u32 [%d8], %r10; "
ONE = "@!%p1 bra E; "
FLAG = (
    "@!%p1 bra E; @!%p2 bra R; st.global.u32 [%d8], %r4; {} mov.u32 %r9, 77; "
    "st{}.global.u32 [%d7], %r9; bra E; R: ld.{}.global.u32 %r9, [%d7]; setp.ne.u32 %p3, %r9, 77; "
    "@%p3 bra R; {} ld.global.u32 %r10, [%d8];"
)
RACES = {
    "blocks_add": f"{ONE} {ADD}",
    "blocks_add_strongly": f"{ONE} ld.volatile.global.u32 %r9, [%d7]; add.u32 %r9, %r9, 1; "
    "st.volatile.global.u32 [%d7], %r9;",
    "warps_add": f"setp.ne.u32 %p4, %r5, 0; @%p4 bra E; @!%p2 bra E; {ADD}",
    "lanes_write": "mad.lo.u32 %r9, %r2, 64, %r5; st.global.u32 [%d6], %r9;",
    "blocks_write_one_place": f"{ONE} st.global.u32 [%d7], %r4;",
    "a_block_reads_anothers": "st.global.u32 [%d5], %r4; xor.b32 %r9, %r4, 64; "
    "mul.wide.u32 %d9, %r9, 4; add.s64 %d9, %d2, %d9; ld.global.u32 %r9, [%d9];",
    "a_warp_reads_anothers": "st.global.u32 [%d5], %r4; xor.b32 %r9, %r4, 32; "
    "mul.wide.u32 %d9, %r9, 4; add.s64 %d9, %d2, %d9; ld.global.u32 %r9, [%d9];",
    "a_copy_reads_anothers": "st.global.u32 [%d5], %r4; xor.b32 %r9, %r4, 64; "
    "mul.wide.u32 %d9, %r9, 4; add.s64 %d9, %d2, %d9; mov.u32 %r9, s; mad.lo.u32 %r9, %r1, 4, %r9; "
    "cp.async.ca.shared.global [%r9], [%d9], 4; cp.async.wait_all;",
    "overwrites_what_others_read": f"ld.global.u32 %r9, [%d2]; bar.sync 0; {ONE} @!%p2 bra E; "
    "add.u32 %r9, %r9, 5; st.global.u32 [%d2], %r9;",
    "halves_of_a_word": "mul.wide.u32 %d9, %r1, 2; add.s64 %d9, %d2, %d9; cvt.u16.u32 %h1, %r4; "
    "add.u16 %h1, %h1, 3; st.global.u16 [%d9], %h1;",
    "reads_what_others_add_to": f"{ONE} {TICKET.format('')} ld.global.u32 %r9, [%d7];",
    "clears_what_others_add_to": f"{ONE} @%p2 st.global.u32 [%d7], 7; {TICKET.format('')}",
    "last_block_without_fence": PART.format(TICKET.format("")) + LAST.format(260) + OTHERS,
    "last_block_in_no_order": PART.format(TICKET.format(".relaxed.gpu"))
    + LAST.format(260)
    + OTHERS,
    "last_block_with_a_fence_too_late": PART.format(TICKET.format("") + " membar.gl;")
    + LAST.format(260)
    + OTHERS,
    "last_block_with_a_fence_of_the_block": PART.format("membar.cta; " + TICKET.format(""))
    + LAST.format(260)
    + OTHERS,
    "counts_plainly": PART.format(
        "membar.gl; ld.global.u32 %r9, [%d7]; add.u32 %r9, %r9, 1; st.global.u32 [%d7], %r9;"
    ),
    "another_warp_tells_before_the_barrier": "st.global.u32 [%d5], %r4; setp.ne.u32 %p3, %r5, 0; "
    f"setp.ne.u32 %p4, %r3, 1; @%p3 bra E; @%p4 bra E; membar.gl; {TICKET.format('')} "
    "setp.ne.u32 %p3, %r9, 260; @%p3 bra E; ld.global.u32 %r10, [%d2]; "
    "ld.global.u32 %r10, [%d2+256]; ld.global.u32 %r10, [%d2+512]; ld.global.u32 %r10, [%d2+768];",
    "a_lock_without_fences": f"{ONE}{LOCK.format('')}{ADD} atom.global.exch.b32 %r9, [%d7], 256;",
    "blocks_add_strongly_behind_a_fence_too_late": f"{ONE} ld.volatile.global.u32 %r9, [%d7]; "
    "add.u32 %r9, %r9, 1; st.volatile.global.u32 [%d7], %r9; membar.gl;",
    "warps_add_in_a_kernel_with_fences": "setp.ne.u32 %p4, %r5, 0; @%p4 bra E; @!%p2 bra E; "
    f"{ADD} membar.gl; {TICKET.format('')}",
    "a_flag_without_fence": FLAG.format("", ".volatile", "volatile", ""),
    "a_plain_flag_without_fence": FLAG.format("", "", "volatile", ""),
    "by_the_read_only_cache": "st.global.u32 [%d5], %r4; bar.sync 0; ld.global.nc.u32 %r9, [%d5];",
}
ORDERED = {
    "a_word_each": "st.global.u32 [%d5], %r4; ld.global.u32 %r9, [%d5]; add.u32 %r9, %r9, 1; "
    "st.global.u32 [%d5], %r9;",
    "after_a_barrier": "st.global.u32 [%d5], %r4; bar.sync 0; xor.b32 %r9, %r4, 32; "
    "mul.wide.u32 %d9, %r9, 4; add.s64 %d9, %d2, %d9; ld.global.u32 %r9, [%d9]; bar.sync 0; "
    "st.global.u32 [%d9], %r1;",
    "one_value_by_all": "mov.u32 %r9, 5; st.global.u32 [%d7], %r9;",
    "half_a_word_each": "mul.wide.u32 %d9, %r4, 2; add.s64 %d9, %d2, %d9; "
    "st.global.u16 [%d9], %h1;",
    "all_read": "ld.global.u32 %r9, [%d4]; ld.global.u32 %r9, [%d7];",
    "atomics": f"{TICKET.format('')} red.global.add.u32 [%d8], %r9;",
    "reads_then_compares_and_swaps": f"{ONE} ld.global.u32 %r9, [%d7]; L: add.u32 %r10, %r9, %r4; "
    "atom.global.cas.b32 %r11, [%d7], %r9, %r10; setp.ne.u32 %p3, %r11, %r9; mov.u32 %r9, %r11; "
    "@%p3 bra L;",
    "adds_to_its_own_after_it_cleared_it": "@%p1 st.global.u32 [%d6], 0; bar.sync 0; "
    "atom.global.add.u32 %r9, [%d6], 1; bar.sync 0; ld.global.u32 %r9, [%d6];",
    "last_block": PART.format("membar.gl; " + TICKET.format("")) + LAST.format(260) + OTHERS,
    "last_block_of_releases": PART.format(TICKET.format(".acq_rel.gpu"))
    + LAST.format(260)
    + OTHERS,
    "last_block_of_fences_of_all": "st.global.u32 [%d5], %r4; membar.gl; bar.sync 0; "
    f"{ONE} {TICKET.format('')} {LAST.format(260)} ld.global.u32 %r10, [%d2+128]; "
    "ld.global.u32 %r10, [%d2+384]; ld.global.u32 %r10, [%d2+640];",
    "last_block_of_a_fence_after_the_barrier": "st.global.u32 [%d5], %r4; bar.sync 0; "
    f"{ONE} fence.acq_rel.gpu; {TICKET.format('')} {LAST.format(260)} "
    "ld.global.u32 %r10, [%d2+128]; ld.global.u32 %r10, [%d2+384]; st.global.u32 [%d2+640], %r1;",
    "last_warp": "mad.lo.u32 %r8, %r2, 2, %r3; mul.wide.u32 %d9, %r8, 4; add.s64 %d9, %d2, %d9; "
    "setp.ne.u32 %p4, %r5, 0; @%p4 bra E; st.global.u32 [%d9], %r8; membar.gl; "
    f"{TICKET.format('')} setp.ne.u32 %p3, %r9, 264; @%p3 bra E; {OTHERS}",
    "a_lock_with_fences": f"{ONE}{LOCK.format('')}membar.gl; {ADD} membar.gl; "
    "atom.global.exch.b32 %r9, [%d7], 256;",
    "a_lock_of_releases": f"{ONE}{LOCK.format('.acq_rel.gpu')}{ADD} "
    "atom.global.acq_rel.gpu.exch.b32 %r9, [%d7], 256;",
    "a_lock_left_by_a_store": f"{ONE}{LOCK.format('')}{ADD} membar.gl; "
    "st.volatile.global.u32 [%d7], 256;",
    "a_flag_behind_a_fence": FLAG.format("membar.gl;", ".volatile", "volatile", "membar.gl;"),
    "a_flag_that_is_released": FLAG.format("", ".release.gpu", "acquire.gpu", ""),
    "a_plain_flag_behind_a_fence": FLAG.format("membar.gl;", "", "volatile", ""),
    "its_own_by_the_read_only_cache": "ld.global.nc.u32 %r9, [%d5]; st.global.u32 [%d5], %r4;",
    "sixteen_bytes_each": "mul.wide.u32 %d9, %r4, 16; add.s64 %d9, %d2, %d9; "
    "st.global.v4.u32 [%d9], {%r1, %r1, %r1, %r1}; "
    "ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%d9];",
}


def statuses(folder: Path, bodies: dict[str, str]) -> dict[str, tuple[int, str]]:
    """Kernel → (exit status, log), of four blocks of two warps."""
    ptx = HEAD + "".join(START.format(name=f"k{name}", body=body) for name, body in bodies.items())
    cases = []
    for number, name in enumerate(bodies):
        spec = spec_of(["x"], {"out": 1000 + number}, 1000)
        step = launch(f"k{name}", ["x", "out"], threads=64, blocks=4)
        cases.append((spec, plan_of(ptx, [step])))
    path = library(program(cases)[0], folder)
    return {
        name: run_main(path, spec, folder) for name, (spec, _) in zip(bodies, cases, strict=True)
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    return statuses(tmp_path_factory.mktemp("order"), RACES | ORDERED)


@pytest.mark.parametrize("name", RACES)
def test_what_nothing_orders_is_a_race(name: str, built: dict[str, tuple[int, str]]) -> None:
    status, log = built[name]
    assert EMULATED_EXITS.get(status, (None, status))[1] == "race", log
    assert f"race: kernel k{name}, block (" in log
    assert "of out, which has " in log


@pytest.mark.parametrize("name", ORDERED)
def test_what_something_orders_is_no_race(name: str, built: dict[str, tuple[int, str]]) -> None:
    status, log = built[name]
    assert (status, "race" in log) == (0, False), log


UNSET = """
.visible .entry {name}(.param .u64 x, .param .u64 o)
{{
.reg .pred %p<9>; .reg .b32 %r<19>; .reg .b64 %d<19>; .reg .f32 %f<9>;
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [o]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 8;
add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3; setp.lt.u32 %p1, %r1, 5;
{body}
st.global.u32 [%d5], %r6; st.global.u32 [%d5+4], %r7;
ret;
}}
"""
MASKED = "mov.u32 %r2, 0x0; @%p1 ld.global.b32 { %r2 }, [%d4];"
LOADS = {
    "a_float": (f"{MASKED} add.f32 %r6, %r2, %r2; mov.u32 %r7, 0;", True),
    "a_float_that_is_moved": (
        f"{MASKED} mov.b32 %r3, %r2; shfl.sync.bfly.b32 %r4, %r3, 0, 31, -1; "
        "add.f32 %r6, %r4, %r4; mov.u32 %r7, 0;",
        True,
    ),
    "two_halves": (f"{MASKED} add.f16x2 %r6, %r2, %r2; mov.u32 %r7, 0;", True),
    "an_integer": (f"{MASKED} add.s32 %r6, %r2, %r2; mov.u32 %r7, 0;", False),
    "a_float_made_of_an_integer": (
        f"{MASKED} cvt.rn.f32.s32 %r6, %r2; mov.u32 %r7, 0;",
        False,
    ),
    "with_another": (
        "mov.b32 %r5, 0; mov.u32 %r2, %r5; @%p1 ld.global.b32 { %r2 }, [%d4]; "
        "add.f32 %r6, %r2, %r2; mov.u32 %r7, 0;",
        False,
    ),
    "masked_afterwards": (
        f"{MASKED} add.f32 %r3, %r2, %r2; mov.b32 %r5, 0; selp.f32 %r6, %r3, %r5, %p1; "
        "mov.u32 %r7, 0;",
        False,
    ),
    "for_all_lanes": (
        "mov.u32 %r2, 0x0; ld.global.b32 { %r2 }, [%d4]; sub.f32 %r6, %r2, %r2; mov.u32 %r7, 0;",
        False,
    ),
    "a_lane_that_the_mask_leaves_out": (
        "shfl.sync.idx.b32 %r6, %r1, 9, 31, 0x1f; mov.u32 %r7, 0;",
        True,
    ),
    "an_idle_lane": (
        "mov.u32 %r6, 0; mov.u32 %r7, 0; @!%p1 bra D; shfl.sync.idx.b32 %r6, %r1, 9, 31, 0x1f; D:",
        True,
    ),
    "halves_with_masks_of_their_own": (
        "setp.lt.u32 %p2, %r1, 16; selp.b32 %r3, 0xffff, 0xffff0000, %p2; "
        "shfl.sync.bfly.b32 %r6, %r7, 1, 31, %r3; redux.sync.add.u32 %r7, %r6, %r3; "
        "mov.u32 %r6, 0; mov.u32 %r7, 0;",
        False,
    ),
}
"""Name → (what a kernel of Triton's does, whether any lane is left without a value)."""


@pytest.fixture(scope="module")
def loads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kernels = [UNSET.format(name=f"k{name}", body=body) for name, (body, _) in LOADS.items()]
    ptx = "\n".join([f"// {TRITON}", HEAD, *kernels])
    cases = [(_spec_of(name), plan_of(ptx, [launch(f"k{name}", ["x", "out"])])) for name in LOADS]
    return library(program(cases)[0], tmp_path_factory.mktemp("loads"))


def _spec_of(name: str) -> CaseSpec:
    return spec_of(["x"], {"out": 32 + list(LOADS).index(name)}, 32)


@pytest.mark.parametrize("name", LOADS)
def test_a_lane_without_a_value_has_another_in_every_round(name: str, loads: Path) -> None:
    # What is loaded is the same in each, what decides the round is not.
    rounds = [np.full(32, seed << 32 | 3, np.uint64).tobytes() for seed in range(1, 7)]
    found = {called(loads, _spec_of(name), [numbers])[0] for numbers in rounds}
    assert (len(found) > 1) == LOADS[name][1]
