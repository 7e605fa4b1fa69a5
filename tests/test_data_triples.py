"""Triples: of training problems only, with the exact signature, and right when they run."""

from __future__ import annotations

import ctypes
import math
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.factory.answers import ANSWERS
from kernelwright.data.gallery.exhibits import MISSING
from kernelwright.data.suites.load import load_suite
from kernelwright.data.suites.starter import in_split
from kernelwright.data.triple import Triple
from kernelwright.data.triples.templates import apportion, balanced, template_triples
from kernelwright.envs.abi import C_ABI, signature
from kernelwright.envs.answer import extract
from kernelwright.envs.dialects import DIALECTS, cpp
from kernelwright.envs.dialects.cuda import ABI as CUDA_ABI
from kernelwright.envs.judge import Judge
from kernelwright.envs.referee.tolerance import Expected
from kernelwright.envs.reference.derive_tolerance import rounding_tolerances
from kernelwright.envs.reference.module import (
    Reference,
    flatten,
    forward_float64,
    load_reference,
)
from kernelwright.envs.reference.runs import Run
from kernelwright.envs.types import Case, Tolerance, Verdict

pytestmark = pytest.mark.sandbox

TRIPLES = template_triples()
TAUGHT = {dialect: template_triples(dialect=dialect) for dialect in ANSWERS}
EVERY = [triple for triples in TAUGHT.values() for triple in triples]
C_TYPES: dict[type, Callable[[Any], Any]] = {
    float: ctypes.c_double,
    int: ctypes.c_int64,
    bool: ctypes.c_bool,
}
FLAGS = (*cpp.FLAGS, "-march=native")


def sample() -> list[Triple]:
    """The two kernels of the first, a middle and the last problem of each category."""
    chosen: list[Triple] = []
    for category in sorted({triple.problem.category for triple in TRIPLES}):
        own = [triple for triple in TRIPLES if triple.problem.category == category]
        keys = list(dict.fromkeys(triple.problem.key for triple in own))
        wanted = {keys[0], keys[len(keys) // 2], keys[-1]}
        chosen += [triple for triple in own if triple.problem.key in wanted]
    return chosen


def built(triple: Triple, folder: Path) -> Any:
    """The kernel, loaded into this process: these sources are ours."""
    source, library = folder / "kernel.cpp", folder / "kernel.so"
    source.write_text(f"#include <stdint.h>\n{triple.source}")
    subprocess.run(["g++", *FLAGS, "-o", str(library), str(source)], check=True)
    return ctypes.CDLL(str(library)).kernel


def passes(kernel: Any, reference: Reference, allowed: list[Tolerance]) -> bool:
    spec = reference.spec()
    model, state, arguments = reference.draw(7)
    tensors = [one.numpy() for one in arguments if hasattr(one, "numpy")]
    tensors += [one.numpy() for one in state.values()]
    outputs = [np.full(one.shape, 1, dtype=one.dtype) for one in spec.outputs]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*tensors, *outputs)]
    scalars = [C_TYPES[type(value)](value) for _, value in spec.scalars]
    kernel(*pointers, *(ctypes.c_int64(size) for size in spec.sizes), *scalars)
    expected = [one.numpy() for one in flatten(forward_float64(model, state, arguments))]
    each = zip(outputs, expected, allowed, strict=True)
    return all(Expected.of([exact], tolerance).accepts(got) for got, exact, tolerance in each)


def test_there_are_enough_for_a_cold_start() -> None:
    assert len(TRIPLES) >= 300


def test_dialects_that_say_so_have_triples_and_no_others() -> None:
    assert {name for name, one in DIALECTS.items() if one.has_triples} == ANSWERS.keys()
    assert template_triples(dialect="inline") == []


def test_triples_are_of_training_problems_only_and_of_all_of_them() -> None:
    train = {problem.key for problem in load_suite("starter:train").problems}
    for triples in TAUGHT.values():
        assert {triple.problem.key for triple in triples} == train


def test_no_completion_is_there_twice() -> None:
    assert len({(one.problem.key, one.source) for one in EVERY}) == len(EVERY)


def test_extracting_a_completion_gives_its_source_back() -> None:
    for triple in EVERY:
        assert extract(triple.completion(), triple.dialect) == triple.source


def test_a_completion_is_the_reasoning_then_one_block_and_nothing_else() -> None:
    for triple in EVERY:
        completion = triple.completion()
        mark = DIALECTS[triple.dialect].mark
        assert completion == f"{triple.reasoning}\n\n```{mark}\n{triple.source}```"
        assert completion.count("```") == 2


def test_reasoning_is_short() -> None:
    assert all(12 <= len(triple.reasoning.split()) <= 60 for triple in EVERY)


def test_every_number_in_a_reasoning_is_in_its_code() -> None:
    for triple in EVERY:
        plan = re.sub(r"dim=\d", "", triple.reasoning)
        numbers = set(re.findall(r"(?<![\w.])\d[\d.e-]*f?", plan))
        assert numbers <= set(re.findall(r"(?<![\w.])\d[\d.e-]*f?", triple.source)), plan


def test_every_operator_of_a_reasoning_is_a_line_of_its_code() -> None:
    """The statements that begin with `v = ` and go on from `v`."""
    for triple in EVERY:
        statements = re.findall(r"v = (?=[^;]*\bv\b)[^;]*", triple.reasoning)
        softmax = "v = std::exp(v - m)"
        assert not [one for one in statements if one not in triple.source and one != softmax]


