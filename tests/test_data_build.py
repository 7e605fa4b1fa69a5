"""`kernelwright data build`: a folder of judged rows, and the layout that reads it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.data.exports.contents import read_contents
from kernelwright.data.graphs import build as building
from kernelwright.data.graphs.build import Build, BuildError, Draw, Recipe
from kernelwright.data.graphs.problem import example_of, problem_of
from kernelwright.data.graphs.sample import draw
from kernelwright.data.suites.built import (
    DEEPEST,
    SFT_ONLY,
    SPLITS,
    UNSEEN,
    UNSEEN_OPERATORS,
    is_unseen,
    split_of,
    unseen_of,
)
from kernelwright.data.suites.graph_facts import GraphFacts
from kernelwright.data.suites.load import SuiteError, brings_triples, load_suite, public_spec
from kernelwright.data.suites.row_folder import FUNNEL, Done, FolderError, RowFolder
from kernelwright.data.suites.rows import FILE, RowError, objects
from kernelwright.data.triples.templates import triples_of
from kernelwright.envs.reference.admitted import Admission
from kernelwright.envs.types import CaseCheck, Check, Evaluation, Timing, Verdict
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
    out = RowFolder(tmp_path)
    out.open({"seed": 0})
    for index in range(40):
        graph = draw(0, index)
        one = Draw(id=f"{index:05d}", graph=graph, problem=problem_of(graph, 0, index))
        out.add([Done(id=one.id, rows=(one.rows("cpp")[0].judged(RIGHT),))])
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
    row = RowFolder(folder).rows()[0]
    assert row.verdict is Verdict.CORRECT
    assert row.speedup == pytest.approx(2.0)
    assert row.speedup_interval == pytest.approx((2.0, 2.0))


def test_slower_examples_are_left_out_where_that_is_said(folder: Path) -> None:
    assert len(triples_of(f"data:{folder}?speedup=1.5", "cpp")) == 40
    assert triples_of(f"data:{folder}?speedup=2.5", "cpp") == []
    assert len(load_suite(f"data:{folder}?speedup=2.5").problems) == 40
    with pytest.raises(SuiteError, match="expects a number"):
        load_suite(f"data:{folder}?speedup=fast")


def test_splits_part_a_folder_by_what_is_never_trained_on(folder: Path) -> None:
    every = load_suite(f"data:{folder}").problems
    names = {name for one in every for name in split_of(one)}
    assert names <= set(SPLITS)
    parts = {one: load_suite(f"data:{folder}:{one}").problems for one in names}
    assert set(parts["train"]) == {*parts["sft"], *parts["rl"]}
    together = [*parts["sft"], *parts["rl"], *parts["held_out"]]
    assert sorted(one.key for one in together) == sorted(one.key for one in every)
    unseen = [one for name in UNSEEN for one in parts.get(f"held_out_{name}", ())]
    assert sorted(one.key for one in unseen) == sorted(one.key for one in parts["held_out"])
    assert not {one.family for one in parts["sft"]} & {one.family for one in parts["rl"]}
    taught = triples_of(f"data:{folder}:sft", "cpp")
    assert [one.problem for one in taught] == list(parts["sft"])


def test_what_is_held_out_is_in_nothing_that_is_trained_on() -> None:
    drawn = [problem_of(draw(3, index), 3, index) for index in range(600)]
    facts = {one.name: GraphFacts.of(one.tags) for one in drawn}
    trained = [one for one in drawn if not unseen_of(one)]
    held = {why: [one for one in drawn if unseen_of(one) == why] for why in UNSEEN}
    families = {one.family for one in trained}
    known = {op for one in trained for op in facts[one.name].operators}
    assert not UNSEEN_OPERATORS & {op.removesuffix("_backward") for op in known}
    assert not {op for op in known if op.startswith("formula") and "bounded" in op.split("_")}
    assert all(facts[one.name].statements <= DEEPEST for one in trained)
    assert not families & {one.family for one in held["composition"]}
    ranks = {(one.family, facts[one.name].rank) for one in trained}
    assert not ranks & {(one.family, facts[one.name].rank) for one in held["rank"]}
    assert all(held[why] for why in UNSEEN if why != "depth")
    assert 0.15 < 1 - len(trained) / len(drawn) < 0.35


@pytest.mark.parametrize(
    ("operator", "unseen"),
    [
        ("softsign_backward", True),
        ("hardsigmoid_backward", True),
        ("smooth_l1_loss_backward", True),
        ("formula_bounded", True),
        ("formula_sin_bounded_mul", True),
        ("formula_relu_sub_power", True),
        ("formula_mul_sub_square_tanh", True),
        ("sigmoid_backward", False),
        ("formula_square_sub", False),
        ("formula_sub_relu_square", False),
    ],
)
def test_gradients_and_formulas_of_unseen_operators_are_unseen(operator: str, unseen: bool) -> None:
    assert is_unseen(operator) == unseen


def test_one_computation_is_in_one_split_whatever_its_operators_are_called() -> None:
    problem = problem_of(draw(3, 0), 3, 0)
    drawn = {problem_of(draw(3, index), 3, index).family for index in range(200)}
    for start in sorted(drawn):
        for names in (
            ("maximum_clamp", "formula_larger_clip", "maximum_hardtanh", "formula_larger_limit"),
            ("clamp_backward", "hardtanh_backward"),
            ("matmul", "linear_backward_input"),
        ):
            splits = {
                split_of(replace(problem, family=f"{start}_{name}", tags=("statements:2",)))
                for name in names
            }
            assert len(splits) == 1


def test_a_tag_that_says_no_number_is_told_with_its_line(folder: Path) -> None:
    path = folder / FILE
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    row = json.loads(lines[2])
    lines[2] = json.dumps(row | {"tags": ["statements:many"]}) + "\n"
    path.write_text("".join(lines), encoding="utf-8")
    said = rf"{FILE}:3: tags: statements:many: expects a number"
    with pytest.raises(SuiteError, match=said):
        load_suite(f"data:{folder}:sft")
    with pytest.raises(RowError, match=said):
        read_contents(folder)


def test_an_unjudged_kernel_beside_a_right_one_is_counted_in_the_funnel(tmp_path: Path) -> None:
    graph = draw(3, 0)
    one = Draw(id="00000", graph=graph, problem=problem_of(graph, 3, 0))
    rows = [one.rows(name)[0] for name in ("cpp", "cuda", "triton")]
    out = RowFolder(tmp_path)
    out.open({})
    unjudged = Evaluation(verdict=Verdict.UNJUDGED, reason="worker_lost")
    judged = [rows[0].judged(RIGHT), *(row.judged(unjudged) for row in rows[1:])]
    out.add([building._done(one, judged, {})])
    (line,) = out.funnel()
    assert (line["result"], line["rows"], line["wrong"], line["unjudged"]) == ("kept", 1, 0, 2)


def test_a_problem_that_tells_little_is_shown_and_earns_no_reward(folder: Path) -> None:
    every = load_suite(f"data:{folder}").problems
    poor = {one.name: split_of(replace(one, tags=(*one.tags, SFT_ONLY))) for one in every}
    assert {poor[one.name] for one in every if "held_out" in split_of(one)} == {()}
    assert {poor[one.name] for one in every if "train" in split_of(one)} == {("sft",)}
    said = Admission(problem="a", key="b", tried=(), accepted=("bfloat16_inputs",))
    assert building.can_teach(said)
    for accepted in ("zeros", "other_inputs", "alive:dropped_call@relu"):
        assert not building.can_teach(
            Admission(problem="a", key="b", tried=(), accepted=(accepted,))
        )


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="No such folder"):
        load_suite(f"data:{tmp_path}/nothing")
    (tmp_path / FILE).write_text("{\n", encoding="utf-8")
    with pytest.raises(SuiteError, match="not JSON"):
        load_suite(f"data:{tmp_path}")


def test_another_recipe_does_not_go_on_in_a_folder(tmp_path: Path) -> None:
    Build.begin(tmp_path / "rows", Recipe(seed=1))
    assert Build.begin(tmp_path / "rows", Recipe(seed=1)).fates.total() == 0
    with pytest.raises(FolderError, match="begun with seed 1"):
        Build.begin(tmp_path / "rows", Recipe(seed=2))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / FILE).touch()
    with pytest.raises(FolderError, match="did not write"):
        Build.begin(tmp_path / "other", Recipe(seed=1))
    with pytest.raises(BuildError, match="not to inline"):
        Recipe(seed=1, dialects=("cpp", "inline"))


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_build_keeps_right_rows_tells_of_the_others_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "rows"
    said = kernelwright("data", "build", str(out), "--count", "3", "--seed", "189").stdout
    assert "3 kept" in said
    assert f"data:{out}" in said
    first = (out / FILE).read_text(encoding="utf-8")
    (out / FILE).write_text(first + '{"cut', encoding="utf-8")
    kernelwright("data", "build", str(out), "--count", "6", "--seed", "189")
    rows, told = RowFolder(out).rows(), [line for _, line in objects(out / FUNNEL)]
    assert (out / FILE).read_text(encoding="utf-8").startswith(first)
    assert len(rows) == len(load_suite(f"data:{out}").problems) == 6
    assert all(row.verdict is Verdict.CORRECT and row.speedup for row in rows)
    assert [line["id"] for line in told] == [f"{index:05d}" for index in range(len(told))]
    kept = [line["graph"] for line in told if line["result"] == "kept"]
    assert len(set(kept)) == len(kept) == 6
    assert all(line["why"] for line in told if line["result"] != "kept")
    assert json.loads((out / "made.json").read_text(encoding="utf-8"))["seed"] == 189
