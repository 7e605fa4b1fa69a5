"""What translated code counts of itself is what a profiler would say of the same accesses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from kernelwright.envs.plan.counters import PREFIX, split_counters
from kernelwright.envs.plan.counters import counted as counted_line
from kernelwright.envs.ptx.program import program
from tests.ptx_tools import HEAD, Array, launch, library, outputs_of, plan_of, run_main, spec_of

KERNEL = """
.visible .entry k(.param .u64 x, .param .u64 o)
{{
.reg .pred %p<3>; .reg .b32 %r<19>; .reg .b64 %d<19>; .reg .f32 %f<9>;
.shared .align 16 .b8 s[8192];
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [o];
mov.u32 %r1, %tid.x; mov.u32 %r3, s;
{body}
ret;
}}
"""
AT = "mul.wide.u32 %d3, %r1, {step}; add.s64 %d4, %d1, %d3; "
IN = "mul.lo.u32 %r4, %r1, {step}; add.u32 %r5, %r3, %r4; "


def counted(body: str, folder: Path) -> dict[str, float]:
    spec = spec_of(["x"], {"out": 1024}, 1024)
    plan = plan_of(HEAD + KERNEL.format(body=body), [launch("k", ["x", "out"])])
    status, log = run_main(library(program([(spec, plan)])[0], folder), spec, folder)
    (facts,), rest = split_counters(log)
    assert (status, "counters" in rest) == (0, False)
    return {name.removeprefix(PREFIX): value for name, value in facts}


@pytest.mark.parametrize(
    ("step", "load", "asked_bytes", "sectors"),
    [
        (4, "ld.global.u32 %r9, [%d4];", 4, 4),
        (8, "ld.global.u64 %d9, [%d4];", 8, 8),
        (16, "ld.global.v4.u32 {%r9, %r10, %r11, %r12}, [%d4];", 16, 16),
        (8, "ld.global.u32 %r9, [%d4];", 4, 8),
        (64, "ld.global.u32 %r9, [%d4];", 4, 32),
        (128, "ld.global.u32 %r9, [%d4];", 4, 32),
        (0, "ld.global.u32 %r9, [%d4];", 4, 1),
        (4, "add.s64 %d4, %d4, 4; ld.global.u32 %r9, [%d4];", 4, 5),
    ],
)
def test_an_access_takes_as_many_sectors_as_it_touches(
    step: int, load: str, asked_bytes: int, sectors: int, tmp_path: Path
) -> None:
    found = counted(AT.format(step=step) + load, tmp_path)
    assert (found["sectors_per_request"], found["load"]) == (sectors, 1)
    assert found["sector_use"] == 32 * asked_bytes / (32 * sectors)


@pytest.mark.parametrize(
    ("step", "access", "times"),
    [
        (4, "st.shared.u32 [%r5], %r1;", 1),
        (8, "st.shared.u32 [%r5], %r1;", 2),
        (12, "st.shared.u32 [%r5], %r1;", 1),
        (128, "st.shared.u32 [%r5], %r1;", 32),
        (132, "st.shared.u32 [%r5], %r1;", 1),
        (2, "st.shared.u16 [%r5], 1;", 1),
        (8, "st.shared.u64 [%r5], %d1;", 1),
        (16, "st.shared.v4.u32 [%r5], {%r1, %r1, %r1, %r1};", 1),
        (32, "st.shared.v4.u32 [%r5], {%r1, %r1, %r1, %r1};", 2),
        (0, "red.shared.add.u32 [%r5], %r1;", 1),
    ],
)
def test_lanes_that_want_other_words_of_one_bank_wait_for_each_other(
    step: int, access: str, times: float, tmp_path: Path
) -> None:
    assert counted(IN.format(step=step) + access, tmp_path)["bank_conflicts"] == times


PLACES = """
.visible .entry k(.param .u64 x, .param .u64 o)
{{
.reg .pred %p<3>; .reg .b16 %h<9>; .reg .b32 %r<19>; .reg .b64 %d<19>;
.shared .align 16 .b8 s[4096];
ld.param.u64 %d1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 32, %r1; mul.wide.u32 %d3, %r3, 8; add.s64 %d4, %d1, %d3;
ld.global.u64 %d5, [%d4]; setp.ne.s64 %p1, %d5, -1;
cvt.u32.u64 %r5, %d5; mov.u32 %r6, s; add.u32 %r6, %r6, %r5;
@%p1 ld.shared.{access}, [%r6];
ret;
}}
"""
WIDTHS = {
    1: "u8 %h1",
    2: "u16 %h1",
    4: "u32 %r9",
    8: "u64 %d9",
    16: "v4.u32 {%r9, %r10, %r11, %r12}",
}
OFF = 2**64 - 1


@pytest.mark.parametrize("width", WIDTHS)
def test_passes_are_the_most_words_that_a_bank_is_asked_for(
    width: int, capfd: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(width)
    warps = [_places(rng, width) for _ in range(200)]
    spec = spec_of(["x"], {"out": 1}, 32 * len(warps))
    text = HEAD + PLACES.format(access=WIDTHS[width])
    plan = plan_of(text, [launch("k", ["x", "out"], blocks=len(warps))])
    outputs_of(spec, plan, [np.concatenate(warps)])
    (facts,), _ = split_counters(capfd.readouterr().err)
    asked = [group for places in warps for group in _groups(places, width)]
    passes = sum(_passes(group, width) for group in asked)
    assert dict(facts)[PREFIX + "bank_conflicts"] == pytest.approx(passes / len(asked), rel=1e-12)


def _places(rng: np.random.Generator, width: int) -> Array:
    """Where 32 lanes read, in bytes: in steps, anywhere, or close together; some are off."""
    lanes = np.arange(32, dtype=np.uint64)
    steps = lanes * rng.integers(1, 4096 // 32 // width + 1) % (4096 // width)
    anywhere, close = (rng.integers(0, most, 32) for most in (4096 // width, 40))
    chosen = (steps, anywhere, close)[rng.integers(3)].astype(np.uint64) * np.uint64(width)
    if rng.random() < 0.5:
        chosen[rng.random(32) < rng.random()] = OFF
    return chosen


def _groups(places: Array, width: int) -> list[set[int]]:
    """The places of lanes that are served together, where one is."""
    size = 32 * 4 // max(width, 4)
    groups = [places[i : i + size] for i in range(0, 32, size)]
    return [set(map(int, one[one != OFF])) for one in groups if (one != OFF).any()]


def _passes(places: set[int], width: int) -> int:
    words = {word for at in places for word in range(at // 4, (at + width - 1) // 4 + 1)}
    return max(Counter(word % 32 for word in words).values())


def test_instructions_and_lanes_are_those_that_ran(tmp_path: Path) -> None:
    few = "setp.lt.u32 %p1, %r1, 8; @!%p1 bra E; "
    few += "fma.rn.f32 %f1, %f1, %f1, %f1; " * 15 + "E: bar.sync 0;"
    found = counted(few, tmp_path)
    whole, some = 4 + 2 + 2, 15  # its addresses, the branch, and what all end with
    assert found["instructions"] == whole + some
    assert found["lanes_on"] == pytest.approx((whole * 32 + some * 8) / (whole + some))
    assert (found["fma"], found["barrier"]) == (15, 1)


def test_a_log_without_counters_stays_as_it_is() -> None:
    assert split_counters("counters: 1 2\nrace: kernel k\n") == (
        [],
        "counters: 1 2\nrace: kernel k\n",
    )
    assert split_counters("a line\n") == ([], "a line\n")


def test_a_line_for_people_says_what_is_known() -> None:
    found = counted_line((("counted.instructions", 40896.0), ("counted.lanes_on", 31.96)))
    assert found == "counted: 40,896 instructions of warps, 32.0 of 32 lanes"
    assert counted_line((("library_bytes", 5.0),)) == ""
