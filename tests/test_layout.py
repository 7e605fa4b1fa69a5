"""Where tensors lie in a shared file: apart from each other, and alike on the three sides."""

from __future__ import annotations

import ctypes
import json
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.abi import ITEM_BYTES, CaseSpec, TensorSpec
from kernelwright.envs.referee.layout import (
    ALIGNMENT_BYTES,
    BRAIN,
    GUARD_BYTES,
    NUMPY_TYPES,
    input_places,
    native_layout,
    offsets,
    output_file_bytes,
    poisoned,
    python_layout,
    read_outputs,
)
from kernelwright.envs.sandbox.toolchain import NATIVE, compiler_path

READS = """
#include "player.h"
extern "C" void understood(const char* bytes, int64_t* counts, int64_t* words, double* scalars) {
  const Layout found = read_layout(bytes);
  for (const auto* part : {&found.input_offsets, &found.output_offsets, &found.sizes}) {
    *counts++ = part->size();
    for (int64_t one : *part) *words++ = one;
  }
  *counts = found.scalars.size();
  for (double one : found.scalars) *scalars++ = one;
}
"""
"""What native/player.h makes of a layout."""

DTYPES = sorted(set(ITEM_BYTES) & set(NUMPY_TYPES))


def tensors(name: str, least: int, most: int) -> st.SearchStrategy[tuple[TensorSpec, ...]]:
    shapes = st.lists(st.integers(0, 5), max_size=3).map(tuple)
    kinds = st.lists(st.tuples(st.sampled_from(DTYPES), shapes), min_size=least, max_size=most)
    return kinds.map(
        lambda found: tuple(
            TensorSpec(name=f"{name}{number}", dtype=dtype, shape=shape)
            for number, (dtype, shape) in enumerate(found)
        )
    )


@st.composite
def specs(draw: st.DrawFn) -> CaseSpec:
    inputs, outputs = draw(tensors("x", 0, 4)), draw(tensors("out", 1, 3))
    values = draw(st.lists(st.floats(allow_nan=False) | st.integers(-9, 9) | st.booleans()))
    scalars = tuple((f"s{number}", value) for number, value in enumerate(values))
    arguments = draw(st.permutations([one.name for one in inputs] + [name for name, _ in scalars]))
    return CaseSpec(inputs=inputs, outputs=outputs, scalars=scalars, arguments=tuple(arguments))


@given(tensors("x", 1, 6), st.sampled_from([0, 1, GUARD_BYTES]))
def test_tensors_lie_in_order_aligned_and_apart_by_their_guards(
    given_tensors: tuple[TensorSpec, ...], guard_bytes: int
) -> None:
    places, total = offsets(given_tensors, guard_bytes)
    assert total > 0
    for tensor, start, end in zip(given_tensors, places, [*places[1:], total], strict=True):
        assert start % ALIGNMENT_BYTES == 0
        assert end - start >= tensor.size_bytes + guard_bytes


def test_an_input_that_is_a_view_lies_behind_the_dense_ones_and_its_dense_copy_among_them() -> None:
    view = TensorSpec(name="x0", dtype="float32", shape=(4, 3), strides=(1, 8), first=2)
    dense = TensorSpec(name="x1", dtype="float32", shape=(5,))
    spec = CaseSpec(inputs=(view, dense), outputs=(dense,), scalars=())
    (place, beside), total = input_places(spec)
    assert beside >= 4 * 4 * 3
    assert place >= beside + dense.size_bytes
    assert total >= place + view.size_bytes


