"""Kernels with one fault each, and the rows that they become."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelwright.data.graphs.build import Build, Draw, Recipe, Wanted, _rights
from kernelwright.data.graphs.cpp.kernel import source
from kernelwright.data.graphs.expr import Expr, V, at, call, where
from kernelwright.data.graphs.graph import Graph
from kernelwright.data.graphs.kernel import Kernel
from kernelwright.data.graphs.mutants.maxima import NOT_BELOW
from kernelwright.data.graphs.mutants.mutant import (
    FULL,
    HIDDEN,
    LEAST,
    RULES,
    SCALED,
    Lower,
    chosen,
    mutants_of,
)
from kernelwright.data.graphs.mutants.of_nests import nest_faults
from kernelwright.data.graphs.mutants.of_text import UNSTABLE, Mutant
from kernelwright.data.graphs.mutants.ranges import ANY, POSITIVE, range_of, simplified
from kernelwright.data.graphs.mutants.rows import (
    KILL,
    MUTANTS,
    PREFERENCES,
    diagnosis,
    kill_score,
    preference,
    write_kill_score,
)
from kernelwright.data.graphs.mutants.slow import apart, slow_source
from kernelwright.data.graphs.mutants.values import same_values
from kernelwright.data.graphs.nests import Scan, Window
from kernelwright.data.graphs.problem import DIALECTS, LOWERED, problem_of
from kernelwright.data.graphs.sample import draw
from kernelwright.data.suites.built import SFT_ONLY, built_triples, split_of
from kernelwright.data.suites.repairs import REPAIRS
from kernelwright.data.suites.row_folder import lines, write_lines
from kernelwright.envs.plan.counters import PREFIX
from kernelwright.envs.types import (
    Candidate,
    Case,
    CaseCheck,
    Check,
    Dialect,
    Evaluation,
    Problem,
    Verdict,
)
from tests import nouns
from tests.command import kernelwright
from tests.fixed_judge import FixedJudge
from tests.graph_examples import a_graph

STARTS = ("wrong_start", UNSTABLE)
OF_ALL = {
    *("wrong_start", "wrong_accumulator", "wrong_term", "dropped_step", "wrong_index"),
    *("off_by_one", "wrong_constant", "missing_bias", "wrong_count", "min_for_max"),
    *("swapped_operands", "missing_eps", "wrong_operator", "unstable_shift"),
}
KINDS: dict[Dialect, set[str]] = {
    "cpp": OF_ALL,
    "cuda": OF_ALL
    | {"wrong_mask", "wrong_grid", "race", "missing_barrier", "wrong_scope", "wrong_shuffle"},
    "triton": OF_ALL | {"wrong_mask", "wrong_grid", "race", "wrong_block"},
}
ROWS = (64, 512)
SIGMOID = 1.0 / (1.0 + call("exp", -V))


def lowering(graph: Graph, dialect: Dialect) -> tuple[Kernel, Lower]:
    """A graph's kernel, and what makes a source of it."""
    code = problem_of(graph, 3, 0).code
    return graph.kernel(), lambda kernel: LOWERED[dialect][0](kernel, code)


def mutants(*operators: str, dialect: Dialect = "cpp") -> list[Mutant]:
    kernel, lower = lowering(a_graph(ROWS, *operators), dialect)
    return mutants_of(kernel, dialect, lower)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_kind_of_fault_is_made_and_changes_the_source(dialect: Dialect) -> None:
    kinds = set()
    for index in range(60):
        kernel, lower = lowering(draw(3, index), dialect)
        right = lower(kernel)
        for one in mutants_of(kernel, dialect, lower):
            assert one.source != right
            kinds.add(one.kind)
    assert kinds == KINDS[dialect]
    assert {rule.kind for rule in RULES[dialect]} < KINDS[dialect]


def test_wrong_windows_and_scans_are_of_kinds_that_there_are() -> None:
    kinds = {Window: ("max", "mean", "sum"), Scan: ("sum", "prod")}
    for index in range(99):
        for _, wrong in nest_faults(draw(3, index).kernel()):
            for nest in wrong.nests:
                if isinstance(nest, Window | Scan):
                    assert nest.kind in kinds[type(nest)]


CELU = where(V > 0.0, V, call("expm1", V))
RELU6 = call("min", call("max", V, 0.0), 6.0)
SHRUNK = V - call("tanh", V)


