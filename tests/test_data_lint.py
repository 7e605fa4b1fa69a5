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
from kernelwright.data.graphs.phrases import PHRASES, phrased, plain
from kernelwright.data.graphs.problem import DIALECTS, example_of, problem_of
from kernelwright.data.graphs.sample import draw
from kernelwright.data.suites.row_folder import RowFolder
from kernelwright.data.triple import Triple
from kernelwright.envs.types import Dialect
from tests.falsehoods import falsehoods
from tests.graph_examples import example_with

EVERY = 7
"""Of falsehoods one in so many is tried."""
ENOUGH = 0.95
in_each_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def example(index: int, dialect: Dialect = "cpp") -> Triple:
    graph = draw(3, index)
    return example_of(graph, problem_of(graph, 3, index), dialect)


def found(one: Triple, reasoning: str, *, is_free: bool = False) -> list[str]:
    return findings(reasoning, one.source, one.problem, one.dialect, is_free=is_free)


def test_the_code_of_every_dialect_is_understood() -> None:
    assert set(LANGUAGES) == set(DIALECTS)


@in_each_dialect
def test_the_reasoning_of_an_example_is_true(dialect: Dialect) -> None:
    """Every number and claim of it is found again in the code."""
    for index in range(200):
        one = example(index, dialect)
        assert not found(one, one.reasoning), (index, one.reasoning)


@in_each_dialect
def test_every_phrasing_says_the_same(dialect: Dialect) -> None:
    """Each form of each sentence is used, and is brought back to the plan's own."""
    shown = Counter[int]()
    for index in range(60):
        said = plain(example(index, dialect).reasoning)
        assert plain(said) == said
        texts = {phrased(said, str(key)) for key in range(8)}
        assert {plain(one) for one in texts} == {said}
        shown[len(texts)] += 1
    assert shown[1] < 5
    assert max(shown) > 5


def test_a_draw_has_the_same_phrasing_again_and_others_have_other_ones() -> None:
    texts = [example(index, "triton").reasoning for index in range(40)]
    assert texts == [example(index, "triton").reasoning for index in range(40)]
    forms = {form for own, *others in PHRASES for form in others if "{" not in form}
    assert {form for form in forms if any(form in one for one in texts)} >= {"Finally:"}
    assert sum(one != plain(one) for one in texts) in range(20, 40)


@in_each_dialect
def test_planted_falsehoods_are_found(dialect: Dialect) -> None:
    labels = {one: alike(one, dialect) for one in meanings(dialect)}
    every, caught = Counter[str](), Counter[str]()
    for index in range(40):
        one = example(index, dialect)
        true = plain(one.reasoning) if index % 2 else one.reasoning
        for kind, text in list(falsehoods(true, labels, str(index)))[index % EVERY :: EVERY]:
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
    one = example_with("0.5f", "cpp", (64, 128), "relu", "celu")
    assert any(why in said for said in found(one, f"{one.reasoning} {false}", is_free=True))


@pytest.mark.parametrize(
    "false",
    [
        "This runs on tensor cores.",
        "Sums are kept in double precision.",
        "It is slower than PyTorch.",
        "The result is not written back.",
        "It sorts its input.",
        "The variance comes by Welford.",
        "An online softmax does it.",
        "What is found is added atomically.",
        "The inner loop is vectorised.",
    ],
)
def test_a_claim_in_words_is_refused_in_a_free_text_too(false: str) -> None:
    for dialect in DIALECTS:
        one = example(3, dialect)
        for text in (f"{one.reasoning} {false}", f"Plan: {false} {plain(one.reasoning)[6:]}"):
            assert found(one, text), text
            assert found(one, text, is_free=True), text


@in_each_dialect
def test_a_plan_has_no_sentence_of_an_unknown_form(dialect: Dialect) -> None:
    """Even one with nothing in it that a free text is searched for."""
    for index in range(20):
        one = example(index, dialect)
        text = f"{one.reasoning} The moon follows the module."
        assert any("has no form" in why for why in found(one, text)), text
        assert not found(one, text, is_free=True)


def test_free_prose_whose_numbers_stand_in_the_code_is_let_be() -> None:
    one = example_with("0.5f", "cpp", (64, 128), "leaky_relu", "gelu")
    text = f"{one.reasoning} The factor 0.5 is the one that the module has."
    assert not found(one, text, is_free=True)
    assert found(one, text)


def test_the_code_is_read_not_the_graph() -> None:
    """The same text is false of another kernel of the same problem."""
    one = example_with("s += v;", "cpp", (64, 128), "sum")
    assert found(one, one.reasoning) == []
    other = one.source.replace("s += v;", "s += v * v;")
    assert findings(one.reasoning, other, one.problem, "cpp")


@in_each_dialect
def test_code_of_another_kind_is_not_understood(dialect: Dialect) -> None:
    one = example(6, dialect)
    assert "not understood" in findings(one.reasoning, "int x;", one.problem, dialect)[0]


LONG, ROWS, IMAGE, VOLUME = (1 << 20,), (512, 2048), (4, 16, 32, 32), (2, 8, 12, 12, 16)
COLUMNS, FEW, QUERIES = (8, 512, 64), (4, 16, 96), (2, 4, 64, 32)


