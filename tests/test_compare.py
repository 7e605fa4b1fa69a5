"""The comparison: rounding passes, nothing else does, and no shape of the output hides an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.referee.bulk import BulkLimit, Level, Pool
from kernelwright.envs.referee.layout import POISON, output_file_bytes, read_outputs
from kernelwright.envs.referee.mismatch import first_wrong
from kernelwright.envs.referee.rounds import compare
from kernelwright.envs.referee.ties import Ranking, Ranks
from kernelwright.envs.referee.tolerance import (
    BASE,
    FLOOR,
    MUCH,
    SLICE,
    WIDEST,
    Array,
    Expected,
    derive_tolerances,
    deviation,
    overflowed,
    slices,
    spread_of,
)
from kernelwright.envs.types import CaseCheck, Tolerance

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FLOAT32 = Tolerance(relative=BASE["float32"], of_spread=BASE["float32"])
SHAPES = hnp.array_shapes(max_dims=3, max_side=8)
FINITE = hnp.arrays(np.float64, SHAPES, elements=st.floats(-1e6, 1e6))
REAL = st.floats(-1e100, 1e100) | st.sampled_from([np.nan, np.inf, -np.inf])
ANY = hnp.arrays(np.float64, SHAPES, elements=REAL)
TOLERANCES = st.sampled_from([FLOAT32, Tolerance(relative=0.03, of_spread=0.1)])
SEEDS = st.integers(0, 2**32 - 1)


def passes(actual: NDArray[Any], expected: Floats, tolerance: Tolerance = FLOAT32) -> bool:
    error, _ = Expected.of([expected], tolerance).error(actual)
    return error is not None and error <= 1


def standard_normal(seed: int, count: int = 1000) -> Floats:
    values: Floats = np.random.default_rng(seed).standard_normal(count)
    return values


@given(ANY, TOLERANCES)
def test_the_exact_answer_passes_without_error(expected: Floats, tolerance: Tolerance) -> None:
    assert Expected.of([expected], tolerance).error(expected.copy()) == (0, "")


@given(FINITE, TOLERANCES, st.sampled_from([np.nan, np.inf, -np.inf]), st.data())
def test_a_value_that_is_not_finite_never_passes_for_one_that_is(
    expected: Floats, tolerance: Tolerance, bad: float, data: st.DataObject
) -> None:
    actual = expected.copy()
    actual.flat[data.draw(st.integers(0, actual.size - 1))] = bad
    assert Expected.of([expected], tolerance).error(actual)[0] is None


@given(FINITE, st.sampled_from([np.nan, np.inf, -np.inf]), st.floats(), st.data())
def test_where_the_reference_is_not_finite_only_the_same_passes(
    values: Floats, wanted: float, given_value: float, data: st.DataObject
) -> None:
    expected, place = values.copy(), data.draw(st.integers(0, values.size - 1))
    expected.flat[place] = wanted
    actual = expected.copy()
    actual.flat[place] = given_value
    same = given_value == wanted or (np.isnan(given_value) and np.isnan(wanted))
    assert passes(actual, expected) == same


@given(SEEDS, st.floats(1e-3, 1.0))
def test_a_relative_error_of_a_thousandth_fails_for_float32(seed: int, error: float) -> None:
    expected = standard_normal(seed)
    assert not passes((expected * (1 + error)).astype(np.float32), expected)


@given(SEEDS)
def test_one_wrong_value_in_a_thousand_fails(seed: int) -> None:
    expected = standard_normal(seed)
    actual = expected.copy()
    actual[seed % actual.size] += 1e-3
    assert not passes(actual, expected)


@given(SEEDS)
def test_float32_rounding_passes_and_float16_rounding_does_not(seed: int) -> None:
    expected = standard_normal(seed)
    assert passes(expected.astype(np.float32), expected)
    assert not passes(expected.astype(np.float16), expected)


@given(SEEDS, st.floats(1.0, 1e3), st.floats(1e-6, 1e-3))
def test_a_nearly_constant_output_does_not_hide_a_shift(
    seed: int, level: float, wobble: float
) -> None:
    expected = level * (1 + wobble * standard_normal(seed))
    shifted = expected + level * 1e-3
    constant = np.full_like(expected, expected.mean())
    assert not passes(shifted, expected)
    if wobble > 10 * FLOAT32.relative:
        assert not passes(constant, expected)


@given(SEEDS, st.floats(1e-12, 1e-7))
def test_a_small_output_does_not_hide_zeros(seed: int, scale: float) -> None:
    expected = scale * standard_normal(seed)
    assert not passes(np.zeros_like(expected), expected)


@pytest.mark.parametrize("scale", [1e30, 1e160, 1e300])
def test_a_huge_output_does_not_hide_zeros(scale: float) -> None:
    expected = scale * standard_normal(0)
    assert passes(expected.copy(), expected)
    assert not passes(np.zeros_like(expected), expected)


@given(ANY)
def test_another_shape_never_passes(expected: Floats) -> None:
    error, note = Expected.of([expected], FLOAT32).error(expected.reshape(-1)[:-1])
    assert error is None
    assert "shape" in note


@given(SEEDS, st.floats(0, 1e-4))
def test_all_that_a_tolerance_is_derived_from_passes_under_it(seed: int, noise: float) -> None:
    exact = standard_normal(seed)
    rounded = exact + noise * standard_normal(seed + 1)
    both: list[list[Array]] = [[rounded], [exact.astype(np.float32)]]
    (tolerance,) = derive_tolerances(["float32"], [exact], both)
    assert passes(rounded, exact, tolerance)
    assert passes(exact.astype(np.float32), exact, tolerance)


@given(FINITE, st.sampled_from(list(BASE)), st.floats(0, 1e6))
def test_a_derived_tolerance_is_at_least_the_base_and_at_most_a_tenth_of_the_deviation(
    exact: Floats, dtype: str, shift: float
) -> None:
    (tolerance,) = derive_tolerances([dtype], [exact], [[exact + shift]])
    assert BASE[dtype] <= tolerance.relative <= MUCH * BASE[dtype]
    assert FLOOR[dtype] <= tolerance.of_spread < 1
    spread = tolerance.of_spread * spread_of(exact)
    assert spread <= max(FLOOR[dtype], WIDEST) * deviation(exact) * (1 + 1e-9)


INTEGERS = hnp.arrays(np.int64, SHAPES, elements=st.integers(-5, 5))


@given(INTEGERS, st.data())
def test_an_integer_output_matches_exactly_or_not_at_all(
    expected: Integers, data: st.DataObject
) -> None:
    changes = data.draw(hnp.arrays(np.int64, expected.shape, elements=st.integers(0, 1)))
    matched = Expected.of([expected], FLOAT32).error(expected + changes)[0] == 0
    assert matched == (not changes.any())


@given(INTEGERS, st.data())
def test_each_element_may_be_any_of_the_choices_at_its_place(
    first: Integers, data: st.DataObject
) -> None:
    second = first + 1
    picks = data.draw(hnp.arrays(np.bool_, first.shape))
    actual = np.where(picks, second, first)
    assert Expected.of([first, second], FLOAT32).error(actual) == (0, "")
    actual.flat[0] = first.flat[0] + 2
    assert Expected.of([first, second], FLOAT32).error(actual)[0] is None


def test_a_bool_is_the_byte_0_or_1_and_poison_is_neither() -> None:
    spec = CaseSpec(
        inputs=(), outputs=(TensorSpec(name="out", dtype="bool", shape=(2,)),), scalars=()
    )
    rest = bytes([POISON]) * (output_file_bytes(spec) - 2)
    expected = [np.array([True, False])]
    for first, right in ((1, True), (POISON, False), (2, False)):
        (actual,), spilled = read_outputs(bytes([first, 0]) + rest, spec)
        assert not spilled
        assert (Expected.of(expected, FLOAT32).error(actual)[0] == 0) == right


@pytest.mark.parametrize("dtype", ["int64", "int32", "bool"])
def test_an_integer_output_of_another_shape_never_matches(dtype: str) -> None:
    assert Expected.of([np.zeros(4, dtype)], FLOAT32).error(np.zeros(3, dtype))[0] is None


def test_a_single_number_is_measured_by_how_far_it_varies_and_not_only_by_itself() -> None:
    expected = np.array(1e-3)  # a sum of many terms that happened to cancel
    actual = expected + 1e-4
    assert not passes(actual, expected)
    error, _ = Expected.of([expected], FLOAT32, spread=70.0).error(actual)
    assert error is not None
    assert error <= 1
    wrong, _ = Expected.of([expected], FLOAT32, spread=70.0).error(np.array(0.5))
    assert wrong is not None
    assert wrong > 1


def test_what_is_too_large_for_a_type_is_expected_to_be_infinite() -> None:
    exact = np.array([65504.0, 65519.0, 65520.0, -1e9, np.nan])
    wanted = [65504.0, 65519.0, np.inf, -np.inf, np.nan]
    np.testing.assert_array_equal(overflowed(exact, np.dtype(np.float16)), wanted)
    np.testing.assert_array_equal(overflowed(exact, np.dtype(np.float32)), exact)


def two_outputs(first: list[float], second: list[int], spill: bytes = b"") -> bytes:
    """A file of outputs with these values, and bytes written behind the second."""
    file = bytearray([POISON]) * output_file_bytes(TWO)
    for start, array in ((0, np.array(first, np.float32)), (HALF, np.array(second, np.int32))):
        file[start : start + array.nbytes] = array.tobytes()
    file[HALF + 8 : HALF + 8 + len(spill)] = spill
    return bytes(file)


TWO = CaseSpec(
    inputs=(),
    outputs=(
        TensorSpec(name="a", dtype="float32", shape=(2,)),
        TensorSpec(name="b", dtype="int32", shape=(2,)),
    ),
    scalars=(),
)
HALF = output_file_bytes(TWO) // 2
WANTED = [
    Expected.of([np.array([1.0, -1.0])], FLOAT32),
    Expected.of([np.array([3, 4])], FLOAT32),
]


def test_a_case_passes_where_every_output_does_and_says_the_worst_error() -> None:
    found = compare("timed", two_outputs([1.0, -1.0 + 1e-7], [3, 4]), TWO, WANTED)
    assert found.passed
    assert found.error is not None
    assert 0 < found.error < 1


def test_a_case_fails_by_its_first_wrong_output_and_names_it() -> None:
    found = compare("timed", two_outputs([1.0, -1.1], [3, 5]), TWO, WANTED)
    assert (found.passed, found.note) == (
        False,
        "a: 50.0% of values are off, first at [1]: -1.1, expected -1, "
        "off by 0.1 where 4e-05 is allowed",
    )
    found = compare("timed", two_outputs([1.0, -1.0], [3, 5]), TWO, WANTED)
    assert (found.passed, found.error, found.note) == (
        False,
        None,
        "b: 50.0% of values are off, first at [1]: 5, expected 4",
    )


def test_indices_that_point_at_equal_values_pass_in_each_output_and_the_values_are_read_once() -> (
    None
):
    asked = []

    def rankings() -> list[Ranking]:
        asked.append("values")
        values, places = np.array([5.0, 2.0, 5.0]), np.array([0, 2])
        same: dict[str, Any] = {"beside": None, "dim": 0, "values": values, "places": places}
        same |= {"ranks": Ranks.SET, "relative": 0.0, "lost": np.zeros(3)}
        return [Ranking(output=number, **same) for number in (0, 1)]

    largest = TensorSpec(name="largest", dtype="int32", shape=(2,))
    again = TensorSpec(name="again", dtype="int32", shape=(2,))
    spec = CaseSpec(inputs=(), outputs=(largest, again), scalars=())
    wanted = [Expected.of([np.array([0, 2])], FLOAT32)] * 2

    def found(first: list[int], second: list[int]) -> CaseCheck:
        file = bytearray([POISON]) * output_file_bytes(spec)
        for start, places in ((0, first), (len(file) // 2, second)):
            file[start : start + 8] = np.array(places, np.int32).tobytes()
        return compare("timed", bytes(file), spec, wanted, rankings=rankings)

    assert found([0, 2], [0, 2]).passed
    assert asked == []
    assert found([2, 0], [2, 0]).passed
    assert asked == ["values"]
    assert not found([2, 0], [2, 1]).passed


def test_errors_within_every_limit_that_all_lie_to_one_side_fail_together() -> None:
    level = Level(0.05, 0.01)
    limit = BulkLimit.of("float32", level, level)
    wanted = [Expected.of([np.array([1.0, -1.0])], FLOAT32, limit=limit), WANTED[1]]
    pool, off = Pool(), 0.9 * FLOAT32.relative
    checks = [
        compare("timed", two_outputs([1.0 + off, -1.0 - off], [3, 4]), TWO, wanted, pool)
        for _ in range(9)
    ]
    assert not checks[-1].passed
    assert checks[-1].note.startswith("a: errors ")
    right = compare("timed", two_outputs([1.0, -1.0], [3, 4]), TWO, wanted)
    assert right.passed


def test_a_case_fails_where_anything_is_written_outside_the_outputs_right_or_not() -> None:
    found = compare("timed", two_outputs([1.0, -1.0], [3, 4], spill=b"x"), TWO, WANTED)
    assert (found.passed, found.note) == (False, "wrote outside its outputs")


def test_an_expectation_counts_the_bytes_it_holds() -> None:
    """What is allowed of a value is worked out where it is compared, and takes none."""
    assert [one.size_bytes for one in WANTED] == [16, 16]


@pytest.mark.parametrize("count", [0, 1, SLICE, SLICE + 1, 3 * SLICE])
@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_slices_are_the_whole_in_order(count: int, kind: str) -> None:
    both = (np.arange(count) % 2048).astype(kind), np.ones(count)
    parts = list(slices(*both))
    assert all(one.dtype == np.float64 and one.size <= SLICE for part in parts for one in part)
    for place, whole in enumerate(both):
        assert np.array_equal(np.concatenate([whole[:0], *(part[place] for part in parts)]), whole)


@pytest.mark.parametrize("value", [1.001, np.nan, np.inf])
@pytest.mark.parametrize("place", [0, SLICE - 1, SLICE, -1])
def test_one_wrong_value_is_found_in_whichever_slice_it_lies(value: float, place: int) -> None:
    exact = np.ones(2 * SLICE + 7)
    exact[::2] = -1
    actual = exact.copy()
    actual[place] *= value
    wanted = Expected.of([exact], FLOAT32)
    assert wanted.accepts(exact)
    assert not wanted.accepts(actual)
    assert wanted.wrong(actual).nonzero()[0].tolist() == [place % exact.size]


@given(ANY, REAL, TOLERANCES, st.data())
def test_a_wrong_value_is_named_with_what_it_is_and_what_it_should_be(
    exact: Floats, value: float, tolerance: Tolerance, data: st.DataObject
) -> None:
    wanted, actual = Expected.of([exact], tolerance), exact.copy()
    place = tuple(data.draw(st.integers(0, size - 1)) for size in exact.shape)
    actual[place] = value
    with np.errstate(over="ignore"):  # an error of more than any number times what is allowed
        error, _ = wanted.error(actual)
        said = first_wrong(actual, wanted)
    if error is not None and error <= 1:
        assert said == ""
    else:
        where = f"[{', '.join(map(str, place))}]"
        assert said.startswith(f"first at {where}: {value:.6g}, expected {exact[place]:.6g}")
        assert ("is allowed" in said) == np.isfinite([value, exact[place]]).all()


def test_of_a_single_number_and_of_whole_ones_the_first_wrong_is_named_too() -> None:
    one = Expected.of([np.array(2.0)], FLOAT32)
    assert first_wrong(np.array(3.0), one) == (
        "first: 3, expected 2, off by 1 where 4e-05 is allowed"
    )
    either = Expected.of([np.array([1, 2]), np.array([1, 3])], FLOAT32)
    assert first_wrong(np.array([1, 3]), either) == ""
    assert first_wrong(np.array([1, 4]), either) == "first at [1]: 4, expected 2"
    assert first_wrong(np.array([1, 2, 3]), either) == ""
