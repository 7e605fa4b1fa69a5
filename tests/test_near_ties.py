"""What a unit in the last place decides may be decided either way, and nothing else."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.data.suites.load import load_suite
from kernelwright.data.triples.templates import template_triples
from kernelwright.envs.judge import Judge
from kernelwright.envs.reference.decisions import REST_OF, STEPS, Recorded, margins_of
from kernelwright.envs.reference.derive_tolerance import NUDGE_UNITS, rounding_tolerances
from kernelwright.envs.reference.made_of_steps import MADE_OF_STEPS
from kernelwright.envs.reference.module import Drawn, forward_float64
from kernelwright.envs.reference.near_ties import ALL, BOTH_WAYS, PICKS, NearTies, turned
from kernelwright.envs.reference.next_floats import in_next_floats
from kernelwright.envs.reference.plain_loops import as_loops, float32_holds, lossy_runs, watching
from kernelwright.envs.reference.runs import Run
from kernelwright.envs.types import Candidate, Case, Problem, Verdict

ROW = torch.tensor([[0.5, 1.0, 0.2, 1.0 + 1e-7, 1.0 - 1e-5], [3.0, 1.0, 2.0, 0.0, -1.0]]).double()
NEAR = ROW + torch.tensor([[0.0, 0.0, 0.0, 1e-7, 0.0], [0.0] * 5]).double()


def within(pick: int, ask: Any) -> Any:
    with watching(NearTies(NUDGE_UNITS * 2.0**-23, pick)):
        return ask(NEAR)


@pytest.mark.parametrize(
    ("ask", "first", "last"),
    [
        (lambda x: x.argmax(dim=1), [1, 0], [3, 0]),
        (lambda x: x.max(dim=1).indices, [1, 0], [3, 0]),
        (lambda x: (-x).argmin(1), [1, 0], [3, 0]),
        (lambda x: (-x).min(-1, keepdim=True)[1].flatten(), [1, 0], [3, 0]),
        (lambda x: x.T.argmax(dim=0), [1, 0], [3, 0]),
        (lambda x: (x > 1.0).sum(1), [0, 2], [1, 2]),
    ],
)
def test_a_near_tie_is_decided_by_the_first_and_by_the_last(
    ask: Any, first: list[int], last: list[int]
) -> None:
    assert within(1, ask).tolist() == first
    assert within(ALL, ask).tolist() == within(2, ask).tolist() == last


def test_of_three_that_are_near_each_has_its_run() -> None:
    row = torch.tensor([0.0, 1.0, 0.5, 1.0, 1.0]).double()
    found = []
    for pick in PICKS:
        with watching(NearTies(NUDGE_UNITS * 2.0**-23, pick)):
            found.append(row.argmax(dim=0).item())
    assert found == [1, 3, 4]


def test_a_maximum_stays_the_value_at_its_index() -> None:
    values, indices = within(1, lambda x: x.max(dim=1))
    assert torch.equal(values, NEAR.gather(1, indices[:, None])[:, 0])


def test_nan_is_the_largest_as_it_always_is() -> None:
    row = torch.tensor([[1.0, float("nan"), 2.0]])
    with watching(NearTies(NUDGE_UNITS * 2.0**-23, ALL)):
        assert row.argmax(dim=1).tolist() == row.max(dim=1).indices.tolist() == [1]


OF_EACH_STEP = {
    "gt": (lambda x: (x + 2) > 2, [0, 0], [1, 1], [0, 0]),
    "ge": (lambda x: (x + 2) >= 2, [0, 0], [1, 1], [1, 1]),
    "lt": (lambda x: (x + 2) < 2, [1, 1], [0, 0], [0, 0]),
    "le": (lambda x: (x + 2).le_(2), [1, 1], [0, 0], [1, 1]),
    "round": (lambda x: (x + 1.5).round(), [1, 1], [2, 2], [2, 2]),
    "round_": (lambda x: (x + 1.5).round_(), [1, 1], [2, 2], [2, 2]),
    "floor": (lambda x: (x + 2).floor(), [1, 1], [2, 2], [2, 2]),
    "ceil": (lambda x: (x + 2).ceil(), [2, 2], [3, 3], [2, 2]),
    "trunc": (lambda x: (x - 2).trunc(), [-2, -2], [-1, -1], [-2, -2]),
    "sign": (lambda x: (x + 2 - 2).sign(), [-1, 1], [-1, 1], [0, 0]),
    "frac": (lambda x: (x + 2).frac().round(decimals=5), [1, 1], [0, 0], [0, 0]),
    "fmod": (lambda x: (x + 2).fmod(0.5).round(decimals=5), [0.5, 0.5], [0, 0], [0, 0]),
    "remainder": (lambda x: (x + 2).remainder(0.5).round(decimals=5), [0.5, 0.5], [0, 0], [0, 0]),
    "_to_copy": (lambda x: (x + 2).to(torch.int32), [1, 1], [2, 2], [2, 2]),
    "floor_divide": (lambda x: torch.floor_divide(x + 2, 0.5), [3, 3], [4, 4], [4, 4]),
    "div": (lambda x: torch.div(x + 2, 0.5, rounding_mode="floor"), [3, 3], [4, 4], [4, 4]),
    "bucketize": (
        lambda x: torch.bucketize(x + 2, torch.tensor([1.0, 2.0]).double()),
        [1, 1],
        [2, 2],
        [1, 1],
    ),
    "searchsorted": (
        lambda x: torch.searchsorted(torch.tensor([1.0, 2.0]).double(), x + 2),
        [1, 1],
        [2, 2],
        [1, 1],
    ),
    "hardshrink": (
        lambda x: functional.hardshrink(x + 2, 2.0).round(decimals=5),
        [0, 0],
        [2, 2],
        [0, 0],
    ),
    "threshold": (
        lambda x: functional.threshold(x + 2, 2.0, 5.0).round(decimals=5),
        [5, 5],
        [2, 2],
        [5, 5],
    ),
    "heaviside": (
        lambda x: torch.heaviside(x + 2 - 2, torch.tensor(0.5).double()),
        [0, 1],
        [0, 1],
        [0.5, 0.5],
    ),
    "fake_quantize_per_tensor_affine_cachemask": (
        lambda x: torch.fake_quantize_per_tensor_affine(x + 1.5, 1.0, 0, -8, 7),
        [1, 1],
        [2, 2],
        [2, 2],
    ),
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": (
        lambda x: torch.fake_quantize_per_tensor_affine(
            x + 1.5, torch.ones(1), torch.zeros(1, dtype=torch.int32), -8, 7
        ),
        [1, 1],
        [2, 2],
        [2, 2],
    ),
    "fake_quantize_per_channel_affine_cachemask": (
        lambda x: torch.fake_quantize_per_channel_affine(
            x + 1.5, torch.ones(2), torch.zeros(2, dtype=torch.int32), 0, -8, 7
        ),
        [1, 1],
        [2, 2],
        [2, 2],
    ),
}
"""Operator → (the module, its steps of values that are reduced, of values that are increased, and
where float64 is exactly at the step)."""


@pytest.mark.parametrize("name", OF_EACH_STEP)
def test_a_value_near_a_step_is_taken_to_both_and_a_value_at_a_step_to_its_own(name: str) -> None:
    module, less, more, own = OF_EACH_STEP[name]
    near, at = torch.tensor([-1e-7, 1e-7]).double(), torch.zeros(2).double()
    found = {}
    for pick in BOTH_WAYS:
        with watching(NearTies(NUDGE_UNITS * 2.0**-23, pick)):
            found[pick] = module(near).tolist()
            assert module(at).tolist() == own
    assert found == {1: less, 2: more}


def test_every_operator_of_steps_is_tried() -> None:
    assert {*OF_EACH_STEP} == {*STEPS, *MADE_OF_STEPS, "round_"} >= {*REST_OF}


@given(
    st.lists(st.sampled_from([-2.0, -0.5, -0.25, 0.0, 0.05, 0.5, 0.75, 9.0, math.nan]), min_size=2)
)
def test_operators_made_of_steps_give_what_pytorch_gives(values: list[float]) -> None:
    x = torch.tensor(values).double()
    scale, zero = torch.full((len(values),), 0.25), torch.ones(len(values), dtype=torch.int32)
    for name, rest in {
        "hardshrink": (0.5,),
        "threshold": (0.5, 20.0),
        "heaviside": (torch.tensor(0.5).double(),),
        "fake_quantize_per_tensor_affine_cachemask": (0.25, 1, -4, 3),
        "fake_quantize_per_channel_affine_cachemask": (scale, zero, 0, -4, 3),
    }.items():
        given_ = x.nan_to_num() if "quantize" in name else x
        wanted = getattr(torch.ops.aten, name)(given_, *rest)
        found = MADE_OF_STEPS[name](given_, *rest)
        pairs = [(found, wanted)] if torch.is_tensor(found) else zip(found, wanted, strict=True)
        for one, other in pairs:
            torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    ("module", "met"),
    [
        *((one[0], True) for one in OF_EACH_STEP.values()),
        (lambda x: x.argmax(dim=0), True),
        (lambda x: torch.where(x > 0.5, x, -x), True),
        (lambda x: torch.where(x > 0, x, 0.1 * x), False),
        (lambda x: torch.where(x[1:] > 0, 1.0, 0.0), False),
        (lambda x: torch.where(x - x.mean() > 0, 1.0, 0.0), True),
        (lambda x: x.relu().softmax(0) / x.exp(), False),
        (lambda x: (x > 0).double(), False),
        (lambda x: torch.arange(2).to(torch.int32) // 2, False),
    ],
)
def test_only_where_rounding_can_decide_the_module_is_run_again(module: Any, met: bool) -> None:
    given = torch.tensor([1.0, 2.0]).double()
    decisions = Recorded()
    with watching(decisions):
        module(given)
    assert decisions.met is met


FAKE_QUANTISED = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        scale = x.abs().max() / 127
        return torch.round(x / scale) * scale


def get_inputs():
    return [torch.randn(30000)]


def get_init_inputs():
    return []
"""
BY_ITS_RECIPROCAL = """#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  float most = 0;
  for (int64_t i = 0; i < x_0; ++i) most = std::fmax(most, std::fabs(x[i]));
  const float scale = most / 127.0f, inverse = 127.0f / most;
  for (int64_t i = 0; i < x_0; ++i) out[i] = ROUNDED(x[i] * inverse) * scale;
}
"""


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_quantised_value_near_a_step_may_lie_on_either_side_of_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "fake_quantised.py").write_text(FAKE_QUANTISED)
    problem = load_problem(tmp_path / "fake_quantised.py")
    found = {}
    with Judge(1) as judge:
        for rounded in ("std::nearbyint", "std::floor"):
            source = BY_ITS_RECIPROCAL.replace("ROUNDED", rounded)
            one = Candidate(problem_key=problem.key, dialect="cpp", source=source)
            asked = [judge.evaluate(problem, one, timed=False, seed=1000 + n) for n in range(60)]
            found[rounded] = {it.verdict for it in asked}
    assert found == {"std::nearbyint": {Verdict.CORRECT}, "std::floor": {Verdict.WRONG}}


