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


def having(pattern: str, dialect: Dialect = "cpp", within: str = "", text: str = "") -> Triple:
    """The first example whose code has both patterns, and its plan the text."""
    return next(
        one
        for one in (example(index, dialect) for index in range(900))
        if re.search(pattern, one.source) and re.search(within, one.source)
        if text in one.reasoning
    )


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
    one = having("0.5f", text="Each element of")
    assert any(why in said for said in found(one, f"{one.reasoning} {false}"))


def test_prose_whose_numbers_stand_in_the_code_is_let_be() -> None:
    one = having("0.5f", text="Each element of")
    assert not found(one, f"{one.reasoning} The slope 0.5 is the one that the module has.")


def test_the_code_is_read_not_the_graph() -> None:
    """The same text is false of another kernel of the same problem."""
    one = having(r"s \+= v;")
    assert found(one, one.reasoning) == []
    other = one.source.replace("s += v;", "s += v * v;")
    assert findings(one.reasoning, other, one.problem, "cpp")


@in_each_dialect
def test_code_of_another_kind_is_not_understood(dialect: Dialect) -> None:
    one = example(6, dialect)
    assert "not understood" in findings(one.reasoning, "int x;", one.problem, dialect)[0]


BY_BLOCK = r"(?s)int i = blockIdx\.x;\n.*block_sum\("


@pytest.mark.parametrize(
    ("dialect", "within", "true", "false"),
    [
        ("cuda", rf"{BY_BLOCK}.*int outer\)", r"<<<([\w *]+), 256, 0", r"<<<\1 / 2, 256, 0"),
        ("cuda", BY_BLOCK, r"s = block_sum\(s\);", "s = warp_sum(s);"),
        ("cuda", BY_BLOCK, r"part\[threadIdx\.x / 32\] = v;\n  __syncthreads\(\);", "part[0] = v;"),
        ("cuda", r"int row = blockIdx\.y", r"\}\n    __syncthreads\(\);\n    for", "}\n    for"),
        ("cuda", r"int row = blockIdx\.y", r"__shared__ (float p\[)", r"\1"),
        ("cuda", "", r"(int column = z[^;]*);", r"\1 - 1;"),
        ("cuda", "", r"int i = blockIdx\.x \* blockDim", "int i = blockIdx.x * 2 * blockDim"),
        ("cuda", "", r"q = blockIdx\.x \* 32", "q = blockIdx.x * 16"),
        ("cuda", "", r"dim3\(32, 32\)", "dim3(32, 1)"),
        ("cuda", "", r"part0\[blockIdx\.x\] = s", "part0[0] = s"),
        ("triton", "", r"v = v / count", "v = v / (count - 1)"),
        ("triton", "", r"parts\.numel\(\)", "1"),
        ("triton", r"tl\.dot", r"j \* (\w+) \+ k\[:, None\]", r"k[:, None] * \1 + j"),
        ("triton", "", r"ix = z \+ kx", "ix = z * 2 + kx"),
        ("triton", "", "BLOCK=1024", "BLOCK=512"),
        ("triton", "BLOCK=1024", "mask = i < size", "mask = i < size - 1"),
        ("triton", r"BLOCK=1024", r"j = i % (\w+)", r"j = i // \1"),
        ("triton", "", "COLUMNS=32", "COLUMNS=16"),
        ("triton", "", r"at = j \* inner \+ q", "at = q * inner + j"),
        ("triton", "", r"tl\.program_id\(0\), s\b", "0, s"),
    ],
)
def test_a_text_is_false_of_code_that_has_another_schedule(
    dialect: Dialect, within: str, true: str, false: str
) -> None:
    one = having(true, dialect, within)
    other = re.sub(true, false, one.source, count=1)
    assert findings(one.reasoning, other, one.problem, dialect), one.source


def _why(build: Build, index: int) -> str:
    """Why the build drops this draw."""
    (drawn,), _ = build._examples([build._drawn(index)])
    return drawn.why


@in_each_dialect
def test_a_build_drops_a_row_whose_plan_is_false(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: Dialect
) -> None:
    build = Build(RowFolder(tmp_path), Recipe(seed=3, dialects=(dialect,)))
    halved = re.compile(r"v = [^;]*0\.5f? \*")
    index = next(n for n in range(900) if halved.search(example(n, dialect).reasoning))
    assert not _why(build, index)

    def false(*given: Any) -> Triple:
        one = example_of(*given)
        return replace(one, reasoning=re.sub(r"0\.5(?=f? \*)", "0.7", one.reasoning))

    monkeypatch.setattr("kernelwright.data.graphs.build.example_of", false)
    build.seen.clear()
    assert re.match(r"false plan: part \d: the code has no `v = ", _why(build, index))


def test_formulas_are_equal_where_languages_differ() -> None:
    assert formula("fmaxf(v, 0.0f)") == formula("std::max(0.f, v)") == formula("tl.maximum(v, 0.0)")
    assert formula("v > 0.0f ? v : 0.1f * v").op == "where"
    assert formula("s[l][j] - 2") != formula("s[j][l] - 2")
    assert is_same_size(formula("(a * b)"), formula("b * a"))
    assert not is_same_size(formula("(a - 1) / 2 + 1"), formula("(a - 2) / 2 + 1"))
    for text in ("v +", "max(v", "a[1", "@"):
        with pytest.raises(FormulaError):
            formula(text)