@pytest.mark.parametrize(
    ("right", "wrong", "v", "then", "same"),
    [
        (CELU, V, ANY, [RELU6], True),
        (CELU, V, POSITIVE, [], True),
        (CELU, V, ANY, [], False),
        (SHRUNK, call("tanh", V) - V, ANY, [call("cos", V)], True),
        (SHRUNK, call("tanh", V) - V, ANY, [V * 2.0, call("abs", V)], True),
        (SHRUNK, call("tanh", V) - V, ANY, [], False),
        (call("min", V, 3.0), call("min", V, 4.5), ANY, [call("min", V, 2.0)], True),
        (call("min", V, 3.0), call("min", V, 4.5), ANY, [call("min", V, 3.5)], False),
        (V * at("bias"), V + at("bias"), ANY, [], False),
        (V * at("bias"), V + at("bias"), ANY, [call("max", call("abs", V), 1e9)], True),
        (call("nobody_knows", V), V, ANY, [], False),
    ],
)
def test_a_step_counts_if_a_value_behind_the_steps_after_it_tells(
    right: Expr, wrong: Expr, v: tuple[float, float], then: list[Expr], same: bool
) -> None:
    assert same_values(right, wrong, {"v": v}, then) == same


def test_what_keeps_a_number_from_zero_counts_although_no_other_value_tells() -> None:
    every = mutants("normalize")
    assert any(one.kind == "missing_eps" and not one.same for one in every)


def test_mutants_are_chosen_kind_by_kind_and_never_those_that_compute_the_same() -> None:
    every = mutants("softmax", "relu")
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
    assert any(one.same == HIDDEN for one in mutants("tanh", "argmin"))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("last", ["max", "softmax"])
def test_a_maximum_of_what_is_never_below_zero_may_start_there(dialect: Dialect, last: str) -> None:
    def from_zero(*operators: str) -> set[str]:
        every = mutants(*operators, last, dialect=dialect)
        return {one.same for one in every if LEAST.search(one.place) and one.kind in STARTS}

    assert from_zero("relu") <= {NOT_BELOW}
    assert NOT_BELOW not in from_zero("tanh")


def test_a_factor_that_the_next_norm_takes_off_is_no_measure() -> None:
    every = mutants("l1_norm", "l2_norm")
    assert {one.kind for one in every if one.same == SCALED} >= {"wrong_start", "wrong_term"}
    assert any(not one.same for one in every)


@pytest.mark.parametrize(
    ("operator", "sizes", "dialect"),
    [
        ("linear", ROWS, "cuda"),
        ("layer_norm", ROWS, "triton"),
        ("instance_norm", (4, 16, 64), "cuda"),
    ],
)
def test_a_fault_that_no_size_of_the_problem_shows_is_known(
    operator: str, sizes: tuple[int, ...], dialect: Dialect
) -> None:
    """Sizes that parameters fix are multiples of a block; a case with others would show it."""
    graph = a_graph(sizes, operator)
    problem, kernel = problem_of(graph, 21, 0), graph.kernel()

    def hidden(cases: tuple[Case, ...]) -> int:
        every = mutants_of(
            kernel, dialect, lambda one: LOWERED[dialect][0](one, problem.code), cases
        )
        return sum(one.same == FULL for one in every)

    odd = tuple((constant, 37) for constant, _ in graph.constants)
    assert hidden(problem.cases)
    assert not hidden(())
    if not kernel.state:
        assert not hidden((*problem.cases, replace(problem.cases[0], sizes=odd)))


def test_a_diagnosis_quotes_the_lines_that_differ() -> None:
    assert diagnosis("a\n  b;\nc\n", "#include <x>\na\n  d;\nc\n") == "`b;` has to be `d;`."
    assert diagnosis("a\nc\n", "a\nb\nc\n") == "`b` is missing."
    assert diagnosis("a\nb\nc\n", "a\nc\n") == "`b` is too much."


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
    kernel = a_graph(ROWS, "relu", "tanh", "sigmoid").kernel()
    slow = slow_source(kernel, source, "cpp")
    assert slow is not None
    assert "omp simd" in source(kernel)
    assert "omp simd" not in slow
    assert slow.count("for (") == 3 == len(kernel.nests[0].after)


