"""Rows: one JSON object a line, read as problems and examples; what is wrong is told in a line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.suites.load import SuiteError, load_suite, public_spec
from kernelwright.data.suites.rows import Row, read_rows, row_line
from kernelwright.data.triples.templates import triples_of
from kernelwright.envs.types import Case, Verdict
from kernelwright.preflight.consistency import contradictions
from kernelwright.preflight.estimate import taught_triples
from kernelwright.rl.recipe.schema import Recipe
from tests.nouns import RELU_KERNEL, RELU_MODULE

ANSWERED: dict[str, Any] = {"dialect": "cpp", "kernel": RELU_KERNEL}


def written(folder: Path, *rows: Row) -> str:
    (folder / "rows.jsonl").write_text("".join(map(row_line, rows)), encoding="utf-8")
    return f"rows:{folder}"


def relu(name: str = "relu", **more: Any) -> Row:
    return Row(**{"name": name, "code": RELU_MODULE, **more})


def test_a_row_is_on_disk_what_it_was(tmp_path: Path) -> None:
    cases = (Case(name="time", sizes=(("N", 8),)), Case(name="odd", sizes=()))
    rows = [
        relu(cases=cases, licence="MIT", source="mine:1"),
        relu(**ANSWERED, verdict=Verdict.CORRECT, reason="ok", speedup=1.5, reasoning="Why."),
        relu(dialect="cpp", kernel=""),
    ]
    written(tmp_path, *rows)
    assert read_rows(tmp_path) == rows
    assert read_rows(tmp_path / "rows.jsonl") == rows


def test_sizes_at_the_top_of_the_code_make_the_cases_that_a_row_lacks(tmp_path: Path) -> None:
    (problem,) = load_suite(written(tmp_path, relu())).problems
    assert len({case.sizes for case in problem.cases}) > 2
    assert problem.timed_case().sizes == (("N", 4000),)


def test_answers_in_the_dialect_that_may_be_right_are_examples_the_fastest_first(
    tmp_path: Path,
) -> None:
    right = {"verdict": Verdict.CORRECT, "reason": "ok"}
    spec = written(
        tmp_path,
        relu(**ANSWERED, reasoning="slow", **right, speedup=1.0),
        relu(**ANSWERED, reasoning="wrong", verdict=Verdict.WRONG, reason="mismatch"),
        relu(**ANSWERED, reasoning="fast", **right, speedup=2.0),
        relu("other", code=RELU_MODULE.replace("4000", "40"), **ANSWERED, reasoning="unjudged"),
        relu("cuda", code=RELU_MODULE.replace("4000", "50"), dialect="cuda", kernel="int x;\n"),
    )
    found = triples_of(spec, "cpp")
    assert [one.reasoning for one in found] == ["fast", "slow", "unjudged"]
    assert [one.variant for one in found] == [0, 1, 0]
    assert found[0].problem.key in load_suite(spec).by_key()
    assert triples_of(spec, "triton") == []
    assert len(load_suite(spec).problems) == 3


def test_a_recipe_learns_from_rows(tmp_path: Path) -> None:
    spec = written(tmp_path, relu(**ANSWERED))
    recipe = Recipe.model_validate({"name": "a", "stages": ["sft"], "data": {"sft_suite": spec}})
    assert taught_triples(recipe) == 1
    assert not [one for one in contradictions(recipe, 1) if "triples" in one]
    assert public_spec(spec) == f"rows:{tmp_path.name}"


def test_an_example_without_reasoning_is_its_block_alone(tmp_path: Path) -> None:
    (triple,) = triples_of(written(tmp_path, relu(**ANSWERED)), "cpp")
    assert triple.completion() == f"```cpp\n{RELU_KERNEL}```"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"name": "a"', "not JSON"),
        ("[1]", "expects an object"),
        ({"name": "a"}, "code"),
        ({"name": "a", "code": "def ("}, "not Python"),
        ({"name": "a", "code": f"nonlocal a\n{RELU_MODULE}"}, "not Python (nonlocal"),
        ({"name": "a", "code": "class Model: ..."}, "does not define get_inputs"),
        ({"name": "a", "code": RELU_MODULE, "kernal": "x"}, "unknown field kernal; there are name"),
        ({"name": "a", "code": RELU_MODULE, "kernel": "x"}, "belong together"),
        ({"name": "a", "code": RELU_MODULE, "kernel": "x", "dialect": "rust"}, "no dialect 'rust'"),
        ({"name": "a", "code": RELU_MODULE, "verdict": "fine"}, "verdict"),
        ({"name": "", "code": RELU_MODULE}, "name: expects one"),
        *(
            ({"name": "a", "code": RELU_MODULE, "speedup": speed}, "is no number above 0")
            for speed in (-1.0, 0.0, math.inf, math.nan)
        ),
    ],
)
def test_a_wrong_line_is_told_with_file_and_line(tmp_path: Path, line: object, why: str) -> None:
    text = line if isinstance(line, str) else json.dumps(line)
    file = tmp_path / "some.jsonl"
    file.write_text(row_line(relu()) + text, encoding="utf-8")
    with pytest.raises(SuiteError) as told:
        load_suite(f"rows:{file}")
    said = str(told.value)
    assert f"{file}:2: " in said
    assert why in said
    assert "\n" not in said


def test_files_that_hold_no_rows_are_told(tmp_path: Path) -> None:
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes(b'{"name": "\xe9"}')
    twice = tmp_path / "twice"
    twice.mkdir()
    spec = written(twice, relu(), relu(code=RELU_MODULE.replace("4000", "40")))
    for wrong, why in (
        (f"rows:{latin}", "not UTF-8"),
        (f"rows:{tmp_path / 'none'}", "No such file"),
        (spec, "two problems are called relu"),
    ):
        with pytest.raises(SuiteError, match=why):
            load_suite(wrong)
