"""Values lie beyond each limit of a module's graph, and at it, where inputs lead there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from kernelwright.envs.reference.applicable_kinds import applicable_kinds
from kernelwright.envs.reference.around_limits import around_limits
from kernelwright.envs.reference.distributions import judged_cases
from kernelwright.envs.reference.prepare import Ready, prepare
from kernelwright.envs.types import Case, Problem

X = "torch.randn(16, 64)"
IDS = "torch.randint(0, 16, (64,))"
ROWS = f"{X}, torch.randint(0, 64, (16,))"
QKV = ", ".join(["torch.randn(2, 16, 8)"] * 3)


def problem(body: str, inputs: str) -> Problem:
    code = "import torch\nimport torch.nn.functional as F\nclass Model(torch.nn.Module):\n"
    code += f"    def forward(self, x, y=None, z=None):\n        return {body}\n"
    code += f"def get_inputs():\n    return [{inputs}]\n"
    return Problem(name="p", code=code, cases=(Case(name="c", sizes=()),))


def of_kind(one: Problem, kind: str) -> Ready:
    (case,) = (case for case in judged_cases(one, (kind,)) if case.distribution == kind)
    ready = prepare(one, case, first=False)
    assert ready.reference.case.distribution == kind
    return ready


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        ("x.softmax(dim=1)", X),
        ("x.log_softmax(dim=0)", X),
        ("x.logsumexp(dim=1)", X),
        ("F.cross_entropy(x, y)", ROWS),
        ("F.cross_entropy(x, y, label_smoothing=0.1)", ROWS),
        ("F.softplus(x)", X),
        ("F.logsigmoid(x)", X),
        ("F.scaled_dot_product_attention(x, y, z)", QKV),
        ("(x @ y.mT).softmax(dim=-1) @ z", QKV),
        ("(x - x.amax(1, keepdim=True)).exp()", X),
        ("x.softmax(dim=1)", f"{X}.double()"),
        ("x.softmax(dim=1)", f"{X}.bfloat16()"),
    ],
)
def test_rows_overflow_where_a_module_subtracts_the_maximum(body: str, inputs: str) -> None:
    assert "near_overflow" in applicable_kinds(problem(body, inputs))


@pytest.mark.parametrize(
    "body",
    [
        "x.tanh().softmax(dim=1)",
        "(x.sigmoid() * 20).logsumexp(dim=1)",
        "x.exp() / x.exp().sum(dim=1, keepdim=True)",
        "x.sin()",
    ],
)
def test_nothing_overflows_that_cannot_or_that_the_module_does_not_bear(body: str) -> None:
    assert "near_overflow" not in applicable_kinds(problem(body, X))


def test_a_softmax_without_its_maximum_or_with_that_of_some_is_no_softmax() -> None:
    ready = of_kind(problem("x.softmax(dim=1)", X), "near_overflow")
    wrong = []
    for seed in range(4):
        x = ready.reference.draw(seed)[2][0]
        assert 0 < (x.abs() > 20).float().mean() < 0.3
        for most in (torch.zeros(16, 1), x[:, :1], x[:, ::8].amax(1, keepdim=True)):
            found = (x - most).exp()
            wrong.append(not torch.allclose(found / found.sum(1, keepdim=True), x.softmax(1)))
    assert sum(wrong) >= 10


def test_behind_a_product_values_are_no_larger_than_they_have_to_be() -> None:
    """With larger ones rounding decides which score is the largest, and right kernels differ."""
    one = problem("(x @ x.mT).softmax(dim=-1) @ x", "torch.randn(2, 16, 32)")
    plan = around_limits(one).plans["near_overflow"]
    assert plan.size <= 130 / 4
    ready = of_kind(one, "near_overflow")
    for seed in range(8):
        x = ready.reference.draw(seed)[2][0]
        assert (x @ x.mT).exp().isinf().any()
    assert around_limits(problem("x.softmax(dim=1)", X)).plans["near_overflow"].size == 130


@pytest.mark.parametrize(
    ("axis", "sizes"),
    [(0, "8, 16, 12"), (1, "8, 16, 12"), (2, "8, 16, 12"), (0, "80, 96"), (1, "80, 96")],
)
def test_a_softmax_over_any_axis_needs_all_of_its_maximum(axis: int, sizes: str) -> None:
    one = problem(f"x.softmax(dim={axis})", f"torch.randn({sizes})")
    ready = of_kind(one, "near_overflow")
    wrong = set()
    for seed in range(4):
        x = ready.reference.draw(seed)[2][0].movedim(axis, -1)
        starts = {
            "at zero": x.amax(-1, keepdim=True).clamp(min=0),
            "after the first": x[..., 1:].amax(-1, keepdim=True),
            "before the last": x[..., :-1].amax(-1, keepdim=True),
        }
        for name, most in starts.items():
            powers = (x - most).exp()
            found = powers / powers.sum(-1, keepdim=True)
            if not torch.allclose(found, x.softmax(-1)):
                wrong.add(name)
    assert wrong == {"at zero", "after the first", "before the last"}


@pytest.mark.parametrize(
    ("body", "sizes", "from_zero"),
    [
        ("x.argmax(dim=1)", "16, 56", lambda x: x.clamp(min=0).argmax(1)),
        ("x.argmin(dim=0)", "56, 16", lambda x: x.clamp(max=0).argmin(0)),
        ("x.amax(dim=-1)", "4, 8, 64", lambda x: x.amax(-1).clamp(min=0)),
        ("x.min(dim=1).values", "4, 64, 8", lambda x: x.amin(1).clamp(max=0)),
        ("x.amax(dim=(2, 3))", "4, 8, 16, 16", lambda x: x.amax((2, 3)).clamp(min=0)),
        ("F.adaptive_max_pool2d(x, 1)", "4, 8, 16, 16", lambda x: x.amax((2, 3)).clamp(min=0)),
        ("(x * 3 - 2).topk(3).values.sum(-1)", "16, 64", lambda x: _from_zero(x * 3 - 2)),
        ("x.topk(3, largest=False).values.sum(-1)", "16, 64", lambda x: -_from_zero(-x)),
        ("x.kthvalue(60, dim=1).values", "16, 64", lambda x: x.kthvalue(60, 1)[0].clamp(min=0)),
        ("x.sort(dim=1).values[:, -1]", "16, 64", lambda x: x.amax(1).clamp(min=0)),
        ("torch.aminmax(x, dim=1).max", "16, 64", lambda x: x.amax(1).clamp(min=0)),
        ("x.cummax(dim=1).values", "16, 64", lambda x: x.cummax(1).values.clamp(min=0)),
        ("x.cummin(dim=0).values", "64, 16", lambda x: x.cummin(0).values.clamp(max=0)),
        (
            "x[:, :4].scatter_reduce(1, torch.arange(64).expand(16, 64) % 4, x, 'amax')",
            "16, 64",
            lambda x: x.view(16, 16, 4).amax(1).clamp(min=0),
        ),
    ],
)
def test_rows_of_one_sign_show_an_extreme_that_starts_at_zero(
    body: str, sizes: str, from_zero: Callable[[Any], Any]
) -> None:
    ready = of_kind(problem(body, f"torch.randn({sizes})"), "signed_rows")
    for seed in range(8):
        model, _, (x,) = ready.reference.draw(seed)
        assert not torch.allclose(model(x).flatten().double(), from_zero(x).flatten().double())
        assert x.min() < 0 < x.max()


@pytest.mark.parametrize(
    ("body", "sizes", "from_zero"),
    [
        ("x.amax()", "16, 64", lambda x: x.amax().clamp(min=0)),
        ("x.max()", "4, 8, 16", lambda x: x.amax().clamp(min=0)),
        ("x.min() * 2", "16, 64", lambda x: x.amin().clamp(max=0) * 2),
        ("x.argmax()", "16, 64", lambda x: x.clamp(min=0).argmax()),
        ("x - x.max()", "16, 64", lambda x: x - x.amax().clamp(min=0)),
        ("F.max_pool2d(x, 7, 3)", "2, 3, 32, 32", lambda x: F.max_pool2d(x, 7, 3).clamp(min=0)),
        ("F.max_pool1d(x, 16)", "2, 3, 64", lambda x: F.max_pool1d(x, 16).clamp(min=0)),
        ("F.max_pool3d(x, 4)", "1, 2, 8, 8, 8", lambda x: F.max_pool3d(x, 4).clamp(min=0)),
    ],
)
def test_values_of_one_sign_show_an_extreme_of_all_or_of_windows_that_starts_at_zero(
    body: str, sizes: str, from_zero: Callable[[Any], Any]
) -> None:
    ready = of_kind(problem(body, f"torch.randn({sizes})"), "signed_rows")
    shown = 0
    for seed in range(8):
        model, _, (x,) = ready.reference.draw(seed)
        shown += not torch.allclose(model(x).double(), from_zero(x).double())
    assert shown == 8


def _from_zero(x: Any) -> Any:
    return x.clamp(min=0).topk(3).values.sum(-1)


@pytest.mark.parametrize(
    "body", ["x.tanh().abs().amax(dim=1)", "x.abs().amax()", "F.max_pool1d(x, 4)", "x.maximum(-x)"]
)
def test_an_extreme_that_no_row_can_show_has_no_such_case(body: str) -> None:
    assert "signed_rows" not in applicable_kinds(problem(body, X))


@pytest.mark.parametrize(
    ("body", "inputs", "without"),
    [
        ("F.hardtanh(x, -90.0, 90.0)", X, lambda x: x.clamp(min=-90.0)),
        ("torch.where(x > 37.5, -x, x)", X, lambda x: x),
        ("x.clamp(max=60.0)", "torch.rand(16, 64)", lambda x: x),
        ("(x.sigmoid() + 1e-10).log()", X, lambda x: x.sigmoid().log()),
        ("torch.bucketize(x, torch.tensor([-40.0, 40.0]))", X, lambda x: x * 0 + 1),
        ("torch.where(x >= 0.625, x, 0.0)", X, lambda x: torch.where(x > 0.625, x, 0.0)),
        ("torch.where(x == -100, 0, x)", IDS, lambda x: x),
        ("x.clamp(min=0)", IDS, lambda x: x),
        ("x.clamp(max=40)", IDS, lambda x: x),
    ],
)
def test_a_few_values_cross_each_literal(body: str, inputs: str, without: object) -> None:
    one = problem(body, inputs)
    ready = of_kind(one, "around_literals")
    seen = False
    for seed in range(4):
        model, _, (x,) = ready.reference.draw(seed)
        assert callable(without)
        seen |= not torch.allclose(model(x).double(), without(x).double())
    assert seen


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        ("x.relu()", X),
        ("F.relu6(x)", X),
        ("F.cross_entropy(x, y)", ROWS),
        ("F.cross_entropy(x, y, label_smoothing=0.1)", ROWS),
        ("x.tanh().clamp(-2, 2)", X),
        ("x.masked_fill(x > 1e9, -1e9)", X),
        ("F.embedding(x, torch.ones(16, 2).cumsum(0))", IDS),
    ],
)
def test_what_other_kinds_cross_or_nothing_can_has_no_case(body: str, inputs: str) -> None:
    assert around_limits(problem(body, inputs)).kinds in ((), ("near_overflow",))


def test_a_sentinel_that_a_problem_names_is_drawn() -> None:
    loss = of_kind(problem("F.cross_entropy(x, y, ignore_index=77)", ROWS), "around_literals")
    assert (loss.reference.draw(1)[2][1] == 77).any()
    padded = "F.embedding_bag(x, y, torch.arange(0, 64, 8), padding_idx=3)"
    inputs = "torch.randint(4, 40, (64,)), torch.randn(40, 4)"
    assert (of_kind(problem(padded, inputs), "around_literals").reference.draw(1)[2][0] == 3).any()


def test_cases_around_limits_come_beside_kinds_that_a_problem_keeps() -> None:
    one = problem("x.softmax(dim=1)", X)
    kept = Problem(
        name="p",
        code=one.code,
        cases=(*one.cases, Case(name="k", sizes=(), distribution="clustered")),
    )
    assert applicable_kinds(kept) == ("near_overflow",)
    names = [case.name for case in judged_cases(kept, applicable_kinds(kept))]
    assert names[-1] == "c, near_overflow"