@pytest.mark.sandbox
@pytest.mark.slow
def test_sines_with_their_tops_near_each_other_are_judged_right_each_time() -> None:
    problems = {one.name: one for one in load_suite("starter:train").problems}
    problem = problems["row_sin_argmax"]
    problem = replace(problem, cases=(problem.timed_case(),))  # its largest, with most near ties
    (source,) = (
        one.source for one in template_triples(dialect="cpp") if one.problem.name == problem.name
    )
    candidate = Candidate(problem_key=problem.key, dialect="cpp", source=source)
    with Judge(1) as judge:
        found = [judge.evaluate(problem, candidate, timed=False, seed=n) for n in range(40)]
    assert [one.verdict for one in found] == [Verdict.CORRECT] * 40


def test_a_value_exactly_at_a_step_is_taken_both_ways_only_where_rounding_is_on_its_way() -> None:
    x = torch.tensor([[127.0 * 0.3, 63.5 * 0.3], [0.5, 1.5]])
    found = {}
    for name, module in (
        ("a quotient that float32 rounds", lambda x: (x[0] / (x[0].max() / 127)).round()),
        ("a product that it holds", lambda x: (x[1] * 3).round()),
    ):
        drawn: Drawn = (Applied(module), {}, [x])
        recorded = Recorded()
        with watching(recorded):
            forward_float64(*drawn)
        moved = margins_of(recorded.decisions, [partial(in_next_floats, drawn)] * 8)
        rounded = [one > 0 for one in moved]
        ways, _ = turned(drawn, NUDGE_UNITS * 2.0**-23, BOTH_WAYS, (), rounded)
        found[name] = [way[0].tolist() for way in ways]
    assert found == {
        "a quotient that float32 rounds": [[127.0, 63.0], [127.0, 64.0]],
        "a product that it holds": [[2.0, 4.0]] * 2,
    }


