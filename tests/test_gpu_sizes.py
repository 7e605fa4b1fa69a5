"""The starter suite at GPU sizes: worth timing there, still drawn on a core, and else the same."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.factory.answers import ANSWERS
from kernelwright.data.factory.gpu_sizes import MOST_ELEMENTS, MOVED_BYTES
from kernelwright.data.factory.split import half_of, is_held_out
from kernelwright.data.suites.load import SuiteError, jobs_of, load_suite
from kernelwright.data.suites.starter import SPLITS, admitted
from kernelwright.data.triples.templates import triples_of
from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.reference.module import load_reference, shapes_of
from kernelwright.envs.reference.on_meta import shapes_on_meta
from kernelwright.envs.types import Case, Problem, Role, Task

ROWS = admitted("gpu")
PAIRS = [(usual, large) for (_, usual), (_, large) in zip(admitted(), ROWS, strict=True)]
PRODUCTS = [one for blueprint, one in ROWS if "K" in blueprint.sizes]
FLOPS = (2e9, 8e9)
"""30 to 120 us at 64 TFLOP/s; of a core's 40 GFLOP/s in float64 a fifth of a second at most."""
TRACE_BYTES = 1 << 30
"""A quarter of what a trace may map."""


@cache
def specs() -> dict[str, CaseSpec]:
    """By the problem's name: what each module takes and gives at the timed sizes."""
    return {one.name: shapes_on_meta(one).spec for _, one in ROWS}


def moved_bytes(spec: CaseSpec) -> int:
    return sum(one.size_bytes for one in spec.tensors)


def elements(spec: CaseSpec) -> list[int]:
    return [math.prod(one.shape) for one in spec.tensors]


def on_meta(problem: Problem, case: Case) -> CaseSpec:
    """What the module takes and gives in one case, run on tensors without values."""
    with torch.device("meta"):
        return load_reference(problem, replace(case, distribution="as_made")).spec()


def test_every_family_moves_enough_to_be_worth_timing_on_a_gpu_and_no_more_than_is_said() -> None:
    products = {one.name for one in PRODUCTS}
    for name, spec in specs().items():
        floats = all(one.dtype == "float32" for one in spec.outputs)
        least = 0 if name in products else MOVED_BYTES / (2 if floats else 4)
        assert least <= moved_bytes(spec) <= 1.02 * MOVED_BYTES, name


def test_products_have_enough_to_multiply() -> None:
    assert len(PRODUCTS) > 40
    for problem in PRODUCTS:
        sizes = dict(problem.timed_case().sizes)
        assert FLOPS[0] <= 2 * sizes["M"] * sizes["K"] * sizes["N"] <= FLOPS[1]


def test_a_core_draws_and_expects_no_more_than_is_said() -> None:
    for name, spec in specs().items():
        floats = all(one.dtype == "float32" for one in spec.outputs)
        most = MOST_ELEMENTS if floats else MOST_ELEMENTS // 2
        assert max(math.prod(one.shape) for one in spec.inputs) <= most, name
        written = [math.prod(one.shape) for one in spec.outputs if one.dtype == "float32"]
        assert sum(written) <= most, name


def test_every_index_fits_into_32_bits_and_every_grid_into_a_launch() -> None:
    for name, spec in specs().items():
        assert max(elements(spec)) < 2**31, name
        second = [one.shape[1] for one in spec.outputs if len(one.shape) > 2]
        assert all(one < 2**16 for one in second), name


def test_a_trace_has_room_for_two_of_each_tensor() -> None:
    assert max(2 * moved_bytes(spec) for spec in specs().values()) < TRACE_BYTES


@given(st.sampled_from(ROWS), st.integers(0, 5))
def test_modules_run_at_the_sizes_of_every_case(row: tuple[object, Problem], place: int) -> None:
    problem = row[1]
    case = problem.cases[place]
    assert elements(on_meta(problem, case))


def test_a_problem_differs_from_the_admitted_one_in_its_cases_only() -> None:
    for usual, large in PAIRS:
        assert replace(large, cases=usual.cases) == usual
        assert large.key != usual.key