@pytest.mark.parametrize(
    ("dialect", "far", "functions"),
    [
        ("cuda", "threadIdx.x * gridDim.x + blockIdx.x", "__global__"),
        ("triton", "tl.arange(0, BLOCK) * tl.num_programs(0) + tl.program_id(0)", "@triton.jit"),
    ],
)
def test_a_slow_form_on_a_gpu_has_a_function_for_each_step_and_distant_neighbours(
    dialect: Dialect, far: str, functions: str
) -> None:
    kernel, lower = lowering(a_graph(ROWS, "relu", "tanh", "sigmoid"), dialect)
    slow = slow_source(kernel, lower, dialect)
    assert slow is not None
    assert slow.count(far) == slow.count(functions) == len(kernel.nests[0].after)
    assert lower(kernel).count(functions) == 1


def counted(bytes_: float, sectors: float) -> Evaluation:
    facts = {"global_bytes": bytes_, "sectors_per_request": sectors}
    return Evaluation(
        verdict=Verdict.CORRECT,
        reason="ok",
        check=Check(rounds=(CaseCheck(case="time", passed=True, error=0.0),)),
        facts=tuple((PREFIX + name, value) for name, value in facts.items()),
    )


def test_without_a_clock_the_slower_form_is_the_one_that_moves_more() -> None:
    fast = counted(1024.0, 4.0)
    assert apart(fast, counted(1024.0, 32.0)) == {"chosen_bytes": 1024, "rejected_bytes": 8192}
    assert apart(fast, counted(4096.0, 4.0)) == {"chosen_bytes": 1024, "rejected_bytes": 4096}
    assert apart(fast, counted(1100.0, 4.0)) is None
    assert apart(fast, replace(fast, facts=())) is None
    wrong = Evaluation(verdict=Verdict.WRONG, reason="mismatch", facts=fast.facts)
    assert apart(counted(16.0, 4.0), wrong) is None


@pytest.mark.sandbox
@pytest.mark.slow
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
    (out / KILL).unlink()
    kernelwright("data", "build", str(out), *options)
    assert json.loads((out / KILL).read_text(encoding="utf-8"))["share"] == 1.0


class AllRight(FixedJudge):
    """Finds every kernel right; `timed` is whether it was ever asked for speeds."""

    timed = False

    def evaluate_many(
        self, jobs: Sequence[tuple[Problem, Candidate]], **options: Any
    ) -> list[Evaluation]:
        self.timed |= options["timed"]
        return [nouns.correct() for _ in jobs]


@pytest.mark.sandbox
def test_a_share_of_the_problems_has_mutants_each_in_another_dialect(tmp_path: Path) -> None:
    recipe = Recipe(seed=27, dialects=("cpp", "cuda", "triton"), mutants=2, mutated=0.5)
    build = Build.begin(tmp_path, recipe)
    judge = AllRight()
    build.run(Wanted(count=4, batch=4, timed=False), judge)
    assert not judge.timed
    assert not (tmp_path / KILL).exists(), "it would be read again and again, batch after batch"
    assert write_kill_score(tmp_path).startswith("0 of ")
    assert json.loads((tmp_path / KILL).read_text(encoding="utf-8"))["killed"] == 0
    told = lines(tmp_path / MUTANTS)
    of_problem: dict[str, set[str]] = {}
    for row in told:
        of_problem.setdefault(row["problem"], set()).add(row["dialect"])
    assert len(told) == 4
    assert len(of_problem) == 2
    assert all(len(dialects) == 1 for dialects in of_problem.values())
    assert len(set.union(*of_problem.values())) == 2
    assert all(row["splits"] for row in told)


def test_repairs_and_preferences_are_of_problems_that_are_trained_on_and_say_their_split() -> None:
    draws = [
        Draw(id=f"{index:05d}", graph=graph, problem=problem_of(graph, 3, index))
        for index in range(60)
        for graph in [draw(3, index)]
    ]
    rows = {one.problem.name: [one.rows("cpp")[0].judged(nouns.correct())] for one in draws}
    said = {row.answer_key: nouns.correct() for its in rows.values() for row in its}
    rights = {one.triple.problem.name for one in _rights(draws, 1.0, rows, said)}
    assert rights == {one.problem.name for one in draws if "train" in split_of(one.problem)}
    assert len(rights) < len(draws)
    triple = draws[0].rows("cpp")[0].triple(draws[0].problem)
    head = preference(triple, "// other", "slower")
    assert head["splits"] == list(split_of(draws[0].problem))