def test_a_sign_near_zero_may_be_any_of_three() -> None:
    found = []
    for pick in PICKS:
        with watching(NearTies(NUDGE_UNITS * 2.0**-23, pick, [torch.tensor(1e-7)])):
            found.append(torch.tensor([1e-9, 1.0, -1.0]).double().sign().tolist())
    assert found == [[-1, 1, -1], [1, 1, -1], [0, 1, -1]]


def test_the_largest_of_all_is_a_rank() -> None:
    near = torch.tensor([[1.0, 0.5], [1.0 - 1e-7, 0.0]]).double()
    found = []
    for pick in BOTH_WAYS:
        with watching(NearTies(NUDGE_UNITS * 2.0**-23, pick)):
            found.append(near.argmax().item())
    assert found == [0, 2]


def test_a_decision_is_found_within_operators_that_consist_of_others() -> None:
    drawn: Drawn = (Applied(lambda x: (x * 3).int()), {}, [torch.tensor([0.3])])
    recorded = Recorded()
    with watching(recorded):
        forward_float64(*drawn)
    assert [one.name for one in recorded.decisions] == ["_to_copy"]


@pytest.mark.parametrize("multiplied", [False, True])
def test_a_quantiser_is_allowed_no_more_than_rounding_where_each_element_has_one_decision(
    *, multiplied: bool
) -> None:
    def quantised(x: torch.Tensor) -> torch.Tensor:
        scale = x.abs().amax(dim=-1, keepdim=True) / 127
        found = torch.round(x / scale) * scale
        return found @ x.T if multiplied else found

    torch.manual_seed(0)
    problem = Problem(name="p", code=FAKE_QUANTISED, cases=(Case(name="c", sizes=()),))
    seen = Run((Applied(quantised), {}, [torch.randn(512, 512)]))
    (found,) = rounding_tolerances(problem, seen)
    assert (found.of_spread <= 2e-5) is not multiplied


