"""The linter of reasoning: what is true passes, what is false does not."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.graphs.build import Build, Recipe
from kernelwright.data.graphs.lint.formulas import FormulaError, formula, is_same_size
from kernelwright.data.graphs.lint.labels import alike, meanings
from kernelwright.data.graphs.lint.lint import LANGUAGES, findings
from kernelwright.data.graphs.problem import DIALECTS, example_of, problem_of
from kernelwright.data.graphs.sample import draw
from kernelwright.data.suites.row_folder import RowFolder
from kernelwright.data.triple import Triple
from kernelwright.envs.types import Dialect
from tests.falsehoods import falsehoods

EVERY = 7
"""Of falsehoods one in so many is tried."""
ENOUGH = 0.95
in_each_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def example(index: int, dialect: Dialect = "cpp") -> Triple:
    graph = draw(3, index)
    return example_of(graph, problem_of(graph, 3, index), dialect)


def found(one: Triple, reasoning: str) -> list[str]:
    return findings(reasoning, one.source, one.problem, one.dialect)


def test_the_code_of_every_dialect_is_understood() -> None:
    assert set(LANGUAGES) == set(DIALECTS)


@in_each_dialect
def test_the_reasoning_of_an_example_is_true(dialect: Dialect) -> None:
    """Every number and claim of it is found again in the code."""
    for index in range(200):
        one = example(index, dialect)
        assert not found(one, one.reasoning), (index, one.reasoning)


@in_each_dialect
def test_planted_falsehoods_are_found(dialect: Dialect) -> None:
    labels = {one: alike(one, dialect) for one in meanings(dialect)}
    every, caught = Counter[str](), Counter[str]()
    for index in range(40):
        one = example(index, dialect)
        for kind, text in list(falsehoods(one.reasoning, labels, str(index)))[
            index % EVERY :: EVERY
        ]:
            every[kind] += 1
            caught[kind] += bool(found(one, text))
    assert len(every) == 7
    assert all(caught[kind] >= ENOUGH * many for kind, many in every.items()), (every, caught)


@pytest.mark.parametrize(
    ("false", "why"),
    [
        ("It has 12345 steps.", "12345 has no source"),
        ("The array buffer_7 holds it.", "buffer_7 is not in the code"),
        ("Rows lie side by side.", "no form"),
        ("relu: v = std::tanh(v);", "the code has no"),
        ("Last: v = v / s;", "passes before"),
    ],
)
def test_what_has_no_source_is_told(false: str, why: str) -> None:
    one = example(16)
    assert any(why in said for said in found(one, f"{one.reasoning} {false}"))


def test_prose_whose_numbers_stand_in_the_code_is_let_be() -> None:
    one = example(16)
    assert not found(one, f"{one.reasoning} The slope 0.5 is the one that the module has.")


def test_the_code_is_read_not_the_graph() -> None:
    """The same text is false of another kernel of the same problem."""
    one = example(35)
    assert found(one, one.reasoning) == []
    other = one.source.replace("s += v;", "s += v * v;")
    assert findings(one.reasoning, other, one.problem, "cpp")


@in_each_dialect
def test_code_of_another_kind_is_not_understood(dialect: Dialect) -> None:
    one = example(6, dialect)
    assert "not understood" in findings(one.reasoning, "int x;", one.problem, dialect)[0]


@pytest.mark.parametrize(
    ("index", "dialect", "true", "false"),
    [
        (0, "cuda", "<<<pred_0, 256, 0", "<<<pred_0 / 2, 256, 0"),
        (0, "cuda", "s = block_sum(s);\n  w", "s = warp_sum(s);\n  w"),
        (0, "cuda", "part[threadIdx.x / 32] = v;\n  __syncthreads();", "part[0] = v;"),
        (1, "cuda", "}\n    __syncthreads();\n    for", "}\n    for"),
        (1, "cuda", "__shared__ float p[16][34], w[16][34];", "float p[16][34], w[16][34];"),
        (1, "cuda", "int column = z + kx;", "int column = z + kx - 1;"),
        (2, "cuda", "int i = blockIdx.x * blockDim.x", "int i = blockIdx.x * 2 * blockDim.x"),
        (11, "cuda", "q = blockIdx.x * 32", "q = blockIdx.x * 16"),
        (11, "cuda", "dim3(32, 32)", "dim3(32, 1)"),
        (15, "cuda", "part0[blockIdx.x] = s", "part0[0] = s"),
        (0, "triton", "v = v / count", "v = v / (count - 1)"),
        (0, "triton", "parts.numel()", "pred_1"),
        (1, "triton", "j * x_2 + k[:, None]", "k[:, None] * y_1 + j"),
        (1, "triton", "ix = z + kx", "ix = z * 2 + kx"),
        (2, "triton", "BLOCK=1024", "BLOCK=512"),
        (2, "triton", "mask = i < size", "mask = i < size - 1"),
        (3, "triton", "j = i % data_1", "j = i // data_1"),
        (11, "triton", "COLUMNS=32", "COLUMNS=16"),
        (11, "triton", "at = j * inner + q", "at = q * input_0 + j"),
        (15, "triton", "tl.program_id(0), s", "0, s"),
    ],
)
def test_a_text_is_false_of_code_that_has_another_schedule(
    index: int, dialect: Dialect, true: str, false: str
) -> None:
    one = example(index, dialect)
    assert true in one.source
    other = one.source.replace(true, false)
    assert findings(one.reasoning, other, one.problem, dialect)


def _why(build: Build) -> str:
    """Why the build drops this draw."""
    (drawn,), _ = build._examples([build._drawn(16)])
    return drawn.why


@in_each_dialect
def test_a_build_drops_a_row_whose_plan_is_false(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: Dialect
) -> None:
    build = Build(RowFolder(tmp_path), Recipe(seed=3, dialects=(dialect,)))
    assert not _why(build)

    def false(*given: Any) -> Triple:
        one = example_of(*given)
        return replace(one, reasoning=re.sub(r"0\.5(?=f? \*)", "0.7", one.reasoning))

    monkeypatch.setattr("kernelwright.data.graphs.build.example_of", false)
    build.seen.clear()
    assert _why(build).startswith("false plan: part 1: the code has no `v = ")


def test_formulas_are_equal_where_languages_differ() -> None:
    assert formula("fmaxf(v, 0.0f)") == formula("std::max(0.f, v)") == formula("tl.maximum(v, 0.0)")
    assert formula("v > 0.0f ? v : 0.1f * v").op == "where"
    assert formula("s[l][j] - 2") != formula("s[j][l] - 2")
    assert is_same_size(formula("(a * b)"), formula("b * a"))
    assert not is_same_size(formula("(a - 1) / 2 + 1"), formula("(a - 2) / 2 + 1"))
    for text in ("v +", "max(v", "a[1", "@"):
        with pytest.raises(FormulaError):
            formula(text)
