"""Faults that compute the same because of what values are within, or how long rows are."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.data.graphs.expr import V, at, call, where
from kernelwright.data.graphs.mutants.maxima import NEAR, NOT_BELOW, SHORT
from kernelwright.data.graphs.mutants.mutant import LEAST, mutants_of
from kernelwright.data.graphs.mutants.of_text import UNSTABLE
from kernelwright.data.graphs.mutants.ranges import POSITIVE, range_of
from kernelwright.envs.types import Case
from tests.graph_examples import a_graph
from tests.test_data_mutants import ROWS, lowering, mutants

SIZES = ({"N": 64, "C": 512}, {"N": 8, "C": 16})


def of_kind(kind: str, *operators: str, sizes: Sequence[dict[str, int]] = SIZES) -> set[str]:
    """Why faults of a kind compute the same, in CUDA; "" where some do not."""
    kernel, lower = lowering(a_graph(ROWS, *operators), "cuda")
    cases = [Case(name=str(n), sizes=tuple(one.items())) for n, one in enumerate(sizes)]
    return {one.same for one in mutants_of(kernel, "cuda", lower, cases) if one.kind == kind}


def test_what_is_taken_off_before_exp_may_start_at_zero_where_no_value_is_far_below() -> None:
    def whys(*operators: str) -> dict[bool, set[str]]:
        """Why faults of the start, and others, compute the same."""
        every = [one for one in mutants(*operators) if one.kind == UNSTABLE]
        return {
            start: {one.same for one in every if bool(LEAST.search(one.place)) == start}
            for start in (True, False)
        }

    assert whys("softmax") == {True: {""}, False: {""}}
    assert whys("tanh", "softmax") == {True: {NEAR}, False: {""}}
    assert whys("log1p", "softmax") == {True: {NOT_BELOW}, False: {""}}


def test_half_a_warp_is_enough_for_short_rows() -> None:
    short = ({"N": 16, "C": 16}, {"N": 3, "C": 5})
    assert of_kind("wrong_shuffle", "l1_norm", sizes=short) == {SHORT}
    assert of_kind("wrong_shuffle", "l1_norm") == {""}
    assert of_kind("wrong_shuffle", "l1_norm", sizes=()) == {""}


def test_a_maximum_may_start_at_zero_where_the_step_after_it_makes_zero_of_all_below() -> None:
    def starts(*operators: str) -> set[str]:
        every = mutants(*operators)
        return {one.same for one in every if one.kind == "wrong_start" and LEAST.search(one.place)}

    assert starts("max", "relu6") == {NOT_BELOW}
    assert starts("max", "tanh") == starts("max") == {""}
    assert starts("max", "abs") == {""}


def test_a_branch_has_the_range_that_its_condition_leaves() -> None:
    softplus = where(V > 20.0, V, call("log1p", call("exp", V)))
    assert range_of(softplus, {}) == POSITIVE
    assert range_of(where(V < 0.0, -V, V), {}) == POSITIVE
    assert range_of(where(V > 3.0, V, 1.0), {"v": (0.0, 2.0)}) == (1.0, 1.0)
    assert range_of(where(at("t") > 3.0, V, 1.0), {"v": (0.0, 2.0)}) == (0.0, 2.0)
    dropped = [one for one in mutants("softplus", "elu") if one.kind == "dropped_step"]
    assert [bool(one.same) for one in dropped if one.place.startswith("nest 1, elu")] == [True]
    assert [bool(one.same) for one in dropped if "softplus" in one.place] == [False]
