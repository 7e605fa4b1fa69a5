"""Drawn formulas: what a module says is what its kernel computes."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kernelwright.data.graphs.expr import at
from kernelwright.data.graphs.operators.formulas import FUNCTIONS, JOINS, Term, grown
from kernelwright.data.graphs.words import Words

FUNCTION = {"max": "torch.maximum", "min": "torch.minimum", "where": "torch.where"}
PYTHON = Words(lambda name: FUNCTION.get(name, f"torch.{name}"), "number({})".format, True, True)


def number(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def named(wanted: str, taken: list[str]) -> str:
    taken.append(f"{wanted}_{len(taken)}")
    return taken[-1]


def drawn(seed: int, *further: str) -> Term:
    taken: list[str] = []
    terms = [Term(one, at(one)) for one in further]
    return grown(random.Random(seed), terms, lambda wanted: named(wanted, taken))


def as_module(term: Term, given: dict[str, Tensor]) -> Tensor:
    """What the text of a formula gives."""
    known: dict[str, Any] = {"torch": torch, "F": F, **given}
    for name, part in term.parts:
        known[name] = eval(part.replace("{0}", "v"), known)
    found = eval(term.text.replace("{0}", "v"), known)
    assert isinstance(found, Tensor)
    return found


@pytest.mark.parametrize("further", [(), ("other",), ("other", "gain")])
def test_the_text_of_a_formula_and_its_value_are_the_same_function(
    further: tuple[str, ...],
) -> None:
    generator = torch.Generator().manual_seed(0)
    given = {
        name: torch.randn(64, generator=generator, dtype=torch.float64) * 3
        for name in ("v", *further)
    }
    for seed in range(200):
        term = drawn(seed, *further)
        text = PYTHON.rendered(term.value, lambda tensor, _: tensor)
        value = eval(text, {"torch": torch, "number": number, **given})
        assert torch.allclose(as_module(term, given), value), term
        assert torch.isfinite(value).all()


def test_every_operation_is_drawn_and_none_twice_in_a_formula() -> None:
    terms = [drawn(seed, "other") for seed in range(400)]
    assert all(len(set(one.names)) == len(one.names) for one in terms)
    names = {name for one in terms for name in one.names}
    assert {one.name for one in (*FUNCTIONS, *JOINS)} <= names


def test_a_formula_reads_all_that_it_is_given() -> None:
    for seed in range(200):
        term = drawn(seed, "other", "gain")
        text = PYTHON.rendered(term.value, lambda tensor, _: tensor)
        assert "other" in text
        assert "gain" in text
