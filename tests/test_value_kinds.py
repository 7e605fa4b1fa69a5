"""Kinds of values, and states, that show what a kernel leaves out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from kernelwright.envs.reference.applicable_kinds import applicable_kinds
from kernelwright.envs.reference.distributions import (
    AS_MADE,
    DISTRIBUTIONS,
    FEW,
    all_changed,
    judged_cases,
)
from kernelwright.envs.reference.prepare import prepare
from kernelwright.envs.reference.regions import dead_inputs, strengthenings
from kernelwright.envs.reference.value_kinds import VALUE_KINDS
from kernelwright.envs.types import Case, Problem

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
LAYER = "        self.layer = {}\n"


def problem(body: str, inputs: str, made: str = "", distribution: str = "given") -> Problem:
    code = f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    code += f"{made}    def forward(self, x):\n{body}"
    code += f"def get_inputs():\n    return [{inputs}]\n"
    return Problem(
        name="p", code=code, cases=(Case(name="a", sizes=(), distribution=distribution),)
    )


def one_line(body: str, inputs: str, made: str = "") -> Problem:
    return problem(f"        return {body}\n", inputs, made and LAYER.format(made))


LOOP = (
    "        s = x[:, 0]\n"
    "        for t in range(1, x.shape[1]):\n"
    "            s = 0.5 * s + 0.5 * x[:, t]\n"
    "        return s\n"
)
ITERATION = (
    "        y = torch.ones_like(x)\n"
    "        for _ in range(9):\n"
    "            y = 0.5 * (y + x / y)\n"
    "        return y\n"
)


@pytest.mark.parametrize(
    ("found", "of"),
    [
        ((), one_line("x.relu() * 2", "torch.randn(8, 64)")),
        ((), one_line("x @ x.T", "torch.randn(8, 64)")),
        (("clustered",), one_line("x.mean(dim=1)", "torch.randn(8, 64)")),
        (
            ("near_degenerate", "clustered"),
            one_line("F.layer_norm(x, (64,))", "torch.randn(8, 64)"),
        ),
        (
            ("near_degenerate, all", "clustered"),
            one_line("x / (x.norm() + 1e-6)", "torch.randn(64)"),
        ),
        (("impulse, smaller",), one_line("x.cumsum(dim=1)", "torch.randn(8, 16)")),
        (
            ("long_memory", "impulse", "usual_range"),
            one_line("self.layer(x)[0]", "torch.randn(2, 9, 4)", "nn.GRU(4, 4, batch_first=True)"),
        ),
        (("long_memory", "impulse", "usual_range"), problem(LOOP, "torch.randn(4, 32)")),
        (("near_boundary", "impulse", "usual_range"), problem(ITERATION, "torch.rand(32)")),
    ],
)
def test_a_graph_says_which_kinds_it_can_show(found: tuple[str, ...], of: Problem) -> None:
    assert applicable_kinds(of) == found


def test_each_kind_is_a_case_at_the_timed_size_unless_the_problem_names_some() -> None:
    one = one_line("x.mean(dim=1)", "torch.randn(8, 64)")
    kinds = applicable_kinds(one)
    names = [case.name for case in judged_cases(one, kinds)]
    assert names == ["a", "a, other values", "a, clustered"]
    own = replace(one, cases=(*one.cases, Case(name="b", sizes=(), distribution="impulse")))
    assert applicable_kinds(own) == ()
    more = judged_cases(own, kinds)[len(own.cases) :]
    assert [case.distribution for case in more] == ["a few others"]
    other = replace(one, cases=(replace(one.cases[0], distribution=AS_MADE),))
    assert judged_cases(other, applicable_kinds(other)) == other.cases


@pytest.mark.parametrize("name", VALUE_KINDS)
def test_a_kind_changes_few_values_and_the_same_for_the_same_seed(name: str) -> None:
    torch.manual_seed(0)
    given = torch.randn(256, 512)
    torch.manual_seed(1)
    changed = DISTRIBUTIONS[name].changed(given)
    torch.manual_seed(1)
    assert torch.equal(changed, DISTRIBUTIONS[name].changed(given))
    share = float((changed != given).float().mean())
    assert share == 1 if name.endswith("all") else 0 < share < 0.1
    assert changed.isfinite().all()


def test_what_is_left_out_of_a_sum_is_seen_wherever_it_lies() -> None:
    torch.manual_seed(0)
    x = DISTRIBUTIONS["clustered"].changed(torch.rand(64, 4099))
    whole = x.sum(dim=1)
    parts = {
        "first half": 2 * x[:, :2049].sum(dim=1),
        "every other block": 2 * x[:, : 64 * 64].unflatten(1, (64, 64))[:, ::2].sum(dim=(1, 2)),
        "without the tail": x[:, : 4099 // 128 * 128].sum(dim=1),
    }
    for name, part in parts.items():
        assert ((part - whole).abs() / whole).max() > 0.03, name


def test_usual_values_lie_in_the_range_that_is_drawn_and_some_rows_at_one_end() -> None:
    torch.manual_seed(0)
    given = torch.randn(32, 64, 16)
    found = DISTRIBUTIONS["usual_range"].changed(given)
    assert set(found.unique().tolist()) <= set(given.unique().tolist())
    rows = found.flatten(1).mean(dim=1)
    assert rows.max() > 1
    assert rows.min() < -1


def test_a_usual_matrix_mixes_slowly() -> None:
    torch.manual_seed(0)
    given = torch.rand(3, 48, 48)
    found = DISTRIBUTIONS["usual_range"].changed(given)
    assert given.min() <= found.min() <= found.max() <= given.max()
    for before, after in zip(given, found, strict=True):
        usual, slow = (torch.linalg.eigvals(one).abs().sort().values for one in (before, after))
        assert usual[-2] / usual[-1] < 0.3
        assert slow[-2] / slow[-1] > 0.8


@pytest.mark.parametrize("count", [17, 100, 256, 512, 1000])
def test_impulses_lie_where_blocks_of_every_usual_size_end(count: int) -> None:
    torch.manual_seed(0)
    places = DISTRIBUTIONS["impulse"].changed(torch.randn(count)).abs() > 100
    before = {int(one) + 1 for one in places.nonzero()}
    sizes = [one for one in (16, 32, 64, 128, 256) if one < count]
    assert any(all(place % size == 0 for size in sizes) for place in before)
    assert places[: max(1, count // 16)].any()


@pytest.mark.parametrize("seed", range(20))
def test_no_lane_has_two_impulses_where_there_are_enough(seed: int) -> None:
    torch.manual_seed(seed)
    large = DISTRIBUTIONS["impulse"].changed(torch.randn(4, 256, 8)).abs() > 100
    assert int(large.sum()) == int(large.any(dim=1).sum()) == 7


def test_float64_inputs_are_nearly_equal_at_some_places() -> None:
    torch.manual_seed(0)
    x, y = all_changed([torch.randn(64, 8).double() for _ in range(2)], FEW["a few others"])
    same = x.float() == y.float()
    assert bool(((x > y) & same).any())
    assert bool(((x < y) & same).any())
    assert float(same.double().mean()) < 0.1


@pytest.mark.parametrize("epsilon", [1e-5, 1e-6, 1e-8, 1e-12])
def test_some_rows_are_so_small_that_an_epsilon_shows(epsilon: float) -> None:
    torch.manual_seed(0)
    x = DISTRIBUTIONS["near_degenerate"].changed(torch.randn(64, 128)).double()
    variance = x.var(dim=1, correction=0)
    assert ((variance + epsilon).sqrt() / variance.sqrt()).max() > 1.01


def early_step_matters(of: Problem) -> bool:
    ready = prepare(of, of.cases[0])
    return not dead_inputs(ready.reference, ready.tolerances, ready.spreads)


LAST = "        return self.layer(x)[0][:, -1]\n"


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.slow
def test_a_recurrent_layer_remembers_its_first_steps(kind: str) -> None:
    made = LAYER.format(f"nn.{kind}(8, 16, batch_first=True)")
    of = problem(LAST, "torch.randn(2, 192, 8)", made)
    names, steps = strengthenings(of)
    assert names
    assert steps == 192
    assert early_step_matters(of)


GATED = (
    "        h = torch.zeros_like(x[:, 0])\n"
    "        for t in range(x.shape[1]):\n"
    "            z = torch.sigmoid(x[:, t] @ self.w + h @ self.u)\n"
    "            h = (1 - z) * h + z * torch.tanh(x[:, t])\n"
    "        return h\n"
)
PLAIN = (
    "        h = torch.zeros_like(x[:, 0])\n"
    "        for t in range(x.shape[1]):\n"
    "            h = torch.tanh(x[:, t] + h @ self.u)\n"
    "        return h\n"
)
WEIGHT = "        self.{} = nn.Parameter(torch.randn(16, 16) * 0.1)\n"


@pytest.mark.parametrize(
    ("body", "names"),
    [(GATED, "wu"), (PLAIN, "u"), (GATED.replace("(1 - z) * h + z", "z * h + (1 - z)"), "wu")],
)
def test_a_cell_without_biases_remembers_its_first_steps(body: str, names: str) -> None:
    of = problem(body, "torch.randn(8, 128, 16)", "".join(map(WEIGHT.format, names)))
    assert strengthenings(of)[1] == 128
    assert early_step_matters(of)


def test_states_as_they_are_made_are_judged_at_the_timed_size() -> None:
    made = "        self.keep = nn.Parameter(torch.rand(16) * 0.5 + 0.3)\n"
    of = problem(LOOP.replace("0.5 * s", "self.keep * s"), "torch.randn(4, 64, 16)", made)
    cases = judged_cases(of, applicable_kinds(of))
    largest = {
        one.name: prepare(of, one, first=False).reference.draw(1)[1]["keep"].max() for one in cases
    }
    assert largest["a"] > 0.95
    assert largest["a, other values"] < 0.9
    assert largest["a, impulse"] < 0.9


def test_a_deep_batch_norm_in_evaluation_sees_its_input() -> None:
    layers = "[nn.Linear(16, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU()]"
    made = LAYER.format(f"nn.Sequential(*[m for _ in range(24) for m in {layers}])")
    of = problem("        return self.layer(x)\n", "torch.rand(16, 16)", made)
    assert strengthenings(of)[0] in (("calibrated",), ("larger_weights",))
    assert early_step_matters(of)


def test_an_input_with_a_region_that_changes_nothing_is_named() -> None:
    ready: Any = prepare(*((one := one_line("x[:, :3] * 2", "torch.randn(4, 16)")), one.cases[0]))
    assert dead_inputs(ready.reference, ready.tolerances, ready.spreads) == ["x"]
    assert early_step_matters(one_line("x.mean(dim=1)", "torch.randn(4, 16)"))


def test_decays_stay_below_one() -> None:
    made = "        self.keep = nn.Parameter(torch.full((64,), 0.9))\n"
    of = problem("        return x * self.keep\n", "torch.randn(4, 64)", made)
    keep = prepare(of, of.cases[0]).reference.draw(3)[1]["keep"]
    assert 0 < keep.min() < keep.max() < 1
