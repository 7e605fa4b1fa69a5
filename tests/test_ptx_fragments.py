"""`wmma`: matrices loaded, multiplied and stored by a warp are those of numpy, in every order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.plan.steps import Launch
from kernelwright.envs.ptx.program import program
from tests.ptx_tools import HEAD, launch, library, plan_of, played, run_main, spec_of

Matrix = np.ndarray[tuple[int, ...], np.dtype[Any]]
FACTORS = {"f16": (16, 2), "bf16": (16, 2), "tf32": (8, 4), "s8": (16, 1), "u8": (16, 1)}
"""Type of the factors → (depth of a product, bytes of an element)."""
SHAPES = ((16, 16), (32, 8), (8, 32))


@dataclass(frozen=True)
class Product:
    kind: str
    m: int
    n: int
    a_order: str
    b_order: str
    space: str
    """Where the factors are loaded from."""
    summed: str
    """The type of what is added and stored."""

    @property
    def k(self) -> int:
        return FACTORS[self.kind][0]

    @property
    def name(self) -> str:
        return "_".join(map(str, (self.kind, self.m, self.n, self.space, self.summed))) + (
            f"_{self.a_order}_{self.b_order}"
        )


PRODUCTS = [
    Product(kind, m, n, *orders, space, "s32" if kind in ("s8", "u8") else summed)
    for kind, (m, n) in product(FACTORS, SHAPES)
    for orders, space, summed in (
        (("row", "col"), "global", "f32"),
        (("col", "row"), "shared", "f16" if kind == "f16" else "f32"),
        (("row", "row"), "", "f32"),
    )
    if (kind != "tf32" and space) or (m, n) == (16, 16)
]

BODY = """
.visible .entry {name}(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 o)
{{
.reg .pred %p<2>; .reg .b32 %r<9>, %a<9>, %b<9>, %c<9>; .reg .b64 %d<19>;
.shared .align 32 .b8 s{name}[8192];
ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [c]; ld.param.u64 %d4, [o];
{copies}
wmma.load.a.sync.aligned.{p.a_order}.{shape}{at}.{p.kind} {a}, [{a_at}], {a_stride};
wmma.load.b.sync.aligned.{p.b_order}.{shape}{at}.{p.kind} {b}, [{b_at}], {b_stride};
wmma.load.c.sync.aligned.row.{shape}.global.{p.summed} {c}, [%d3], {c_stride};
wmma.mma.sync.aligned.{p.a_order}.{p.b_order}.{shape}.{kinds} {c}, {a}, {b}, {c};
wmma.store.d.sync.aligned.col.{shape}.global.{p.summed} [%d4], {c}, {o_stride};
ret;
}}
"""
COPIES = """
mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, 4; cvt.u64.u32 %d5, %r2;
add.u64 %d6, %d1, %d5; add.u64 %d7, %d2, %d5; mov.u32 %r3, s{name}; add.u32 %r3, %r3, %r2;
mov.u32 %r4, 0;
L{name}: ld.global.u32 %r5, [%d6]; st.shared.u32 [%r3], %r5;
ld.global.u32 %r6, [%d7]; st.shared.u32 [%r3+4096], %r6;
add.u64 %d6, %d6, 128; add.u64 %d7, %d7, 128; add.u32 %r3, %r3, 128; add.u32 %r4, %r4, 1;
setp.lt.u32 %p1, %r4, 32; @%p1 bra L{name}; bar.sync 0;
mov.u32 %r7, s{name}; add.u32 %r8, %r7, 4096;
"""
ROOM_BYTES = 4096
"""Of a factor, whatever its size: what is copied to shared memory."""


def text_of(p: Product) -> str:
    shared = p.space == "shared"
    sizes = {"a": (p.m, p.k), "b": (p.k, p.n), "c": (p.m, p.n)}
    bits = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "f32": 32, "s32": 32}
    words = {one: rows * columns * bits[p.kind] // 1024 for one, (rows, columns) in sizes.items()}
    words["c"] = p.m * p.n * bits[p.summed] // 1024
    if p.kind == "f16":
        words["a"] = words["b"] = 8
    registers = {
        one: "{" + ", ".join(f"%{one}{i}" for i in range(count)) + "}"
        for one, count in words.items()
    }
    types = {"f16": f"{p.summed}.{p.summed}"}.get(
        p.kind, f"{p.summed}.{p.kind}.{p.kind}.{p.summed}"
    )
    return BODY.format(
        p=p,
        name=p.name,
        shape=f"m{p.m}n{p.n}k{p.k}",
        at=f".{p.space}" if p.space else "",
        kinds=types,
        copies=COPIES.format(name=p.name) if shared else "",
        a_at="%r7" if shared else "%d1",
        b_at="%r8" if shared else "%d2",
        a_stride=stride(sizes["a"], p.a_order),
        b_stride=stride(sizes["b"], p.b_order),
        c_stride=p.n,
        o_stride=p.m,
        **registers,
    )


def stride(size: tuple[int, ...], order: str) -> int:
    """From one row to the next, in elements: more than a row has."""
    return size[order == "row"] // 16 * 16 + 16


def laid_out(matrix: Matrix, order: str, kind: str) -> bytes:
    """A matrix in its order with room between rows, as bytes of its type."""
    rows = matrix if order == "row" else matrix.T
    padded = np.zeros((rows.shape[0], stride(matrix.shape, order)), np.float32)
    padded[:, : rows.shape[1]] = rows
    if kind == "bf16":
        found = (padded.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    else:
        types = {"f16": np.float16, "tf32": np.float32, "s8": np.int8, "u8": np.int8}
        found = padded.astype(types[kind]).tobytes()
    assert len(found) <= ROOM_BYTES
    return found.ljust(ROOM_BYTES, b"\0")


def test_products_of_fragments_are_those_of_matrices() -> None:
    generator = np.random.default_rng(7)
    types = {"f16": np.float16, "f32": np.float32, "s32": np.int32}
    inputs, outputs, steps, wanted = [], [], list[Launch](), []
    values = list[bytes]()
    for p in PRODUCTS:
        lowest = 0 if p.kind == "u8" else -9
        a, b, c = (
            generator.integers(lowest, 9, size) for size in ((p.m, p.k), (p.k, p.n), (p.m, p.n))
        )
        wanted.append(a @ b + c)
        summed = c.astype(types[p.summed])
        some = [laid_out(a, p.a_order, p.kind), laid_out(b, p.b_order, p.kind), summed.tobytes()]
        names = [f"{one}_{p.name}" for one in "abc"]
        inputs += [
            TensorSpec(name=one, dtype="int8", shape=(len(data),))
            for one, data in zip(names, some, strict=True)
        ]
        outputs.append(TensorSpec(name=p.name, dtype="int8", shape=(summed.nbytes,)))
        values += some
        steps.append(launch(p.name, [*names, p.name]))
    spec = CaseSpec(inputs=tuple(inputs), outputs=tuple(outputs), scalars=())
    found = played(spec, plan_of(HEAD + "".join(map(text_of, PRODUCTS)), steps), values)
    for p, expected, data in zip(PRODUCTS, wanted, found, strict=True):
        by_columns = np.frombuffer(data, types[p.summed]).reshape(p.n, p.m)
        assert np.array_equal(by_columns.T, expected), p.name


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("[%d1], 32", "[%d1+8], 32"), "misaligned_address"),
        (("[%d1], 32", "[%d1], 33"), "misaligned_address"),
        (("[%d4], {", "[%d4+64], {"), "illegal_address"),
        (("[%d1], 32", "[%d1+100000000], 32"), "illegal_address"),
    ],
)
def test_fragments_are_where_they_may_be(
    change: tuple[str, str], fault: str, tmp_path: Path
) -> None:
    p = next(one for one in PRODUCTS if one.name == "f16_16_16_global_f32_row_col")
    text = text_of(p)
    assert text.count(change[0]) == 1
    spec = spec_of(["a", "b", "c"], {"o": 128}, 256)
    plan = plan_of(HEAD + text.replace(*change), [launch(p.name, ["a", "b", "c", "o"])])
    status, log = run_main(library(program([(spec, plan)])[0], tmp_path), spec, tmp_path)
    assert status
    assert log.startswith(fault)
    assert "wmma" in log
