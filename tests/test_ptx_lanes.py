"""What lanes tell each other, what atomics leave, tensor cores: against Python's own arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.ptx_numbers import as_float, rounded, signed
from tests.ptx_tools import HEAD, Array, launch, outputs_of, plan_of, spec_of

START = """
.visible .entry {name}(.param .u64 x, .param .u64 y, .param .u64 o)
{{
.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %d<19>;
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.u64 %d3, [o];
mov.u32 %r1, %tid.x; mul.wide.u32 %d4, %r1, 8;
add.s64 %d5, %d1, %d4; ld.global.u32 %r2, [%d5];
add.s64 %d6, %d2, %d4; ld.global.u32 %r3, [%d6];
add.s64 %d7, %d3, %d4;
{body}
cvt.u64.u32 %d8, %r9; st.global.u64 [%d7], %d8;
ret;
}}
"""
Expect = Callable[[list[int], list[int]], list[int]]


def shuffled(step: Callable[[int], tuple[int, bool]]) -> Expect:
    def found(x: list[int], _: list[int]) -> list[int]:
        return [x[step(lane)[0]] if step(lane)[1] else x[lane] for lane in range(32)]

    return found


def reduced(function: Callable[[int, int], int], sign: bool = False) -> Expect:
    def found(x: list[int], _: list[int]) -> list[int]:
        values = [signed(one, 32) if sign else one for one in x]
        total = values[0]
        for one in values[1:]:
            total = function(total, one)
        return [total % (1 << 32)] * 32

    return found


def alike(x: list[int], _: list[int]) -> list[int]:
    keys = [one & 7 for one in x]
    return [sum((keys[i] == key) << i for i in range(32)) for key in keys]


ODD = "and.b32 %r4, %r2, 1; setp.ne.u32 %p1, %r4, 0;"


def ballot(x: list[int]) -> int:
    return sum((one & 1) << i for i, one in enumerate(x))


def added(x: list[int], y: list[int]) -> list[int]:
    return [((a << 32 | b) + (b << 32 | a) >> 32) % (1 << 32) for a, b in zip(x, y, strict=True)]


def subtracted(x: list[int], y: list[int]) -> list[int]:
    return [((a << 32 | b) - (b << 32 | a) >> 32) % (1 << 32) for a, b in zip(x, y, strict=True)]


KERNELS: dict[str, tuple[str, Expect]] = {
    "shfl_down": (
        "shfl.sync.down.b32 %r9, %r2, 3, 31, -1;",
        shuffled(lambda lane: (lane + 3, lane + 3 < 32)),
    ),
    "shfl_down_in_eights": (
        "shfl.sync.down.b32 %r9, %r2, 2, 6175, -1;",
        shuffled(lambda lane: (lane + 2, lane % 8 + 2 < 8)),
    ),
    "shfl_up": (
        "shfl.sync.up.b32 %r9, %r2, 5, 0, -1;",
        shuffled(lambda lane: (lane - 5, lane >= 5)),
    ),
    "shfl_bfly": (
        "shfl.sync.bfly.b32 %r9, %r2, 16, 31, -1;",
        shuffled(lambda lane: (lane ^ 16, True)),
    ),
    "shfl_idx": (
        "shfl.sync.idx.b32 %r9, %r2, 7, 31, -1;",
        shuffled(lambda lane: (7, True)),
    ),
    "shfl_idx_of_each": (
        "and.b32 %r5, %r3, 31; shfl.sync.idx.b32 %r9, %r2, %r5, 31, -1;",
        lambda x, y: [x[one & 31] for one in y],
    ),
    "shfl_says_what_was_inside": (
        "shfl.sync.down.b32 %r8|%p1, %r2, 3, 31, -1; selp.b32 %r9, 1, 0, %p1;",
        lambda x, y: [int(lane + 3 < 32) for lane in range(32)],
    ),
    "ballot": (f"{ODD} vote.sync.ballot.b32 %r9, %p1, -1;", lambda x, y: [ballot(x)] * 32),
    "any": (
        f"{ODD} vote.sync.any.pred %p2, %p1, -1; selp.b32 %r9, 1, 0, %p2;",
        lambda x, y: [int(ballot(x) != 0)] * 32,
    ),
    "all": (
        f"{ODD} vote.sync.all.pred %p2, !%p1, -1; selp.b32 %r9, 1, 0, %p2;",
        lambda x, y: [int(ballot(x) == 0)] * 32,
    ),
    "match": ("and.b32 %r4, %r2, 7; match.any.sync.b32 %r9, %r4, -1;", alike),
    "active": (
        f"mov.u32 %r9, 0; {ODD} @!%p1 bra A; activemask.b32 %r9; A:",
        lambda x, y: [ballot(x) if one & 1 else 0 for one in x],
    ),
    "redux_add": ("redux.sync.add.u32 %r9, %r2, -1;", reduced(lambda a, b: a + b)),
    "redux_min": ("redux.sync.min.s32 %r9, %r2, -1;", reduced(min, sign=True)),
    "redux_xor": ("redux.sync.xor.b32 %r9, %r2, -1;", reduced(lambda a, b: a ^ b)),
    "how_many_of_a_block": (
        f"{ODD} barrier.sync.aligned 0; bar.red.popc.u32 %r9, 0, %p1;",
        lambda x, y: [ballot(x).bit_count()] * 32,
    ),
    "carries": ("add.cc.u32 %r8, %r3, %r2; addc.u32 %r9, %r2, %r3;", added),
    "borrows": ("sub.cc.u32 %r8, %r3, %r2; subc.u32 %r9, %r2, %r3;", subtracted),
    "carries_a_product": (
        "mad.lo.cc.u32 %r8, %r2, %r3, %r2; madc.hi.u32 %r9, %r2, %r3, 0;",
        lambda x, y: [(a * b + a) >> 32 for a, b in zip(x, y, strict=True)],
    ),
    "atomic_sum": (
        "atom.global.add.u32 %r8, [%d3+256], %r2; bar.sync 0; ld.global.u32 %r9, [%d3+256];",
        reduced(lambda a, b: a + b),
    ),
    "atomic_greatest": (
        "atom.global.max.s32 %r8, [%d3+256], %r2; bar.sync 0; ld.global.u32 %r9, [%d3+256];",
        lambda x, y: [max(0, *(signed(one, 32) for one in x))] * 32,
    ),
    "atomic_exchange_if_equal": (
        "atom.global.cas.b32 %r8, [%d3+256], 0, %r2; bar.sync 0; ld.global.u32 %r9, [%d3+256];",
        lambda x, y: [x[0]] * 32,
    ),
    "switches": (
        "and.b32 %r4, %r2, 3; brx.idx %r4, T; T: .branchtargets A, B, C, D; "
        "A: mov.u32 %r9, 10; bra E; B: mov.u32 %r9, 11; bra E; C: mov.u32 %r9, 12; bra E; "
        "D: mov.u32 %r9, 13; E:",
        lambda x, y: [10 + (one & 3) for one in x],
    ),
    "loops_as_often_as_each_wants": (
        "and.b32 %r4, %r2, 63; mov.u32 %r9, 0; A: setp.eq.u32 %p1, %r4, 0; @%p1 bra B; "
        "add.u32 %r9, %r9, %r3; sub.u32 %r4, %r4, 1; bra A; B:",
        lambda x, y: [(a & 63) * b % (1 << 32) for a, b in zip(x, y, strict=True)],
    ),
}


@pytest.fixture(scope="module")
def inputs() -> list[Array]:
    generator = np.random.default_rng(3)
    return [generator.integers(1, 1 << 32, 32).astype(np.uint64) for _ in range(2)]


@pytest.fixture(scope="module")
def computed(inputs: list[Array]) -> dict[str, Array]:
    ptx = HEAD + "".join(
        START.format(name=f"k{name}", body=row[0]) for name, row in KERNELS.items()
    )
    # 33: what atomics work on lies behind what lanes write.
    spec = spec_of(["x", "y"], dict.fromkeys(KERNELS, 33), 32)
    launches = [launch(f"k{name}", ["x", "y", name]) for name in KERNELS]
    found = outputs_of(spec, plan_of(ptx, launches), inputs)
    return dict(zip(KERNELS, found, strict=True))


@pytest.mark.parametrize("name", KERNELS)
def test_lanes_find_what_python_finds(
    name: str, computed: dict[str, Array], inputs: list[Array]
) -> None:
    x, y = ([int(value) for value in one] for one in inputs)
    assert [int(one) for one in computed[name][:32]] == KERNELS[name][1](x, y)


PRODUCT = """
.visible .entry mma(.param .u64 a, .param .u64 b, .param .u64 o)
{{
.reg .b32 %r<40>; .reg .b64 %d<19>;
ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [o];
mov.u32 %r1, %tid.x; mul.wide.u32 %d4, %r1, 16;
add.s64 %d5, %d1, %d4; ld.global.v4.u32 {{%r10, %r11, %r12, %r13}}, [%d5];
add.s64 %d6, %d2, %d4; ld.global.v4.u32 {{%r14, %r15, %r16, %r17}}, [%d6];
mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, 0;
{opcode} {{%r20, %r21, %r22, %r23}}, {{%r10, %r11, %r12, %r13}}, {{%r14, %r15}},
 {{%r20, %r21, %r22, %r23}};
add.s64 %d7, %d3, %d4; st.global.v4.u32 [%d7], {{%r20, %r21, %r22, %r23}};
ret;
}}
"""


@pytest.mark.parametrize(
    ("kind", "opcode", "k"),
    [
        ("f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16),
        ("bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16),
        ("tf32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8),
        ("s8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 32),
    ],
)
def test_a_tensor_core_multiplies_what_the_manual_gives_to_each_lane(
    kind: str, opcode: str, k: int
) -> None:
    """The manual's figures: group = lane / 4, and places in words of 32 bits."""
    generator = np.random.default_rng(5)
    a, b = generator.integers(-9, 9, (16, k)), generator.integers(-9, 9, (k, 8))
    per_word = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4}[kind]

    def word(values: list[int]) -> int:
        if kind == "s8":
            return sum((one & 255) << 8 * i for i, one in enumerate(values))
        as_kind = "f32" if kind == "tf32" else kind
        width = 32 // len(values)
        return sum(rounded(float(one), as_kind) << width * i for i, one in enumerate(values))

    words_a, words_b = np.zeros(128, np.uint32), np.zeros(128, np.uint32)
    for lane in range(32):
        group, place = lane // 4, lane % 4 * per_word
        for register in range(4):
            row, first = group + register % 2 * 8, place + register // 2 * 4 * per_word
            words_a[lane * 4 + register] = word([int(a[row, first + i]) for i in range(per_word)])
        for register in range(2):
            first = place + register * 4 * per_word
            words_b[lane * 4 + register] = word([int(b[first + i, group]) for i in range(per_word)])
    spec = spec_of(["a", "b"], {"out": 64}, 64)
    plan = plan_of(HEAD + PRODUCT.format(opcode=opcode), [launch("mma", ["a", "b", "out"])])
    (out,) = outputs_of(spec, plan, [one.view(np.uint64) for one in (words_a, words_b)])
    wanted, found = a @ b, out.view(np.uint32)
    for lane in range(32):
        for register in range(4):
            row, column = lane // 4 + register // 2 * 8, lane % 4 * 2 + register % 2
            bits = int(found[lane * 4 + register])
            value = signed(bits, 32) if kind == "s8" else as_float(bits, "f32")
            assert value == wanted[row, column]