@pytest.fixture(scope="module")
def in_cpp(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("layout")
    (folder / "reads.cpp").write_text(READS)
    command = [compiler_path(), "-std=c++20", "-shared", "-fPIC", f"-I{NATIVE}", "-o", "reads.so"]
    subprocess.run([*command, "reads.cpp"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "reads.so"))


@pytest.mark.sandbox
@given(specs())
def test_cpp_reads_the_layout_that_python_wrote(in_cpp: ctypes.CDLL, spec: CaseSpec) -> None:
    wrote = native_layout(spec)
    counts, words = (ctypes.c_int64 * 4)(), (ctypes.c_int64 * (len(wrote) // 8))()
    scalars = (ctypes.c_double * (len(spec.scalars) + 1))()
    in_cpp.understood(ctypes.create_string_buffer(wrote), counts, words, scalars)
    inputs, outputs = input_places(spec)[0], offsets(spec.outputs, GUARD_BYTES)[0]
    assert list(counts) == [len(inputs), len(outputs), len(spec.sizes), len(spec.scalars)]
    assert words[: sum(counts[:3])] == [*inputs, *outputs, *spec.sizes]
    assert scalars[: len(spec.scalars)] == [float(value) for _, value in spec.scalars]


@given(specs())
def test_the_layout_for_python_names_every_argument_once_and_says_the_same_places(
    spec: CaseSpec,
) -> None:
    plain = json.loads(python_layout(spec))
    assert [one["offset"] for one in plain["inputs"]] == input_places(spec)[0]
    assert [one["offset"] for one in plain["outputs"]] == offsets(spec.outputs, GUARD_BYTES)[0]
    kinds = [(one["dtype"], tuple(one["shape"])) for one in plain["inputs"] + plain["outputs"]]
    assert kinds == [(one.dtype, one.shape) for one in spec.tensors]
    scalars = dict(spec.scalars)
    for name, argument in zip(spec.arguments, plain["arguments"], strict=True):
        assert argument == ({"value": scalars[name]} if name in scalars else {"name": name})
    assert plain["names"] == [one.name for one in spec.inputs]


def test_a_call_is_told_with_its_groups_its_keywords_and_the_values_of_its_numbers() -> None:
    x = {"name": "x"}
    nest = {
        "arguments": [{"list": [x, {"name": "k"}]}, {"tuple": [x]}, {"dict": {"a": {"name": "k"}}}],
        "keywords": {"mask": x, "eps": {"name": "k"}},
    }
    tensor = TensorSpec(name="x", dtype="float32", shape=(2,))
    spec = CaseSpec(inputs=(tensor,), outputs=(tensor,), scalars=(("k", 3),), nest=json.dumps(nest))
    plain = json.loads(python_layout(spec))
    three = {"value": 3}
    assert plain["arguments"] == [{"list": [x, three]}, {"tuple": [x]}, {"dict": {"a": three}}]
    assert plain["keywords"] == {"mask": x, "eps": three}


@given(specs(), st.data())
def test_outputs_are_read_as_they_were_written_and_a_byte_outside_them_is_a_spill(
    spec: CaseSpec, data: st.DataObject
) -> None:
    file = bytearray(b"".join(poisoned(spec)))
    assert len(file) == output_file_bytes(spec)
    places = offsets(spec.outputs, GUARD_BYTES)[0]
    ours: set[int] = set()
    for tensor, start in zip(spec.outputs, places, strict=True):
        file[start : start + tensor.size_bytes] = data.draw(
            st.binary(min_size=tensor.size_bytes, max_size=tensor.size_bytes)
        )
        ours |= set(range(start, start + tensor.size_bytes))
    arrays, spilled = read_outputs(bytes(file), spec)
    assert not spilled
    for tensor, array, start in zip(spec.outputs, arrays, places, strict=True):
        assert array.shape == tensor.shape
        written = bytes(file[start : start + tensor.size_bytes])
        if tensor.dtype == BRAIN:  # the upper half of a float32
            assert (
                array.view(np.uint32).tobytes()
                == (np.frombuffer(written, np.uint16).astype(np.uint32) << 16).tobytes()
            )
            continue
        assert array.tobytes() == written
        assert array.dtype == np.dtype("uint8" if tensor.dtype == "bool" else tensor.dtype)
    at = data.draw(st.sampled_from(sorted(set(range(len(file))) - ours)))
    file[at] ^= 1
    assert read_outputs(bytes(file), spec)[1]