def test_every_statement_of_a_plan_for_a_gpu_is_a_line_of_its_code() -> None:
    """But for `v = x`, `out = …` without an index, and the words for a maximum."""
    for triple in [*TAUGHT["cuda"], *TAUGHT["triton"]]:
        plan = triple.reasoning.removeprefix("Plan: ").removesuffix(";")
        plan = plan.partition(". ")[2] if triple.dialect == "triton" else plan.rpartition("; ")[0]
        pieces = [re.sub(r"^[\w =]+?: ", "", piece) for piece in plan.split("; ")]
        said = [
            one for one in pieces if not re.match(r"v = x$|out\d? = |max m$|if \(v > s\)|best", one)
        ]
        assert not [one for one in said if one not in triple.source], triple.reasoning


def test_a_signature_is_the_one_that_the_prompt_prints() -> None:
    for triple in [one for one in TRIPLES if one.variant == 0][::4]:
        spec = load_reference(triple.problem, triple.problem.cases[0]).spec()
        assert f"{signature(spec, C_ABI)} {{" in triple.source
        cuda = next(one for one in TAUGHT["cuda"] if one.problem.key == triple.problem.key)
        assert f"{signature(spec, CUDA_ABI)} {{" in cuda.source


@pytest.mark.parametrize("triple", sample(), ids=lambda one: one.problem.name)
def test_a_kernel_has_the_exact_signature_and_is_right_on_every_case(
    triple: Triple, tmp_path: Path
) -> None:
    problem = triple.problem
    references = [load_reference(problem, case) for case in problem.cases]
    line = signature(references[0].spec(), C_ABI)
    assert f"{line} {{" in triple.source
    kernel = built(triple, tmp_path)
    allowed = rounding_tolerances(problem, Run(references[0].draw(1)))
    failed: list[Case] = [one.case for one in references if not passes(kernel, one, allowed)]
    assert not failed


def walks(dialect: str) -> list[Triple]:
    """A triple of each category and kind of walk."""
    kinds = {
        problem.key: (blueprint.category, type(blueprint.walk))
        for blueprint, problem in in_split("train")
    }
    return list({kinds[one.problem.key]: one for one in TAUGHT[dialect]}.values())


@pytest.mark.parametrize("dialect", ["cuda", "triton"])
@pytest.mark.slow
def test_a_kernel_for_a_gpu_is_right_by_the_judge(dialect: str) -> None:
    triples = walks(dialect)
    with Judge() as judge:
        found = judge.evaluate_many([(one.problem, one.candidate) for one in triples], timed=False)
    if {one.reason for one in found} & set(MISSING):
        pytest.skip("its compiler is not here")
    said = {
        one.problem.name: (one_said.verdict, one_said.reason)
        for one, one_said in zip(triples, found, strict=True)
    }
    assert {name: why for name, why in said.items() if why != (Verdict.CORRECT, "ok")} == {}


# Rows of SFT, balanced over patterns


PATTERNS = st.lists(st.integers(0, 5), min_size=1, max_size=60)


def pattern_of(row: tuple[int, int]) -> str:
    return str(row[0])


@given(PATTERNS, st.floats(0, 1))
def test_balance_changes_how_often_rows_come_and_not_how_many(
    patterns: list[int], exponent: float
) -> None:
    rows = [(pattern, place) for place, pattern in enumerate(patterns)]
    found = balanced(rows, pattern_of, exponent)
    assert len(found) == len(rows)
    assert set(found) <= set(rows)
    repeats = Counter(found)
    for pattern in set(patterns):
        counts = [repeats[row] for row in rows if row[0] == pattern]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] - counts[-1] <= 1


@given(PATTERNS)
def test_balance_1_shows_every_row_once(patterns: list[int]) -> None:
    rows = [(pattern, place) for place, pattern in enumerate(patterns)]
    assert Counter(balanced(rows, pattern_of, 1.0)) == Counter(rows)


@given(PATTERNS, st.floats(0, 1))
def test_a_commoner_pattern_never_gets_fewer_rows_nor_more_than_it_had(
    patterns: list[int], exponent: float
) -> None:
    rows = [(pattern, place) for place, pattern in enumerate(patterns)]
    had = Counter(patterns)
    got = Counter(pattern for pattern, _ in balanced(rows, pattern_of, exponent))
    ordered = sorted(had, key=lambda one: had[one])
    for rarer, commoner in pairwise(ordered):
        assert got[rarer] <= got[commoner] + 1
    assert got[ordered[-1]] <= had[ordered[-1]] + 1
    assert got[ordered[0]] >= had[ordered[0]] - 1


@given(
    st.dictionaries(st.text(), st.floats(1e-3, 1e3), min_size=1, max_size=20), st.integers(0, 500)
)
def test_shares_are_whole_sum_up_and_are_less_than_one_off(
    weights: dict[str, float], seats: int
) -> None:
    shares = apportion(weights, seats)
    assert shares.total() == seats
    for name, weight in weights.items():
        assert abs(shares[name] - seats * weight / math.fsum(weights.values())) < 1 + 1e-6


def test_patterns_are_compositions_without_their_pointwise_operator() -> None:
    patterns = {one.problem.family: one.pattern for one in TRIPLES}
    assert patterns["weights_linear_abs"] == patterns["weights_linear_clamp"] == "weights_linear"
    assert patterns["matmul_relu_mul_b"] == "matmul_mul_b"
    assert all(patterns.values())
