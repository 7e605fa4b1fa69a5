"""Every opcode on random bits, against a computation that shares nothing with it: Python's exact
fractions, rounded here, and numpy's IEEE arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from kernelwright.envs.ptx.arithmetic import OPCODES as ARITHMETIC
from kernelwright.envs.ptx.comparisons import OPCODES as COMPARISONS
from kernelwright.envs.ptx.conversions import OPCODES as CONVERSIONS
from kernelwright.envs.ptx.parse import BITS
from tests.ptx_numbers import Row, same
from tests.ptx_rows import rows
from tests.ptx_tools import HEAD, Array, launch, outputs_of, plan_of, spec_of

COUNT = 256
ODD = [0, 1, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000, 0x00000001, 0x80000001]
ODD += [0xFFFFFFFF, 0x7FFFFFFF, 0x3C00, 0x7C00, 0xFC00, 0x8000, 0x7E00, 0x4B000000, 0x3F000000]


PREFIX = {1: "%p", 16: "%h", 32: "%r", 64: "%d"}


def kernel(number_: int, row: Row) -> str:
    """A kernel that reads each operand's bits, computes once, and writes the result's."""
    opcode, _, immediate = row.opcode.partition(":")
    lines, operands = [], []
    for i, kind in enumerate(row.reads):
        bits = max(BITS[kind], 16) if kind != "pred" else 1
        name = f"{PREFIX[bits]}{i + 10}"
        lines.append(f"ld.global.u64 %d{20 + i}, [%d{i + 1}];")
        if bits == 1:
            lines.append(f"cvt.u32.u64 %r{30 + i}, %d{20 + i}; setp.ne.u32 {name}, %r{30 + i}, 0;")
        else:
            lines.append(
                f"mov.b64 {name}, %d{20 + i};"
                if bits == 64
                else f"cvt.u{bits}.u64 {name}, %d{20 + i};"
            )
        operands.append(name)
    operands += [immediate] if immediate else []
    bits = max(BITS[row.gives], 16) if row.gives != "pred" else 1
    to = f"{PREFIX[bits]}1"
    out = {
        1: "selp.b32 %r2, 1, 0, %p1; cvt.u64.u32 %d30, %r2;",
        16: "cvt.u64.u16 %d30, %h1;",
        32: "cvt.u64.u32 %d30, %r1;",
        64: "mov.b64 %d30, %d1;",
    }[bits]
    body = "\n".join([*lines, f"{opcode} {to}, {', '.join(operands)};", out])
    loads = "\n".join(
        f"ld.param.u64 %d{i + 1}, [p{i}]; add.s64 %d{i + 1}, %d{i + 1}, %d10;" for i in range(5)
    )
    params = ", ".join(f".param .u64 p{i}" for i in range(5))
    return (
        f".visible .entry k{number_}({params})\n{{\n.reg .pred %p<20>;\n.reg .b16 %h<20>;\n"
        f".reg .b32 %r<40>;\n.reg .b64 %d<40>;\n"
        "mov.u32 %r39, %tid.x;\nmul.wide.u32 %d10, %r39, 8;\n"
        f"{loads}\n{body}\nst.global.u64 [%d5], %d30;\nret;\n}}\n"
    )


def operand_bits(kind: str, seed: int) -> Array:
    """Random bits, odd ones, and numbers of ordinary size, as a type has them."""
    generator = np.random.default_rng(seed)
    found = generator.integers(0, 1 << 63, COUNT, dtype=np.uint64) << np.uint64(1)
    found[: len(ODD)] = np.array(ODD, np.uint64)
    found[len(ODD) : 2 * len(ODD)] = generator.permutation(np.array(ODD, np.uint64))
    plain = generator.normal(0, 10, COUNT)
    letter = {"f16": np.float16, "f32": np.float32, "f64": np.float64}.get(kind)
    if letter is not None:
        whole = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}[kind]
        found[64:192] = plain[64:192].astype(letter).view(whole).astype(np.uint64)
    elif kind == "bf16":
        found[64:192] = plain[64:192].astype(np.float32).view(np.uint32).astype(
            np.uint64
        ) >> np.uint64(16)
    elif kind[0] in "su":
        found[64:192] = generator.integers(0, 80, 128).astype(np.uint64)
    return found & np.uint64((1 << max(BITS[kind], 1)) - 1)


ALL = list(rows())
KINDS = sorted({kind for row in ALL for kind in row.reads})


@pytest.fixture(scope="module")
def computed() -> dict[str, Array]:
    """Opcode → what it gave, for all of them built at once."""
    ptx = HEAD + "".join(kernel(i, row) for i, row in enumerate(ALL))
    names = [f"{kind}_{i}" for kind in KINDS for i in range(4)]
    inputs = [operand_bits(name.split("_")[0], n) for n, name in enumerate(names)]
    spec = spec_of(names, {f"o{i}": COUNT for i in range(len(ALL))}, COUNT)
    launches = []
    for i, row in enumerate(ALL):
        reads = [f"{kind}_{n}" for n, kind in enumerate(row.reads)]
        reads += [names[0]] * (4 - len(reads))
        launches.append(launch(f"k{i}", [*reads, f"o{i}"], threads=COUNT))
    found = outputs_of(spec, plan_of(ptx, launches), inputs)
    return {row.opcode: one for row, one in zip(ALL, found, strict=True)}


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.opcode)
def test_an_opcode_gives_what_an_independent_computation_gives(
    row: Row, computed: dict[str, Array]
) -> None:
    names = [f"{kind}_{i}" for kind in KINDS for i in range(4)]
    given = [operand_bits(kind, names.index(f"{kind}_{n}")) for n, kind in enumerate(row.reads)]
    checked = 0
    for lane in range(COUNT):
        values = [int(one[lane]) for one in given]
        wanted = row.expect(*values)
        if wanted is None:
            continue
        found, checked = int(computed[row.opcode][lane]), checked + 1
        fine = row.close(found, wanted, values) if row.close else same(found, wanted, row.gives)
        assert fine, f"{row.opcode} of {[hex(one) for one in values]}: {found:#x}, not {wanted:#x}"
    assert checked > COUNT // 8


def test_no_opcode_of_arithmetic_goes_untested() -> None:
    tested = {row.opcode.partition(".")[0] for row in ALL}
    nothing = {"membar", "fence", "nanosleep", "prefetch", "prefetchu", "discard", "pmevent"}
    nothing |= {"createpolicy", "applypriority"}
    elsewhere = {"cvta", "isspacep", "addc", "subc", "madc"}
    assert {*ARITHMETIC, *COMPARISONS, *CONVERSIONS} - nothing - elsewhere == tested
