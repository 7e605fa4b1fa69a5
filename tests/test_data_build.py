"""`kernelwright data build`: a folder of judged rows, and the layout that reads it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.data.graphs import build as building
from kernelwright.data.graphs.build import Build, BuildError, Recipe
from kernelwright.data.graphs.problem import example_of, problem_of
from kernelwright.data.graphs.sample import draw
from kernelwright.data.suites.built import (
    PROBLEMS,
    SFT_ONLY,
    SPLITS,
    TRIPLES,
    Kept,
    lines,
    split_of,
    write_lines,
)
from kernelwright.data.suites.load import SuiteError, brings_triples, load_suite, public_spec
from kernelwright.data.triples.templates import triples_of
from kernelwright.envs.codec import to_plain
from kernelwright.envs.reference.admitted import Admission
from kernelwright.envs.types import CaseCheck, Check, Evaluation, Speedup, Timing, Verdict
from tests.command import kernelwright

RIGHT = Evaluation(
    verdict=Verdict.CORRECT,
    reason="ok",
    check=Check(rounds=(CaseCheck(case="time", passed=True, error=0.1),)),
    timing=Timing(baseline_ns=(200, 200), candidate_ns=(100, 100)),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Forty rows, as a build writes them."""
    for index in range(40):
        graph = draw(0, index)
        problem = problem_of(graph, 0, index)
        kept = Kept(triple=example_of(graph, problem, "cpp"), evaluation=RIGHT)
        write_lines(tmp_path / PROBLEMS, [to_plain(problem)])
        write_lines(tmp_path / TRIPLES, [kept.plain()])
    return tmp_path


def test_a_folder_is_read_as_it_was_written(folder: Path) -> None:
    suite = load_suite(f"data:{folder}")
    assert suite.problems == tuple(problem_of(draw(0, index), 0, index) for index in range(40))
    triples = triples_of(f"data:{folder}", "cpp")
    expected = [example_of(draw(0, n), one, "cpp") for n, one in enumerate(suite.problems)]
    assert triples == expected
    assert triples_of(f"data:{folder}", "triton") == []
    assert brings_triples(f"data:{folder}:sft")
    assert public_spec(f"data:{folder}:sft") == f"data:{folder.name}:sft"
    row = lines(folder / TRIPLES)[0]
    assert row["verdict"] == "correct"
    assert row["speedup"] == to_plain(Speedup(median=2.0, low=2.0, high=2.0)) | {
        name: pytest.approx(2.0) for name in ("median", "low", "high")
    }


def test_splits_part_a_folder_by_composition(folder: Path) -> None:
    every = load_suite(f"data:{folder}").problems
    parts = {one: load_suite(f"data:{folder}:{one}").problems for one in SPLITS}
    assert set(parts["train"]) == {*parts["sft"], *parts["rl"]}
    together = [*parts["sft"], *parts["rl"], *parts["held_out"]]
    assert sorted(one.key for one in together) == sorted(one.key for one in every)
    families = {name: {one.family for one in its} for name, its in parts.items()}
    assert not families["sft"] & families["rl"]
    assert not families["train"] & families["held_out"]
    assert all(one.category == "chain" for one in parts["held_out"])
    taught = triples_of(f"data:{folder}:sft", "cpp")
    assert [one.problem for one in taught] == list(parts["sft"])


def test_a_problem_that_tells_little_is_shown_and_earns_no_reward(folder: Path) -> None:
    every = load_suite(f"data:{folder}").problems
    poor = {one.name: split_of(replace(one, tags=(SFT_ONLY,))) for one in every}
    assert {poor[one.name] for one in every if split_of(one) == ("held_out",)} == {()}
    assert {poor[one.name] for one in every if "train" in split_of(one)} == {("sft",)}
    said = Admission(problem="a", key="b", tried=(), accepted=("bfloat16_inputs",))
    assert building.can_teach(said)
    for accepted in ("zeros", "other_inputs", "alive:dropped_call@relu"):
        assert not building.can_teach(
            Admission(problem="a", key="b", tried=(), accepted=(accepted,))
        )


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="No such file"):
        load_suite(f"data:{tmp_path}/nothing")
    (tmp_path / PROBLEMS).write_text("{\n", encoding="utf-8")
    with pytest.raises(SuiteError, match="not JSON"):
        load_suite(f"data:{tmp_path}")


def test_another_recipe_does_not_go_on_in_a_folder(tmp_path: Path) -> None:
    Build.begin(tmp_path / "rows", Recipe(seed=1))
    assert Build.begin(tmp_path / "rows", Recipe(seed=1)).next == 0
    with pytest.raises(BuildError, match="otherwise"):
        Build.begin(tmp_path / "rows", Recipe(seed=2))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(BuildError, match="other files"):
        Build.begin(tmp_path / "other", Recipe(seed=1))
    with pytest.raises(BuildError, match="not to triton"):
        Recipe(seed=1, dialect="triton")


@pytest.mark.sandbox
def test_a_build_keeps_right_rows_tells_of_the_others_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "rows"
    said = kernelwright("data", "build", str(out), "--count", "3", "--seed", "1").stdout
    assert "3 kept" in said
    assert f"data:{out}" in said
    first = (out / TRIPLES).read_text(encoding="utf-8")
    (out / TRIPLES).write_text(first + '{"cut', encoding="utf-8")
    kernelwright("data", "build", str(out), "--count", "6", "--seed", "1")
    rows, told = lines(out / TRIPLES), lines(out / "funnel.jsonl")
    assert (out / TRIPLES).read_text(encoding="utf-8").startswith(first)
    assert len(rows) == len(load_suite(f"data:{out}").problems) == 6
    assert all(row["verdict"] == "correct" and row["speedup"]["median"] > 0 for row in rows)
    assert [row["index"] for row in told] == list(range(len(told)))
    assert sum(row["fate"] == "kept" for row in told) == 6
    assert all(row["why"] or row["fate"] in ("kept", "duplicate") for row in told)
    kept = [row["graph"] for row in told if row["fate"] == "kept"]
    assert len(set(kept)) == len(kept)
    assert json.loads((out / "recipe.json").read_text(encoding="utf-8"))["seed"] == 1