def test_whole_numbers_beside_a_large_one_are_compared_as_they_are() -> None:
    drawn: Drawn = (Applied(lambda x: x + 8e6 > 8e6 + 3), {}, [torch.arange(8.0)])
    recorded = Recorded()
    with watching(recorded):
        exact = forward_float64(*drawn)
    margins = margins_of(recorded.decisions, lossy_runs(drawn, 2.0**-23))
    ways, _ = turned(drawn, NUDGE_UNITS * 2.0**-23, BOTH_WAYS, margins)
    assert [way[0].tolist() for way in ways] == [exact.tolist()] * 2


def test_a_product_that_is_a_float32_by_chance_is_rounded_as_those_beside_it() -> None:
    """By 2.1 as a float32 it is -6.6000004, of which the remainder is on the step's other side."""
    x = torch.tensor([-3.1428576, 0.3])
    assert float32_holds((x.double() * 2.1)[:1])
    drawn: Drawn = (Applied(lambda x: torch.remainder(x * 2.1, 0.6)), {}, [x])
    recorded = Recorded()
    with watching(recorded):
        forward_float64(*drawn)
    margins = margins_of(recorded.decisions, lossy_runs(drawn, 2.0**-23))
    ways, _ = turned(drawn, NUDGE_UNITS * 2.0**-23, BOTH_WAYS, margins)
    assert sorted(abs(way[0][0]) < 1e-5 for way in ways) == [False, True]


class Applied(torch.nn.Module):
    """A module that applies a function."""

    def __init__(self, apply: Any) -> None:
        super().__init__()
        self.forward = apply


@pytest.mark.parametrize(
    "module",
    [
        lambda x, y: x @ y.T + torch.full((64, 64), -1e12, dtype=x.dtype).triu(1),
        lambda x, y: torch.nn.functional.normalize(torch.cat([x @ y.T, 0 * x @ y.T]), dim=-1),
    ],
    ids=["large numbers beside", "rows of zeros beside"],
)
def test_what_lies_beside_brings_no_value_nearer_to_a_step(module: Any) -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(64, 32), torch.randn(64, 32)]
    drawn: Drawn = (Applied(lambda x, y: (module(x, y) > 0.25).float()), {}, inputs)
    recorded = Recorded()
    with watching(recorded):
        exact = forward_float64(*drawn)
    margins = margins_of(recorded.decisions, [partial(as_loops, drawn, 2.0**-23, each=True)] * 4)
    ways, _ = turned(drawn, NUDGE_UNITS * 2.0**-23, BOTH_WAYS, margins)
    assert all((way[0] != exact.numpy()).mean() < 1e-2 for way in ways)
