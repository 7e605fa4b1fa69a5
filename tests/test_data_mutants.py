"""Kernels with one fault each, and the rows that they become."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelwright.data.graphs.build import Build, Recipe
from kernelwright.data.graphs.cpp.kernel import source
from kernelwright.data.graphs.expr import Expr, V, at, call, where
from kernelwright.data.graphs.mutants.mutant import HIDDEN, SCALED, chosen, mutants_of
from kernelwright.data.graphs.mutants.of_nests import nest_faults
from kernelwright.data.graphs.mutants.of_text import RULES, Mutant
from kernelwright.data.graphs.mutants.ranges import ANY, POSITIVE, range_of, simplified
from kernelwright.data.graphs.mutants.rows import (
    KILL,
    MUTANTS,
    PREFERENCES,
    REPAIRS,
    diagnosis,
    feedback,
    kill_score,
)
from kernelwright.data.graphs.mutants.slow import slow_source
from kernelwright.data.graphs.nests import Scan, Window
from kernelwright.data.graphs.sample import draw
from kernelwright.data.suites.built import SFT_ONLY, built_triples
from kernelwright.data.suites.row_folder import lines, write_lines
from kernelwright.envs.types import CaseCheck, Check, Evaluation, Verdict
from tests.command import kernelwright

KINDS = {
    *("wrong_start", "wrong_accumulator", "wrong_term", "dropped_step", "wrong_index"),
    *("off_by_one", "wrong_constant", "missing_bias", "wrong_count", "min_for_max"),
    *("swapped_operands", "missing_eps", "wrong_operator", "unstable_shift"),
}
SIGMOID = 1.0 / (1.0 + call("exp", -V))


def mutants(index: int) -> list[Mutant]:
    return mutants_of(draw(3, index).kernel(), "cpp", source)


def test_every_kind_of_fault_is_made_and_changes_the_source() -> None:
    kinds = set()
    for index in range(60):
        right = source(draw(3, index).kernel())
        for one in mutants(index):
            assert one.source != right
            kinds.add(one.kind)
    assert kinds == KINDS
    assert {rule.kind for rule in RULES["cpp"]} < KINDS


def test_wrong_windows_and_scans_are_of_kinds_that_there_are() -> None:
    kinds = {Window: ("max", "mean", "sum"), Scan: ("sum", "prod")}
    for index in range(99):
        for _, wrong in nest_faults(draw(3, index).kernel()):
            for nest in wrong.nests:
                if isinstance(nest, Window | Scan):
                    assert nest.kind in kinds[type(nest)]


def test_mutants_are_chosen_kind_by_kind_and_never_those_that_compute_the_same() -> None:
    every = mutants(12)
    assert any(one.same for one in every)
    few = chosen(every, 5, "seed")
    assert len(few) == len({one.kind for one in few}) == 5
    assert few == chosen(every, 5, "seed") != chosen(every, 5, "other")
    assert not any(one.same for one in chosen(every, 1000, "seed"))


@pytest.mark.parametrize(
    ("right", "wrong", "v"),
    [
        (call("abs", V), V, POSITIVE),
        (call("max", V, 0.0), V, POSITIVE),
        (call("min", call("max", V, 0.0), 6.0), V, (0.0, 1.0)),
        (call("abs", V - at("t")), call("abs", at("t") - V), ANY),
        (where(V > 0.0, V, 0.1 * V), V, POSITIVE),
        (where(V > 0.0, V, call("expm1", V)), V, POSITIVE),
        (call("max", SIGMOID, 0.0), SIGMOID, ANY),
    ],
)
def test_a_fault_that_no_input_shows_is_known(
    right: Expr, wrong: Expr, v: tuple[float, float]
) -> None:
    assert simplified(right, {"v": v}) == simplified(wrong, {"v": v})
    assert simplified(right, {}) != V


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (call("max", V, 0.0), V),
        (V - at("t"), at("t") - V),
        (where(V > 0.0, V, V + 1.0), V),
        (call("max", V, 0.0), call("max", V, 1.0)),
    ],
)
def test_a_fault_that_an_input_shows_is_none_of_them(right: Expr, wrong: Expr) -> None:
    assert simplified(right, {}) != simplified(wrong, {})
    assert simplified(right, {"v": (0.0, 2.0)}) != simplified(at("t") - V, {"v": (0.0, 2.0)})


def test_ranges_hold() -> None:
    assert range_of(SIGMOID, {}) == (0.0, 1.0)
    assert range_of(V * V, {}) == POSITIVE
    assert range_of(V / call("sqrt", V * V), {"v": POSITIVE}) == POSITIVE
    assert range_of(V - at("t"), {"v": (0.0, 1.0)}) == ANY


def test_values_behind_an_index_are_no_measure() -> None:
    graph = next(one for one in (draw(3, n) for n in range(999)) if "|argmin" in one.signature)
    assert any(one.same == HIDDEN for one in mutants_of(graph.kernel(), "cpp", source))


def test_a_factor_that_the_next_norm_takes_off_is_no_measure() -> None:
    every = mutants_of(draw(5, 534).kernel(), "cpp", source)
    assert {one.kind for one in every if one.same == SCALED} >= {"wrong_start", "wrong_term"}
    assert any(not one.same for one in every)


def test_a_diagnosis_quotes_the_lines_that_differ() -> None:
    assert diagnosis("a\n  b;\nc\n", "#include <x>\na\n  d;\nc\n") == "`b;` has to be `d;`."
    assert diagnosis("a\nc\n", "a\nb\nc\n") == "`b` is missing."
    assert diagnosis("a\nb\nc\n", "a\nc\n") == "`b` is too much."


def test_feedback_says_the_verdict_the_failed_case_and_the_log() -> None:
    failed = CaseCheck(case="odd", passed=False, error=7.0, note="out: 3% of values are off")
    said = Evaluation(
        verdict=Verdict.WRONG, reason="mismatch", check=Check(rounds=(failed,)), log="a log"
    )
    assert feedback(said).splitlines() == [
        "wrong (mismatch)",
        "the answer: an output is not what the module computes",
        "case odd: out: 3% of values are off",
        "a log",
    ]


def test_the_kill_score_is_a_share_of_what_was_judged() -> None:
    told = [("a", "wrong"), ("a", "correct"), ("b", "crashed"), ("b", "unjudged")]
    rows = [{"kind": kind, "verdict": verdict, "tags": []} for kind, verdict in told]
    poor = {"kind": "a", "verdict": "correct", "tags": [SFT_ONLY]}
    found = kill_score([*rows, poor])
    assert found["kinds"]["a"] == {"judged": 2, "killed": 1, "share": 0.5}
    assert found["kinds"]["b"] == {"judged": 1, "killed": 1, "share": 1.0}
    assert (found["judged"], found["killed"]) == (3, 2)
    assert found["sft_only"] == {"judged": 1, "killed": 0, "share": 0.0}


def test_a_slow_form_has_loops_for_each_step_and_no_vectors() -> None:
    kernel = draw(3, 12).kernel()
    slow = slow_source(kernel, source)
    assert slow is not None
    assert "omp simd" in source(kernel)
    assert "omp simd" not in slow
    assert slow.count("for (") == 3 == len(kernel.nests[0].after)


@pytest.mark.sandbox
def test_a_build_makes_repairs_and_preferences_of_mutants_that_the_judge_refuses(
    tmp_path: Path,
) -> None:
    """And one that goes on drops those of a batch that it did not write down."""
    out = tmp_path / "rows"
    options = ("--count", "1", "--seed", "27", "--mutants", "4")
    said = kernelwright("data", "build", str(out), *options).stdout
    assert "4 of 4 mutants refused" in said
    (right,) = built_triples(str(out), "cpp")
    repairs, preferences = lines(out / REPAIRS), lines(out / PREFERENCES)
    assert len(repairs) == len(lines(out / MUTANTS)) == 4
    for row in repairs:
        assert row["broken"] in row["prompt"]
        assert row["feedback"] in row["prompt"]
        assert row["completion"].endswith(right.block())
    assert {row["why"] for row in preferences} >= {row["kind"] for row in repairs}
    assert all(row["chosen"] == right.completion() for row in preferences)
    assert json.loads((out / KILL).read_text(encoding="utf-8"))["share"] == 1.0
    write_lines(out / REPAIRS, [repairs[0] | {"problem": "of a batch that was cut off"}])
    Build.begin(out, Recipe(seed=27, mutants=4))
    assert lines(out / REPAIRS) == repairs
