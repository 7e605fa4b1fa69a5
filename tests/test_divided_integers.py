"""Integers that are divided are drawn below zero and around multiples, as the module bears it."""

from __future__ import annotations

import pytest
import torch

from kernelwright.envs.reference.divided_integers import Divided, divided
from kernelwright.envs.reference.module import load_reference
from kernelwright.envs.reference.prepare import prepare
from kernelwright.envs.types import Case, Problem

PAIR = "torch.randint(0, 1000, (8, 32)), torch.randint(1, 100, (8, 32))"


def problem(body: str, inputs: str) -> Problem:
    code = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, *given):\n"
    code += f"        a, b = given[0], given[-1]\n        return {body}\n"
    code += f"def get_inputs():\n    return [{inputs}]\n"
    return Problem(name="p", code=code, cases=(Case(name="c", sizes=(), distribution="special"),))


def found(body: str, inputs: str) -> Divided | None:
    one = problem(body, inputs)
    return divided(load_reference(one, Case(name="c", sizes=(), distribution="as_made")))


@pytest.mark.parametrize(
    ("body", "inputs", "signed", "pairs"),
    [
        ("a // b", PAIR, (0, 1), ((0, 1, 0),)),
        ("torch.fmod(a, b), a % b", PAIR, (0, 1), ((0, 1, 0),)),
        ("a // 7", "torch.randint(0, 1000, (64,))", (0,), ((0, None, 7),)),
        ("torch.arange(100)[a // 10]", "torch.randint(0, 1000, (64,))", (), ((0, None, 10),)),
        ("a.log2() + a % 5", "torch.randint(1, 9, (64,))", (), ((0, None, 5),)),
    ],
)
def test_what_is_divided_is_negative_unless_that_is_a_place_or_leads_to_no_number(
    body: str, inputs: str, signed: tuple[int, ...], pairs: tuple[tuple[int, int | None, int], ...]
) -> None:
    own = found(body, inputs)
    assert own is not None
    assert (own.signed, own.pairs) == (signed, pairs)


@pytest.mark.parametrize("body", ["a + b", "a / b", "a.float() % 3.0", "a > b"])
def test_what_is_not_divided_as_an_integer_stays(body: str) -> None:
    assert found(body, PAIR) is None


def test_quotients_that_cut_off_or_come_from_float32_are_seen_and_no_divisor_is_zero() -> None:
    ready = prepare(one := problem("a // b", PAIR), one.cases[0])
    for seed in range(5):
        a, b = ready.reference.draw(seed)[2]
        assert (b != 0).all()
        assert (torch.div(a, b, rounding_mode="trunc") != a // b).any()
        assert ((a / b.float()).floor().long() != a // b).any()
        assert (torch.remainder(a, b) == 0).float().mean() > 1 / 64
