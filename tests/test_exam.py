"""The exam: many modules by hand, each unlike the others and unlike the starter suite's."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from kernelwright.data.graphs.operator_sequence import operators
from kernelwright.data.graphs.signature import signature
from kernelwright.data.suites.check import read_admissions
from kernelwright.data.suites.exam import ADMISSION_FILE, CATEGORIES, written
from kernelwright.data.suites.load import SuiteError, load_suite
from kernelwright.envs.reference.module import flatten, forward, load_reference
from kernelwright.envs.reference.module_facts import learn_shapes, timed_shapes
from kernelwright.envs.types import Problem

PROBLEMS = load_suite("exam").problems
LARGEST_OUTPUT = 1 << 20
ALIKE = {"activations/quick_gelu"}
"""x * sigmoid(1.702 * x) has the operators of silu(x * b), where `b` is an input."""


def test_the_exam_is_large_enough_to_tell_models_apart() -> None:
    assert len(PROBLEMS) >= 110


def test_every_category_has_enough_problems_and_is_a_suite_of_its_own() -> None:
    counts = Counter(one.category for one in PROBLEMS)
    assert len(counts) >= 12
    assert min(counts.values()) >= 6
    for category in CATEGORIES:
        assert len(load_suite(f"exam:{category}").problems) == counts[category]


def test_every_file_was_admitted() -> None:
    admissions = read_admissions(ADMISSION_FILE)
    assert admissions.keys() == {one.name for one in written()}
    assert not [name for name, one in admissions.items() if not one.admitted]


def test_names_are_unique_without_their_category() -> None:
    assert len({one.family for one in PROBLEMS}) == len(PROBLEMS)


def test_no_category_by_another_name() -> None:
    with pytest.raises(SuiteError, match="no suite 'exam:nonsense'"):
        load_suite("exam:nonsense")


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda one: one.name)
def test_every_case_gives_one_tensor_of_numbers(problem: Problem) -> None:
    for case in problem.cases:
        (output,) = flatten(forward(*load_reference(problem, case).draw(1)))
        assert 0 < output.numel() < LARGEST_OUTPUT
        assert torch.isfinite(output).all(), case.name


def test_no_two_problems_have_the_same_operators() -> None:
    learn_shapes(PROBLEMS)
    counts = Counter(map(signature, PROBLEMS))
    assert not [one for one, count in counts.items() if count > 1]


def test_no_problem_has_the_operators_of_one_of_the_starter_suite() -> None:
    starter = load_suite("starter").problems
    known = {operators(one.code): one.name for one in starter}
    twins = {one.name: known.get(operators(one.code)) for one in PROBLEMS}
    assert {name for name, twin in twins.items() if twin} <= ALIKE


def test_ranks_and_numbers_of_inputs_vary() -> None:
    learn_shapes(PROBLEMS)
    inputs = [timed_shapes(one).spec.inputs for one in PROBLEMS]
    assert {len(one[0].shape) for one in inputs} == {1, 2, 3, 4, 5}
    assert {len(one) for one in inputs} >= {1, 2, 3, 4}
