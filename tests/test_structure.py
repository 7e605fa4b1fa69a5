"""What an argument means is found by its values; redrawn, it keeps what a kernel may rely on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.envs.reference.module import load_reference
from kernelwright.envs.reference.redraws import REDRAWS
from kernelwright.envs.reference.structure import Redrawn, other_numbers, redraws_of
from kernelwright.envs.types import Case, Problem

SEEDS = st.integers(0, 2**31)
COUNTS = st.integers(4, 40)


def names(value: Any, sizes: Collection[int] = (), **module: bool) -> tuple[str, ...]:
    uses = {"ordered": False, "unique": False} | module
    return redraws_of(value, value.clone(), sizes, **uses)


def redrawn(value: Any, seed: int, sizes: Collection[int] = (), name: str | None = None) -> Any:
    """By its freest redraw; it has the same shape and type, and is the same for the same seed."""
    how = Redrawn(((0, name or names(value, sizes)[0]),))
    (found,), (again,) = how.changed([value], seed), how.changed([value], seed)
    assert torch.equal(found, again)
    assert (found.shape, found.dtype) == (value.shape, value.dtype)
    assert found.is_contiguous()
    return found


def varies(value: Any, sizes: Collection[int] = ()) -> bool:
    return any(not torch.equal(redrawn(value, seed, sizes), value) for seed in range(8))


@settings(deadline=None, max_examples=30)
@given(COUNTS, SEEDS, st.sampled_from([torch.int64, torch.int32]), st.integers(0, 9))
def test_a_range_and_a_permutation_become_permutations_of_the_same_values(
    count: int, seed: int, dtype: torch.dtype, start: int
) -> None:
    rows = torch.arange(start, start + count, dtype=dtype).expand(3, count)
    for value in (rows, rows.flip(1), rows[0], rows.mT):
        found = redrawn(value, seed)
        dim = 0 if value is rows.mT or value.shape[0] == count else 1
        assert torch.equal(found.sort(dim).values, value.sort(dim).values)
        assert varies(value)


@settings(deadline=None, max_examples=30)
@given(COUNTS, st.integers(2, 9), SEEDS)
def test_offsets_keep_their_order_and_their_ends(count: int, bag: int, seed: int) -> None:
    whole = torch.arange(0, count * bag + 1, bag)
    assert varies(whole, {count * bag})
    for least, name in enumerate(names(whole, {count * bag})):
        found = redrawn(whole, seed, {count * bag}, name)
        assert (found[0], found[-1]) == (0, count * bag)
        assert (found.diff() >= least).all()
    for least, name in enumerate(names(whole[:-1], {count * bag})):
        starts = redrawn(whole[:-1], seed, {count * bag}, name)
        assert starts[0] == 0
        assert starts[-1] <= count * bag - least
        assert (starts.diff() >= least).all()


@settings(deadline=None, max_examples=30)
@given(COUNTS, st.integers(2, 9), SEEDS)
def test_segments_stay_sorted_and_none_is_empty(count: int, size: int, seed: int) -> None:
    ids = torch.arange(count).repeat_interleave(size)
    found = redrawn(ids, seed, {count}, "segments")
    assert (found.diff() >= 0).all()
    assert torch.equal(found.unique(), torch.arange(count))
    assert varies(ids)


@settings(deadline=None, max_examples=30)
@given(COUNTS, st.integers(2, 99), SEEDS)
def test_lengths_are_from_one_to_what_they_were(count: int, most: int, seed: int) -> None:
    lengths = torch.full((count,), most, dtype=torch.int32)
    for least, name in ((0, "lengths"), (1, "smaller")):
        found = redrawn(lengths, seed, {most}, name)
        assert found.min() >= least
        assert found.max() <= most
    assert varies(lengths, {most})


def test_none_one_and_all_are_among_the_lengths_and_no_sample_tells_that_some_are_less() -> None:
    lengths, offsets = torch.full((64,), 32), torch.arange(0, 65 * 4, 4)
    drawn = [redrawn(lengths, seed, {32}) for seed in range(20)]
    assert {0, 1, 31, 32} <= set(torch.cat(drawn).tolist())
    told_less = [bool(one[0] == 32 and one[-1] == 32 and (one < 32).any()) for one in drawn]
    assert sum(told_less) >= 4
    steps = torch.cat([redrawn(offsets, seed, {256}).diff() for seed in range(20)])
    assert {0, 1} <= set(steps.tolist())


@settings(deadline=None, max_examples=30)
@given(COUNTS, st.integers(2, 9), SEEDS)
def test_sizes_of_bags_keep_their_sum(count: int, size: int, seed: int) -> None:
    sizes = torch.full((count,), size)
    for least, name in ((0, "counts, some none"), (1, "counts")):
        found = redrawn(sizes, seed, {count * size}, name)
        assert found.min() >= least
        assert found.sum() == count * size
    assert varies(sizes, {count * size})


MASKS: dict[str, Callable[[int], Any]] = {
    "causal": lambda n: torch.ones(n, n, dtype=torch.bool).tril(),
    "hidden": lambda n: torch.ones(n, n, dtype=torch.bool).triu(1),
    "floats": lambda n: torch.ones(2, n, n).tril(),
    "integers": lambda n: torch.ones(n, n, dtype=torch.int64).tril(),
    "banded": lambda n: (torch.arange(n)[:, None] - torch.arange(n)).abs() < 2,
    "block": lambda n: torch.block_diag(torch.ones(n, n), torch.ones(n, n)),
    "keys": lambda n: torch.arange(n) < torch.tensor([[1], [n], [n // 2]]),
    "all set": lambda n: torch.ones(3, n, dtype=torch.bool),
    "none set": lambda n: torch.zeros(3, 1, 1, n, dtype=torch.bool),
    "a column": lambda n: torch.ones(3, n, 1, dtype=torch.bool),
}


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(MASKS)), COUNTS, SEEDS)
def test_a_row_of_a_mask_has_at_least_one_of_what_it_had(kind: str, count: int, seed: int) -> None:
    mask = MASKS[kind](count)
    rows, found = mask.bool(), redrawn(mask, seed).bool()
    dim = -2 if kind == "a column" else -1
    either = [
        found[rows.all(dim, True).expand_as(rows)],
        ~found[(~rows).all(dim, True).expand_as(rows)],
    ]
    assert all(len(one) == 0 or one.any() for one in either)
    if kind in ("causal", "banded", "floats", "hidden"):
        assert torch.equal(found.diagonal(0, -2, -1), rows.diagonal(0, -2, -1))
    if kind == "banded":
        assert torch.equal(found, found.mT)
    assert varies(mask)


@settings(deadline=None, max_examples=20)
@given(COUNTS, SEEDS)
def test_an_additive_mask_keeps_its_values_and_lets_every_row_see_something(
    count: int, seed: int
) -> None:
    mask = torch.zeros(count, count).masked_fill(torch.ones(count, count).triu(1) > 0, -torch.inf)
    slopes = mask - torch.arange(count)
    for value in (mask, slopes):
        found = redrawn(value, seed)
        assert (found.amax(-1) > -torch.inf).all()
        assert varies(value)
        assert any(not torch.equal(redrawn(value, n).isinf(), value.isinf()) for n in range(4))
    assert set(redrawn(mask, seed).unique().tolist()) <= {0.0, -torch.inf}


@settings(deadline=None, max_examples=20)
@given(COUNTS, SEEDS)
def test_one_hot_rows_and_permutation_matrices_stay_so(count: int, seed: int) -> None:
    hot = torch.nn.functional.one_hot(torch.arange(3 * count) % count)
    assert (redrawn(hot, seed).sum(-1) == 1).all()
    swap = torch.eye(count)[torch.arange(count - 1, -1, -1)]
    found = redrawn(swap, seed)
    assert (found.sum(0) == 1).all()
    assert (found.sum(1) == 1).all()
    assert varies(hot)
    assert varies(swap)


@settings(deadline=None, max_examples=20)
@given(SEEDS)
def test_indices_stay_in_their_range_and_coordinates_in_theirs(seed: int) -> None:
    ids = torch.tensor([[2, 7, 2, 5], [7, 2, 2, 2]])
    found = redrawn(ids, seed)
    assert found.min() >= 2
    assert found.max() <= 7
    pairs = torch.stack([torch.arange(20) % 5, torch.arange(20) % 7 + 3])
    found = redrawn(pairs, seed)
    assert torch.equal(found.amax(1), pairs.amax(1))
    assert torch.equal(found.amin(1), pairs.amin(1))
    assert len({*map(tuple, found.T.tolist())}) == len({*map(tuple, pairs.T.tolist())})
    assert varies(ids)
    assert varies(pairs)


def test_a_module_that_searches_has_sorted_values_and_one_that_writes_no_index_twice() -> None:
    assert "shuffled" not in names(torch.tensor([1, 4, 9, 20]), ordered=True)
    assert names(torch.arange(9), ordered=True) == ()
    assert names(torch.tensor([3, 3, 0, 1, 2]), unique=True) == ("shuffled",)
    found = redrawn(torch.tensor([1, 4, 9, 20]), 3, name="sorted")
    assert (found.diff() > 0).all()
    assert found.min() >= 1
    assert found.max() <= 20


def test_single_flags_and_numbers_are_both_and_any() -> None:
    flags = {bool(redrawn(torch.tensor(True), seed)) for seed in range(20)}
    assert flags == {True, False}
    numbers = {int(redrawn(torch.tensor([5]), seed)) for seed in range(60)}
    assert numbers == {1, 2, 3, 4, 5}


def test_what_varies_by_itself_or_has_no_room_is_left() -> None:
    assert redraws_of(torch.rand(9), torch.rand(9), (), ordered=False, unique=False) == ()
    two = torch.arange(9), torch.arange(9).flip(0)
    assert redraws_of(*two, (), ordered=False, unique=False) == ()
    assert names(torch.ones(9)) == ()  # every distribution draws it
    assert names(torch.empty(0)) == ()
    table = torch.linspace(0, 1, 9)
    found = redrawn(table, 1)
    assert (found.diff() >= 0).all()
    assert found[0] == 0
    assert not torch.equal(found, table)


@pytest.mark.parametrize("value", [True, False, 0, 1, 2, 7, 64, -1, -3, 0.0, 1.0, -0.5, 1e-5, 3.5])
def test_other_numbers_are_others_of_the_same_type(value: bool | int | float) -> None:
    for turn in range(5):
        found = other_numbers(value, turn)
        assert found
        assert value not in found
        assert {type(one) for one in found} == {type(value)}
    assert other_numbers(float("inf"), 0) == ()


def test_equal_values_of_a_table_stay_equal() -> None:
    half = torch.rand(6, 8).cos()
    for table in (torch.cat([half, half], dim=-1), torch.cat([half, half], dim=-1).bfloat16()):
        found = redrawn(table, 1)
        assert torch.equal(found[:, :8], found[:, 8:])
        assert not torch.equal(found, table)


def test_every_redraw_is_reached() -> None:
    kinds = [
        names(torch.arange(9)),
        names(torch.tensor([0, 4, 8]), {8}),
        names(torch.tensor([0, 4, 8]), {12}),
        names(torch.tensor([0, 0, 1])),
        names(torch.tensor([1, 4, 8])),
        names(torch.tensor([1, 0, 5, 1])),
        names(torch.stack([torch.arange(20) % 5] * 2)),
        names(torch.full((3,), 5), {15}),
        names(torch.eye(3)),
        names(torch.tensor([[0, 1], [0, 1]])),
        names(torch.tensor([True])),
        names(torch.linspace(0, 1, 5)),
    ]
    assert {name for one in kinds for name in one} == set(REDRAWS)


def test_a_problem_that_seeds_the_generator_itself_has_other_values_in_each_draw() -> None:
    code = (
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x * 2\ndef get_inputs():\n    torch.manual_seed(0)\n"
        "    return [torch.full((4, 8), 1.5)]\n"
    )
    only = Case(name="only", sizes=())
    reference = load_reference(Problem(name="seeded", code=code, cases=(only,)), only)
    one, other, again = (reference.draw(seed)[2][0] for seed in (5, 6, 5))
    assert bool((one != other).all())
    assert bool((one == again).all())
