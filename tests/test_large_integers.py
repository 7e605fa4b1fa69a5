"""Integers that are added up or multiplied become large; places, counts and flags do not."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernelwright.envs.reference.distributions import DISTRIBUTIONS, with_special
from kernelwright.envs.reference.large_integers import LargeBits, large_bits

X = torch.randint(-50, 100, (30, 40))
SMALL = torch.randint(0, 40, (30, 40))


class Asks(torch.nn.Module):
    """A module that gives what is asked of its inputs."""

    def __init__(self, ask: Any) -> None:
        super().__init__()
        self.ask = ask

    def forward(self, *given: torch.Tensor) -> Any:
        return self.ask(*given)


def bits(ask: Any, *given: torch.Tensor) -> LargeBits | None:
    return large_bits((Asks(ask), {}, list(given)))


@pytest.mark.parametrize(
    ("ask", "given"),
    [
        (lambda x: x.sum(1), [X]),
        (lambda x: x.cumsum(0), [X]),
        (lambda x: (x * 3 + 1).view(-1).sum(), [X]),
        (lambda x, y: (x * y).sum(1), [X, SMALL]),
        (lambda x: x.sum(1) / x.shape[1], [X]),
        (lambda x, i: torch.gather(x, 1, i).sum(1), [X, SMALL]),
        (lambda x: x.clamp(min=0) @ x.t(), [X]),
    ],
)
def test_what_is_added_up_is_drawn_beyond_32_bits_and_stays_exact_in_float64(
    ask: Any, given: list[torch.Tensor]
) -> None:
    found = bits(ask, *given)
    assert found is not None
    torch.manual_seed(0)
    largest = 0
    for _ in range(10):
        out = ask(*found.changed(given, DISTRIBUTIONS["special"])).double()
        largest = max(largest, int(out.abs().max()))
    assert 2**31 < largest < 2**53


@pytest.mark.parametrize(
    ("ask", "given"),
    [
        (lambda x: torch.arange(50)[x].sum(), [SMALL]),
        (lambda x: x.float().sin(), [X]),
        (lambda x: x > 3, [X]),
        (lambda x: torch.nn.functional.one_hot(x, 40).sum(0), [SMALL]),
        (lambda x: (x * 6364136223846793005).sum(), [X]),
        (lambda x: x.sum(), [(X > 3).long()]),
        (lambda x: x.sum(), [torch.rand(3, 4)]),
    ],
)
def test_places_flags_and_what_overflows_already_stay(ask: Any, given: list[torch.Tensor]) -> None:
    assert bits(ask, *given) is None


def test_the_sum_of_int32_that_is_int32_does_not_overflow() -> None:
    found = bits(lambda x: x.sum(1, dtype=torch.int32), X.int())
    assert found is not None
    for seed in range(20):
        torch.manual_seed(seed)
        (large,) = found.changed([X.int()], DISTRIBUTIONS["scaled"])
        assert large.long().sum(1).abs().max() < 2**31


def test_special_values_of_float64_differ_from_those_of_float32_in_their_last_digits() -> None:
    torch.manual_seed(0)
    found = with_special(torch.rand(64, 64, dtype=torch.float64))
    assert ((found > 0.5) != (found.float() > 0.5)).any()
    assert ((found > 0) != (found.float() > 0)).any()
