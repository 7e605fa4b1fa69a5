"""The linter of reasoning: what is true passes, what is false does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.graphs.build import Build, Recipe
from kernelwright.data.graphs.lint.formulas import FormulaError, formula, is_same_size
from kernelwright.data.graphs.lint.labels import alike, meanings
from kernelwright.data.graphs.lint.lint import findings
from kernelwright.data.graphs.problem import example_of, problem_of
from kernelwright.data.graphs.sample import draw
from kernelwright.data.suites.row_folder import RowFolder
from kernelwright.data.triple import Triple
from tests.falsehoods import falsehoods

EVERY = 7
"""Of falsehoods one in so many is tried: all of 300 examples are 9254, and 2 of them passed."""
ENOUGH = 0.95


def example(index: int) -> Triple:
    graph = draw(3, index)
    return example_of(graph, problem_of(graph, 3, index), "cpp")


def found(one: Triple, reasoning: str) -> list[str]:
    return findings(reasoning, one.source, one.problem)


def test_the_reasoning_of_an_example_is_true() -> None:
    """Every number and claim of it is found again in the code."""
    for index in range(300):
        one = example(index)
        assert not found(one, one.reasoning), (index, one.reasoning)


def test_planted_falsehoods_are_found() -> None:
    labels = {one: alike(one) for one in meanings()}
    every, caught = Counter[str](), Counter[str]()
    for index in range(40):
        one = example(index)
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
    assert findings(one.reasoning, other, one.problem)
    assert "not understood" in findings(one.reasoning, "int x;", one.problem)[0]


def _why(build: Build) -> str:
    """Why the build drops this draw."""
    (drawn,), _ = build._examples([build._drawn(16)])
    return drawn.why


def test_a_build_drops_a_row_whose_plan_is_false(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = Build(RowFolder(tmp_path), Recipe(seed=3))
    assert not _why(build)

    def false(*given: Any) -> Triple:
        one = example_of(*given)
        return replace(one, reasoning=one.reasoning.replace("0.5f", "0.7f"))

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
