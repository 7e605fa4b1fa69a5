"""What is moved between strided tensors: on a CPU, in a library's own header, and on a device."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from math import prod
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.envs.abi import ITEM_BYTES, CaseSpec, TensorSpec
from kernelwright.envs.device.move_kernels import as_launches
from kernelwright.envs.dialects.triton import assembler
from kernelwright.envs.plan.counters import PREFIX, split_counters
from kernelwright.envs.plan.plan import Plan, sizes_of
from kernelwright.envs.plan.steps import Fill, Move, Place, Side, is_empty, span_bytes
from kernelwright.envs.ptx.program import program
from tests.ptx_tools import library, played, run_main

DTYPES = sorted(ITEM_BYTES)


def side(name: str, dtype: str, strides: Sequence[int]) -> Side:
    return Side(at=Place(tensor=name, offset=0), dtype=dtype, strides=list(strides))


def case(move: Move) -> CaseSpec:
    """From `x` to `y`, which hold what the move reaches."""
    sizes = [span_bytes(one.dtype, move.shape, one.strides) for one in (move.source, move.to)]
    x, y = (
        TensorSpec(name=name, dtype="uint8", shape=(max(size, 1),))
        for name, size in zip("xy", sizes, strict=True)
    )
    return CaseSpec(inputs=(x,), outputs=(y,), scalars=())


def plan_of(move: Move) -> Plan:
    return Plan(steps=[move], buffers={}, kernels=[])


def expected(move: Move, source: bytes, to: bytes) -> bytes:
    """What PyTorch makes of the same."""
    tensors = []
    for one, content in ((move.source, source), (move.to, to)):
        flat = torch.frombuffer(bytearray(content), dtype=torch.uint8)
        dtype = getattr(torch, one.dtype)
        whole = flat[: len(content) // dtype.itemsize * dtype.itemsize].view(dtype)
        tensors.append((whole, whole.as_strided(move.shape, one.strides)))
    tensors[1][1].copy_(tensors[0][1])
    return bytes(tensors[1][0].view(torch.uint8).numpy())


def numbers(dtype: str, count: int) -> bytes:
    """Bytes of numbers that every type has, so that no conversion is undefined."""
    values = torch.arange(count) % 2 if dtype == "bool" else torch.arange(count) % 100
    return bytes(values.to(getattr(torch, dtype)).view(torch.uint8).numpy())


MOVES = [
    Move(shape=[5, 7], source=side("x", a, [1, 5]), to=side("y", b, [7, 1]))
    for a in DTYPES
    for b in DTYPES
    if "float" in b or "float" not in a
]


def all_at_once() -> tuple[CaseSpec, Plan, list[bytes], list[bytes]]:
    """Every move in one plan, each with tensors of its own, with inputs and right outputs."""
    steps, sources, wanted, inputs, outputs = [], [], [], [], []
    for number, move in enumerate(MOVES):
        spec, names = case(move), (f"x{number}", f"y{number}")
        x, y = (
            TensorSpec(name=name, dtype="uint8", shape=one.shape)
            for name, one in zip(names, spec.tensors, strict=True)
        )
        source = side(x.name, move.source.dtype, move.source.strides)
        to = side(y.name, move.to.dtype, move.to.strides)
        steps.append(Move(shape=move.shape, source=source, to=to))
        sources.append(numbers(move.source.dtype, 35))
        wanted.append(expected(move, sources[-1], bytes(y.size_bytes)))
        inputs.append(x)
        outputs.append(y)
    spec = CaseSpec(inputs=tuple(inputs), outputs=tuple(outputs), scalars=())
    return spec, Plan(steps=[*steps], buffers={}, kernels=[]), sources, wanted


@pytest.mark.parametrize("on_device", [False, True], ids=["cpu", "kernels for a device"])
def test_an_element_of_any_type_becomes_what_pytorch_makes_of_it(on_device: bool) -> None:
    spec, plan, sources, wanted = all_at_once()
    if on_device:
        plan = as_launches(plan)
        assert len(plan.launches) == len(MOVES)
    for move, found, right in zip(MOVES, played(spec, plan, sources), wanted, strict=True):
        assert found == right, move


@settings(max_examples=15, deadline=None)
@given(
    shape=st.lists(st.integers(0, 4), max_size=4),
    seed=st.integers(0, 99),
    dtype=st.sampled_from(["float32", "int64", "int8", "float16"]),
)
@pytest.mark.slow
def test_any_strides_are_followed(shape: list[int], seed: int, dtype: str) -> None:
    order = np.random.default_rng(seed).permutation(len(shape))
    strides, step = [0] * len(shape), 1
    for at in order:
        strides[at], step = step, step * max(shape[at], 1)
    dense = [prod(max(one, 1) for one in shape[at + 1 :]) for at in range(len(shape))]
    move = Move(shape=shape, source=side("x", dtype, strides), to=side("y", dtype, dense))
    spec, plan = case(move), plan_of(move)
    source = numbers(dtype, max(prod(shape), 1))[: spec.inputs[0].size_bytes]
    before = bytes(spec.outputs[0].size_bytes)
    wanted = [before if 0 in shape else expected(move, source, before)]
    assert played(spec, plan, [source]) == wanted
    assert played(spec, as_launches(plan), [source]) == wanted
    assert is_empty(move) == (0 in shape)


@pytest.mark.parametrize("kinds", [("float32", "float32"), ("int64", "float16"), ("bool", "uint8")])
@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((70, 40), (1, 0)),
        ((3, 33, 95), (0, 2, 1)),
        ((2, 64, 3, 32), (0, 3, 2, 1)),
        ((16, 5, 100), (1, 2, 0)),
    ],
)
def test_what_is_read_along_one_dimension_and_written_along_another_goes_in_tiles(
    kinds: tuple[str, str], shape: tuple[int, ...], order: tuple[int, ...]
) -> None:
    dense = [prod(shape[at + 1 :]) for at in range(len(shape))]
    turned, moved = [dense[at] for at in order], [shape[at] for at in order]
    laid = [prod(moved[at + 1 :]) for at in range(len(moved))]
    move = Move(shape=moved, source=side("x", kinds[0], turned), to=side("y", kinds[1], laid))
    spec, plan = case(move), as_launches(plan_of(move))
    (launch,) = plan.launches
    assert launch.block == (32, 8, 1)
    source = numbers(kinds[0], prod(shape))
    assert played(spec, plan, [source]) == [
        expected(move, source, bytes(spec.outputs[0].size_bytes))
    ]


def test_a_tile_takes_no_sector_and_no_bank_twice(tmp_path: Path) -> None:
    move = Move(
        shape=[96, 128], source=side("x", "float32", [1, 96]), to=side("y", "float32", [128, 1])
    )
    spec = case(move)
    found = library(program([(spec, as_launches(plan_of(move)))])[0], tmp_path)
    status, log = run_main(found, spec, tmp_path)
    facts = dict(split_counters(log)[0][0])
    assert status == 0
    assert facts[f"{PREFIX}sectors_per_request"] == 4
    assert facts[f"{PREFIX}bank_conflicts"] == 1


def test_our_kernels_are_assembled_for_a_device(tmp_path: Path) -> None:
    pytest.importorskip("triton", reason="triton, whose assembler is used, is not installed")
    path = tmp_path / "move.ptx"
    turned = [(one.model_copy(update={"shape": [50, 70]})) for one in MOVES]
    for move in (*MOVES, *turned):
        path.write_text(as_launches(plan_of(move)).kernels[0].ptx)
        command = [assembler(), "-arch=sm_90", str(path), "-o", str(tmp_path / "move.cubin")]
        subprocess.run(command, check=True, capture_output=True)


def test_dimensions_that_lie_one_behind_the_other_are_one_and_a_small_side_is_no_tile() -> None:
    whole = Move(
        shape=[4, 5, 6], source=side("x", "int8", [30, 6, 1]), to=side("y", "int32", [30, 6, 1])
    )
    narrow = Move(shape=[100, 8], source=side("x", "int8", [1, 100]), to=side("y", "int8", [8, 1]))
    (ptx, *_), (other, *_) = (as_launches(plan_of(one)).kernels for one in (whole, narrow))
    assert "div" not in ptx.ptx
    assert "shared" not in other.ptx


def test_a_tensor_that_is_too_large_for_32_bits_is_moved_by_64() -> None:
    """Its addresses: more elements than there is memory for here."""
    large = Move(
        shape=[1 << 20, 1 << 12],
        source=side("x", "int8", [0, 0]),
        to=side("y", "int8", [0, 1]),
    )
    (kernel,) = as_launches(plan_of(large)).kernels
    assert "div.u64" in kernel.ptx


@pytest.mark.parametrize("on_device", [False, True], ids=["cpu", "kernels for a device"])
def test_eight_bytes_are_written_over_and_over(on_device: bool) -> None:
    out = TensorSpec(name="out", dtype="int64", shape=(300,))
    spec = CaseSpec(inputs=(), outputs=(out,), scalars=())
    fill = Fill(at=Place(tensor="out", offset=8), fill="0807060504030281", bytes=298 * 8)
    plan = Plan(steps=[fill], buffers={}, kernels=[])
    (found,) = played(spec, as_launches(plan) if on_device else plan, [])
    assert found == bytes(8) + bytes.fromhex(fill.fill) * 298 + bytes(8)


def test_whole_numbers_of_others_are_no_move() -> None:
    with pytest.raises(ValueError, match="computed, not moved"):
        Move(shape=[1], source=side("x", "float16", [1]), to=side("y", "bool", [1]))


def test_a_move_beyond_a_tensor_is_in_none() -> None:
    move = Move(shape=[2, 2], source=side("x", "float32", [2, 1]), to=side("y", "float32", [3, 1]))
    short = TensorSpec(name="y", dtype="float32", shape=(4,))
    spec = CaseSpec(inputs=case(move).inputs, outputs=(short,), scalars=())
    with pytest.raises(ValueError, match="in no tensor"):
        sizes_of(plan_of(move), spec)


def test_moves_of_two_shapes_are_two_codes_and_the_same_move_is_one() -> None:
    """The process that replays keeps code by its name, from case to case."""

    def codes(*sizes: int) -> list[str]:
        moves = [
            Move(shape=[n, 2], source=side("x", "float32", [1, n]), to=side("y", "float32", [2, 1]))
            for n in sizes
        ]
        return [
            one.code for one in as_launches(Plan(steps=[*moves], buffers={}, kernels=[])).launches
        ]

    short, long, again = codes(3, 4, 3)
    assert short != long
    assert short == again