@pytest.mark.parametrize(
    ("operators", "sizes", "dialect", "true", "false"),
    [
        ("kl_div", ROWS, "cuda", "<<<x_0, 256, 0", "<<<x_0 / 2, 256, 0"),
        ("kl_div", ROWS, "cuda", "s = block_sum(s);\n  w", "s = warp_sum(s);\n  w"),
        ("kl_div", ROWS, "cuda", "part[threadIdx.x / 32] = v;\n  __syncthreads();", "part[0] = v;"),
        ("matmul", ROWS, "cuda", "}\n    __syncthreads();\n    for", "}\n    for"),
        ("matmul", ROWS, "cuda", "__shared__ float p[", "float p["),
        ("conv", IMAGE, "cuda", "int column = z + kx;", "int column = z + kx - 1;"),
        ("relu tanh", ROWS, "cuda", "int i = blockIdx.x *", "int i = blockIdx.x * 2 *"),
        ("sum", COLUMNS, "cuda", "q = blockIdx.y * 32", "q = blockIdx.y * 16"),
        ("sum", COLUMNS, "cuda", "dim3(32, 32)", "dim3(32, 1)"),
        ("sum", LONG, "cuda", "part0[blockIdx.x] = s", "part0[0] = s"),
        ("conv3d", VOLUME, "cuda", "int layer = d + kd", "int layer = d + kd + 1"),
        ("conv_transpose2d", IMAGE, "cuda", "column /= 2;", "column /= 3;"),
        ("conv_transpose2d", IMAGE, "cuda", "column % 2", "column % 3"),
        ("group_conv", IMAGE, "cuda", "int each = channels / ", "int each = 2 * channels / "),
        ("flip", FEW, "cuda", "int z = i % x_2", "int z = i % x_1"),
        ("permute", FEW, "cuda", "float v = x[(", "float v = x[1 + ("),
        ("embedding", ROWS, "cuda", "rest = i / ", "rest = 1 + i / "),
        ("causal_attention", QUERIES, "cuda", "int end = i + 1", "int end = many"),
        ("attention", QUERIES, "cuda", "s = block_sum(s)", "s = warp_sum(s)"),
        ("attention", QUERIES, "cuda", "lane = threadIdx.x % 32", "lane = threadIdx.x % 16"),
        ("kl_div", ROWS, "triton", "v = v / count", "v = v / (count - 1)"),
        ("kl_div", ROWS, "triton", "parts.numel()", "x_1"),
        ("matmul", ROWS, "triton", "k[:, None] * y_1 + j", "j * x_1 + k[:, None]"),
        ("conv", IMAGE, "triton", "ix = z + kx", "ix = z * 2 + kx"),
        ("relu tanh", ROWS, "triton", "BLOCK=1024", "BLOCK=512"),
        ("relu tanh", ROWS, "triton", "mask = i < size", "mask = i < size - 1"),
        ("batch_norm", COLUMNS, "triton", "j = i // x_2 % x_1", "j = i % x_1"),
        ("sum", COLUMNS, "triton", "COLUMNS=32", "COLUMNS=16"),
        ("sum", COLUMNS, "triton", "* x_2 + q", "* x_1 + q"),
        ("sum", LONG, "triton", "tl.program_id(0), s", "0, s"),
        ("conv3d", VOLUME, "triton", "id = d + kd", "id = d + kd + 1"),
        ("conv_transpose2d", IMAGE, "triton", "ix = ux // 2", "ix = ux // 3"),
        ("conv_transpose2d", IMAGE, "triton", "ux % 2 == 0", "ux % 3 == 0"),
        ("group_conv", IMAGE, "triton", "g = tl.program_id(2)", "g = tl.program_id(1)"),
        ("flip", FEW, "triton", "z = i % x_2", "z = i % x_1"),
        ("embedding", ROWS, "triton", "rest = i // ", "rest = 1 + i // "),
        ("causal_attention", QUERIES, "triton", " & (j[None, :] <= i)", ""),
        ("attention", QUERIES, "triton", "first + tl.arange", "tl.arange"),
        ("attention", QUERIES, "triton", "BLOCK=32", "BLOCK=64"),
    ],
)
def test_a_text_is_false_of_code_that_has_another_schedule(
    operators: str, sizes: tuple[int, ...], dialect: Dialect, true: str, false: str
) -> None:
    one = example_with(true, dialect, sizes, *operators.split())
    assert not found(one, one.reasoning)
    other = one.source.replace(true, false)
    assert findings(one.reasoning, other, one.problem, dialect)


def _why(build: Build) -> str:
    """Why the build drops this draw."""
    (drawn,), _ = build._examples([build._drawn(0)])
    return drawn.why


@in_each_dialect
def test_a_build_drops_a_row_whose_plan_is_false(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: Dialect
) -> None:
    build = Build(RowFolder(tmp_path), Recipe(seed=3, dialects=(dialect,)))
    assert not _why(build)

    def false(*given: Any) -> dict[str, Triple]:
        one = example_of(*given[:3])
        return {"": replace(one, reasoning=f"{one.reasoning} It has 12345 steps.")}

    monkeypatch.setattr("kernelwright.data.graphs.build.examples_of", false)
    build.seen.clear()
    assert re.match(r"false plan: part \d+: .*12345", _why(build))


def test_formulas_are_equal_where_languages_differ() -> None:
    assert formula("fmaxf(v, 0.0f)") == formula("std::max(0.f, v)") == formula("tl.maximum(v, 0.0)")
    assert formula("v > 0.0f ? v : 0.1f * v").op == "where"
    assert formula("s[l][j] - 2") != formula("s[j][l] - 2")
    assert is_same_size(formula("(a * b)"), formula("b * a"))
    assert not is_same_size(formula("(a - 1) / 2 + 1"), formula("(a - 2) / 2 + 1"))
    for text in ("v +", "max(v", "a[1", "@"):
        with pytest.raises(FormulaError):
            formula(text)
