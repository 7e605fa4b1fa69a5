"""The measure of copies: it plants what computes the same, and changes what then does not."""

from __future__ import annotations

import ast

import pytest

from kernelwright.data.suites.load import load_suite
from scripts.copies import copies, keyed, keys, measured, mistaken, others, run
from scripts.copy_styles import STYLES

NAMES = ("convolutions/separable", "chains/squeeze_excite", "losses/triplet")
PROBLEMS = [one for one in load_suite("exam").problems if one.name in NAMES]


def test_a_planted_copy_has_another_text_and_the_same_numbers() -> None:
    for one in PROBLEMS:
        ran = run(one.code)
        assert ran is not None
        planted = dict(copies(one.code, ran[1]))
        assert planted.keys() >= {"renamed", "wrapped", "inherited"}
        assert ast.unparse(ast.parse(one.code)) not in planted.values()
        assert not {*planted.values()} & {*others(one.code, ran[1])}


def test_copies_are_known_and_what_has_another_operator_is_not() -> None:
    known, every, missed = measured(PROBLEMS)
    near = "one operator changed"
    assert every.keys() > {near, *(one.__name__ for one in STYLES[:5])}
    assert not missed
    assert every[near]
    assert not known[near]


@pytest.mark.parametrize("code", ["nonsense(", "class Model: pass"])
def test_what_does_not_run_is_no_copy(code: str) -> None:
    assert run(code) is None


def test_pairs_are_counted_by_what_they_share() -> None:
    found = keyed(PROBLEMS)
    assert mistaken(found, found) == len(PROBLEMS) == 3
    assert not mistaken(found[:1], found[1:])
    assert not mistaken(found, [keys(PROBLEMS[0].code, 9) - found[0]])
