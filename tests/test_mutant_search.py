"""Which mutants a problem's cases show, and which kinds of values it keeps for the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.factory.families import blueprints
from kernelwright.data.suites.check import as_admitted, deciding_files, rules
from kernelwright.envs.reference.admission import check_problem
from kernelwright.envs.reference.admitted import Admission, with_kept, without_kept
from kernelwright.envs.reference.distributions import AS_MADE, DISTRIBUTIONS
from kernelwright.envs.reference.mutant_search import (
    Fate,
    fewest,
    judge_mutants,
)
from kernelwright.envs.reference.mutants import Mutant
from kernelwright.envs.types import Problem, Role
from tests.test_mutants import problem

NORM = problem("return F.layer_norm(x, (C,))")
SEQUENCE = "torch.randn(4, 64, 6)"


def fates(one: Problem, kind: str) -> list[Fate]:
    found = [fate for fate in judge_mutants(one) if fate.mutant.kind == kind]
    assert found
    return found


def test_an_epsilon_that_is_left_out_shows_on_small_rows_only() -> None:
    (epsilon,) = fates(NORM, "dropped_epsilon")
    assert not epsilon.killed_by
    assert "near_degenerate" in epsilon.kinds
    assert check_problem(NORM).kept == ("near_degenerate",)


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "RNN"])
@pytest.mark.slow
def test_a_recurrence_that_forgets_its_beginning_is_shown(layer: str) -> None:
    made = f"self.layer = nn.{layer}(6, 8, batch_first=True)"
    one = problem("return self.layer(x)[0][:, -1]", made, inputs=SEQUENCE)
    assert not [fate for fate in fates(one, "dropped_step") if fate.alive]


@pytest.mark.slow
def test_a_loop_whose_early_steps_count_for_nothing_is_refused() -> None:
    body = """h = torch.zeros_like(x[:, 0])
        for t in range(x.shape[1]):
            h = 0.62 * torch.tanh(h) + torch.tanh(x[:, t])
        return h"""
    found = check_problem(problem(body, inputs="torch.randn(4, 64, 6)"))
    assert "alive:dropped_step@loop line 16 #1" in found.accepted
    assert not found.admitted


def test_statistics_of_half_a_row_are_shown() -> None:
    assert all(fate.killed_by for fate in fates(NORM, "dropped_block"))


def test_a_number_that_is_always_the_same_is_varied_or_refused() -> None:
    inputs = "torch.randn(N, C), 3"
    scaled = problem("return x * scale", names="x, scale", inputs=inputs)
    known = {fate.mutant.place: fate for fate in fates(scaled, "constant_argument")}
    assert known["x"].killed_by == "time"
    assert known["scale"].killed_by == "time, other numbers"


def test_an_argument_that_nothing_reads_is_no_mutant() -> None:
    inputs = "torch.randn(N, C), torch.randn(N)"
    unread = problem("return x * 2", names="x, y", inputs=inputs)
    known = {fate.mutant.place: fate for fate in fates(unread, "constant_argument")}
    assert known["y"].equivalent
    assert not known["y"].alive


def test_a_module_that_computes_the_same_is_no_mutant() -> None:
    one = problem("return torch.relu(torch.abs(x))")
    (relu,) = [fate for fate in fates(one, "dropped_branch") if "relu" in fate.mutant.place]
    assert relu.equivalent
    assert not relu.kinds
    found = check_problem(one)
    assert found.admitted
    assert found.mutants == sum(not fate.equivalent for fate in judge_mutants(one))


def test_the_fates_of_mutants_are_the_same_each_time() -> None:
    one = problem("return self.layer(x)", "self.layer = nn.Linear(C, 8)")
    assert check_problem(one).fates == check_problem(one).fates


KINDS = ("a", "b", "c", "d")


def fate(kinds: list[str]) -> Fate:
    return Fate(Mutant("dropped_tail", "sum line 1", lambda *_: []), kinds=kinds)


@given(st.lists(st.lists(st.sampled_from(KINDS), unique=True), max_size=8))
def test_what_is_kept_shows_every_mutant_that_can_be_shown(some: list[list[str]]) -> None:
    kept = set(fewest([fate(kinds) for kinds in some]))
    assert all(kept & set(kinds) for kinds in some if kinds)
    assert kept <= {kind for kinds in some for kind in kinds}


def test_one_kind_that_shows_all_is_all_that_is_kept() -> None:
    assert fewest([fate(["a", "b"]), fate(["b", "c"]), fate(["b"])]) == ("b",)


@given(st.lists(st.sampled_from(sorted(DISTRIBUTIONS.keys() - {AS_MADE})), unique=True, max_size=4))
def test_a_problem_is_itself_again_without_what_it_keeps(kinds: list[str]) -> None:
    kept = with_kept(NORM, kinds)
    assert without_kept(kept) == NORM
    assert (kept.key == NORM.key) == (not kinds)
    more = kept.cases[len(NORM.cases) :]
    assert [one.distribution for one in more] == kinds
    assert all(one.role is Role.HELD_OUT for one in more)
    assert all(one.sizes == NORM.timed_case().sizes for one in more)
    assert kept.timed_case() == NORM.timed_case()


def test_no_case_of_a_starter_problem_is_taken_for_one_that_is_kept() -> None:
    for one in blueprints():
        assert without_kept(one.problem()) == one.problem()


def test_an_admitted_problem_has_the_cases_that_it_keeps() -> None:
    found = Admission(
        problem=NORM.name,
        key=NORM.key,
        tried=("zeros",),
        accepted=(),
        rules=rules(),
        kept=("near_degenerate",),
    )
    admitted = as_admitted(NORM, {NORM.name: found})
    assert admitted == with_kept(NORM, ["near_degenerate"])


def test_an_admission_is_of_the_problem_without_what_it_keeps() -> None:
    found = check_problem(with_kept(NORM, ["near_degenerate"]))
    assert found.key == NORM.key
    assert found == check_problem(NORM)


def test_what_draws_and_what_is_left_out_decide_an_admission() -> None:
    names = {one.stem for one in deciding_files()}
    kept = {"admission", "distributions", "module", "mutants", "mutant_calls", "mutant_search"}
    assert {*kept, "structure", "tolerance", "value_kinds"} <= names
    assert not {"client", "layout", "process"} & names


NEWTON = """y = torch.ones_like(x)
        for _ in range(30):
            y = 0.5 * (y + x / y)
        return y"""


def test_a_loop_whose_late_turns_show_on_unusual_values_only_is_refused() -> None:
    found = check_problem(problem(NEWTON, inputs="torch.rand(8, 16) * 4 + 0.5"))
    assert "alive:half_iterations@loop line 16" in found.accepted
    slow = problem(NEWTON.replace("30", "6"), inputs="torch.rand(8, 16) * 4 + 0.5")
    assert not any("half" in name for name in check_problem(slow).accepted)