def test_the_case_that_admission_tried_is_checked_still() -> None:
    for usual, large in PAIRS:
        tried = usual.timed_case()
        (kept,) = [one for one in large.cases if one.sizes == tried.sizes]
        assert (kept.distribution, kept.role) == (tried.distribution, Role.TRAIN)


def test_every_other_case_is_there_with_its_values_and_small_ones_with_their_sizes() -> None:
    for usual, large in PAIRS:
        for case in usual.cases:
            if case.role is not Role.TIME:
                (other,) = [one for one in large.cases if one.name == case.name]
                assert (other.distribution, other.role) == (case.distribution, case.role)
        assert {"small", "odd"} <= {one.name for one in {*usual.cases} & {*large.cases}}


@pytest.mark.parametrize("sizes", ["cpu", "gpu"])
def test_every_size_is_larger_than_the_timed_one_in_some_case(sizes: str) -> None:
    for _, problem in admitted(sizes):
        for name, timed in problem.timed_case().sizes:
            assert max(dict(one.sizes)[name] for one in problem.cases) > timed, problem.name


def test_no_case_is_square() -> None:
    for _, problem in ROWS:
        for case in problem.cases:
            sizes = [size for _, size in case.sizes]
            assert len(set(sizes)) == len(sizes)


@pytest.mark.parametrize("split", ["", *SPLITS])
def test_splits_are_the_same_families(split: str) -> None:
    spec = f"starter:{split}" if split else "starter"
    usual, large = load_suite(spec).problems, load_suite(f"{spec}?sizes=gpu").problems
    assert [one.name for one in usual] == [one.name for one in large]
    assert [one.code for one in usual] == [one.code for one in large]
    assert load_suite(f"{spec}?sizes=cpu").problems == usual


def test_no_kernel_depends_on_the_sizes() -> None:
    for dialect in ANSWERS:
        usual, large = (
            triples_of(spec, dialect) for spec in ("starter:sft", "starter:sft?sizes=gpu")
        )
        assert [one.source for one in usual] == [one.source for one in large]
        keys = {one.key for one in load_suite("starter:sft?sizes=gpu").problems}
        assert {one.problem.key for one in large} == keys


def test_each_problem_is_checked_with_its_operations_left_out() -> None:
    jobs = jobs_of(load_suite("starter:held_out?sizes=gpu"))
    assert all(codes for _, codes in jobs)
    for (_, codes), (_, usual) in zip(jobs, jobs_of(load_suite("starter:held_out")), strict=True):
        assert codes == usual


def test_a_prompt_says_the_sizes_that_are_timed() -> None:
    for _, problem in ROWS[::100]:
        first = shapes_on_meta(problem).spec.inputs[0]
        prompt = task_prompt(Task(problem=problem, dialect="cuda"))
        assert f"{first.name}{list(first.shape)}" in prompt


def test_shapes_without_values_are_those_with_values() -> None:
    for _, problem in admitted()[::30]:
        found, made = shapes_on_meta(problem), shapes_of(problem)
        unknown = replace(made.spec, fills=(None,) * len(made.spec.fills))
        assert found == replace(made, spec=unknown)


@pytest.mark.parametrize("query", ["sizes=large", "sizes=", "size=gpu", "sizes=gpu&sizes=cpu"])
def test_what_sizes_there_are_is_said(query: str) -> None:
    with pytest.raises(SuiteError, match=r"starter:rl\?.*: .*size"):
        load_suite(f"starter:rl?{query}")


def test_the_split_of_a_family_depends_on_nothing_but_its_name() -> None:
    held_out = {one.name for one in load_suite("starter:held_out?sizes=gpu").problems}
    assert held_out == {one.family for one, _ in ROWS if is_held_out(one)}
    sft = {one.name for one in load_suite("starter:sft?sizes=gpu").problems}
    assert sft == {one.family for one, _ in ROWS if not is_held_out(one) and half_of(one) == "sft"}
