"""Ties and rounding are kept from integers that they decide, and from no others."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernelwright.envs.reference.decided_integers import are_decided
from kernelwright.envs.reference.prepare import prepare
from kernelwright.envs.types import Case, Problem

HALVES = torch.randint(-6, 7, (8, 32)) / 2


class Asks(torch.nn.Module):
    """A module that gives what is asked of its input."""

    def __init__(self, ask: Any) -> None:
        super().__init__()
        self.ask = ask

    def forward(self, x: torch.Tensor) -> Any:
        return self.ask(x)


def decided(ask: Any) -> bool:
    return are_decided((Asks(ask), {}, [HALVES]))


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x.argsort(dim=1).argsort(dim=1),
        lambda x: (x.argmax(1), x.gather(1, (-x).argmin(1, keepdim=True))),
        lambda x: (x.sigmoid() > 0.7).sum(1),
        lambda x: (x / 0.3).round().long(),
        lambda x: (x * 0.3).sort(dim=1, stable=True).indices,
        lambda x: torch.bucketize(x.tanh(), torch.tensor([0.0, 0.5])),
    ],
)
def test_an_integer_is_decided_by_who_sorts_and_by_who_rounds(ask: Any) -> None:
    assert decided(ask)


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x.argmax(1),
        lambda x: x.topk(3, dim=1),
        lambda x: (x * 0.3).max(dim=1),
        lambda x: x.sort(dim=1, stable=True),
        lambda x: (x > 0.5).sum(1),
        lambda x: (torch.histc(x, 8, -3, 3), torch.bincount((x * 2 + 6).long().view(-1))),
        lambda x: torch.bucketize(x, torch.tensor([0.0, 0.5])),
        lambda x: (torch.arange(9).cumsum(0), x.exp()),
    ],
)
def test_an_integer_is_not_decided_where_it_is_exact_or_judged_by_what_it_points_at(
    ask: Any,
) -> None:
    assert not decided(ask)


@pytest.mark.parametrize(
    ("body", "has_ties"),
    [
        ("torch.sort(x, dim=1, stable=True)", True),
        ("torch.bincount(torch.arange(9)), torch.histc(x, 8, -3, 3)", True),
        ("x.argsort(dim=1).argsort(dim=1)", False),
    ],
)
def test_a_case_has_equal_values_unless_they_would_decide_an_integer(
    body: str, has_ties: bool
) -> None:
    code = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
    code += f"        return {body}\ndef get_inputs():\n    return [torch.randn(8, 64)]\n"
    case = Case(name="c", sizes=(), distribution="special")
    ready = prepare(Problem(name="p", code=code, cases=(case,)), case)
    x = ready.reference.draw(3)[2][0]
    assert (len(x.unique()) < x.numel() - 32) == has_ties
