"""A layout of problems, with or without examples, is one row of a table."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.data.suites.layout import Layout, Loaded
from kernelwright.data.suites.load import LAYOUTS, SuiteError, load_suite, public_spec
from kernelwright.data.triple import Triple
from kernelwright.data.triples.templates import template_triples, triples_of
from kernelwright.envs.types import Case, Dialect, Problem
from kernelwright.preflight.consistency import contradictions
from kernelwright.preflight.estimate import taught_triples
from kernelwright.rl.recipe.schema import Recipe

CODE = "class Model: '''{}'''"


def lines(file: str, name: str = "") -> list[dict[str, str]]:
    """The rows of a file, or those of one name."""
    rows = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if name in ("", row["name"])]


def problem_of(row: dict[str, str]) -> Problem:
    code = CODE.format(row["name"])
    return Problem(name=row["name"], code=code, cases=(Case(name="a", sizes=()),))


def problems(file: str, name: str = "") -> Loaded:
    return tuple(map(problem_of, lines(file, name))), ["read by a toy"]


def triples(file: str, dialect: Dialect, name: str = "") -> list[Triple]:
    return [
        Triple(
            problem=problem_of(row),
            dialect=dialect,
            reasoning=row["why"],
            source=row["kernel"],
            pattern=row["name"],
        )
        for row in lines(file, name)
    ]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A spec of a layout that this file adds, whose problems lie with their examples."""
    toy = Layout(
        forms=("toy:FILE",),
        load=problems,
        triples=triples,
        options=("name",),
        local_options=("name",),
        is_path=True,
    )
    monkeypatch.setitem(LAYOUTS, "toy", toy)
    file = tmp_path / "some.jsonl"
    every = [{"name": name, "why": f"It is {name}.", "kernel": "int x;\n"} for name in "ab"]
    file.write_text("\n".join(map(json.dumps, every)), encoding="utf-8")
    return f"toy:{file}"


def test_a_layout_of_a_row_is_loaded_with_its_options_and_notes(rows: str) -> None:
    assert [one.name for one in load_suite(rows).problems] == ["a", "b"]
    only = load_suite(f"{rows}?name=b")
    assert [one.name for one in only.problems] == ["b"]
    assert only.notes == ("read by a toy",)
    assert public_spec(f"{rows}?name=b") == "toy:some.jsonl"


def test_options_that_name_files_are_never_published(
    rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LAYOUTS, "toy", replace(LAYOUTS["toy"], is_path=False))
    assert public_spec("toy:some/one?name=/home/me/b") == "toy:some/one"


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_layout_has_forms_by_its_name_and_refuses_nonsense(name: str) -> None:
    layout = LAYOUTS[name]
    assert layout.forms
    assert all(re.match(rf"{name}\b", form) for form in layout.forms)
    assert set(layout.local_options) <= set(layout.options)
    with pytest.raises(SuiteError):
        load_suite(f"{name}:/nowhere/nonsense")


@pytest.mark.parametrize(
    ("spec", "published"),
    [
        ("starter", "starter"),
        ("starter?sizes=gpu", "starter?sizes=gpu"),
        ("starter:train?sizes=gpu", "starter:train?sizes=gpu"),
        ("kernelbench:/home/me/mine/?levels=1&admission=/home/me/a", "kernelbench:mine?levels=1"),
        ("of another time: /x", "of another time: /x"),
    ],
)
def test_what_is_published_of_a_spec_has_no_path_of_this_machine(spec: str, published: str) -> None:
    assert public_spec(spec) == published


def test_what_a_layout_refuses_is_told_with_the_spec(rows: str) -> None:
    for wrong, why in (
        (f"{rows}?size=2", "no option size; name"),
        (f"{rows}?name=c", "has no problems"),
        ("toy:/nowhere", "No such file"),
        ("toy:", "toy:FILE"),
    ):
        with pytest.raises(SuiteError, match=why) as told:
            load_suite(wrong)
        assert wrong in str(told.value)


def test_examples_that_lie_with_problems_are_what_sft_learns_from(rows: str) -> None:
    found = triples_of(f"{rows}?name=b", "inline")
    assert [one.problem for one in found] == list(load_suite(f"{rows}?name=b").problems)
    assert found[0].completion() == "It is b.\n\n```python\nint x;\n```"
    asked = {"name": "a", "stages": ["sft"], "data": {"sft_suite": rows, "dialect": "inline"}}
    recipe = Recipe.model_validate(asked)
    assert taught_triples(recipe) == 2
    assert not [one for one in contradictions(recipe, 1) if "triples" in one]
    with pytest.raises(SuiteError, match="No such file"):
        triples_of("toy:/nowhere", "cpp")


def test_a_suite_without_examples_of_its_own_has_those_of_the_templates() -> None:
    assert triples_of("starter:sft", "cpp") == [
        *template_triples("sft"),
    ]
    assert triples_of("starter:train", "inline") == []
