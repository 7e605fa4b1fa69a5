"""What is held out: the pinned problems, whatever is added; all of their parts are trained on."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.data.factory.answers import ANSWERS
from kernelwright.data.factory.blueprint import Blueprint
from kernelwright.data.factory.families import families
from kernelwright.data.factory.operators import UNARY, Unary
from kernelwright.data.factory.split import half_of, is_held_out
from kernelwright.data.suites.load import load_suite
from kernelwright.data.suites.starter import in_split
from kernelwright.data.triples.templates import template_triples
from kernelwright.envs.types import content_hash

PINNED = Path(__file__).parent / "golden" / "held_out.txt"
HELD_OUT = [blueprint for blueprint, _ in in_split("held_out")]
TRAIN = [blueprint for blueprint, _ in in_split("train")]
NAMES = st.text(string.ascii_lowercase, min_size=1).filter(
    lambda name: name not in {one.name for one in UNARY}
)


def pinned() -> list[tuple[str, str]]:
    lines = PINNED.read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return [(name, key) for name, key in rows]


def parts_of(blueprints: Iterable[Blueprint]) -> Counter[tuple[str, str]]:
    """How many families there are with each part, by (category, part)."""
    return Counter((one.category, part) for one in blueprints for part in one.parts)


def test_what_is_held_out_is_what_was_pinned() -> None:
    problems = load_suite("starter:held_out").problems
    now = {problem.name: content_hash(problem.code) for problem in problems}
    assert now == dict(pinned()), (
        "old adapters were tested on the pinned problems: undo the change, or if families were "
        "added append their lines"
    )


def test_the_pinned_file_says_not_to_be_regenerated() -> None:
    assert PINNED.read_text(encoding="utf-8").startswith("# Do not regenerate")
    assert len({name for name, _ in pinned()}) == len(pinned())


@settings(max_examples=10, deadline=None)
@given(name=NAMES, place=st.integers(0, len(UNARY)), growth=st.integers(0, 2))
def test_a_new_operator_moves_no_family(name: str, place: int, growth: int) -> None:
    added = Unary(name=name, torch="torch.cos({})", c="v = std::cos(v);", growth=growth)
    before = {one.family: one for one in families()}
    after = {one.family: one for one in families((*UNARY[:place], added, *UNARY[place:]))}
    assert before.items() <= after.items()
    assert {one for one in after if one not in before}
    assert all(is_held_out(one) == is_held_out(after[family]) for family, one in before.items())
    assert all(half_of(one) == half_of(after[family]) for family, one in before.items())


@settings(max_examples=10, deadline=None)
@given(name=NAMES, growth=st.integers(0, 2))
def test_a_new_operator_is_trained_on_wherever_it_is_held_out(name: str, growth: int) -> None:
    added = Unary(name=name, torch="torch.cos({})", c="v = std::cos(v);", growth=growth)
    every = list(families((*UNARY, added)))
    held_out = parts_of(one for one in every if is_held_out(one))
    trained = parts_of(one for one in every if not is_held_out(one))
    assert not {key for key in held_out if key[1] == name and key not in trained}


def test_every_part_of_a_held_out_family_is_trained_on_in_its_category() -> None:
    assert not set(parts_of(HELD_OUT)) - set(parts_of(TRAIN))


def test_every_part_of_a_held_out_family_is_in_several_training_families() -> None:
    trained = Counter(part for one in TRAIN for part in one.parts)
    assert not {part for one in HELD_OUT for part in one.parts if trained[part] < 5}


def test_the_halves_are_all_of_training_and_disjoint() -> None:
    sft, rl, train = (
        {one.key for one in load_suite(f"starter:{name}").problems}
        for name in ("sft", "rl", "train")
    )
    assert sft | rl == train
    assert not sft & rl
    assert min(len(sft), len(rl)) > 0.45 * len(train)


def test_every_part_that_is_held_out_is_in_both_halves() -> None:
    for half in ("sft", "rl"):
        known = {part for blueprint, _ in in_split(half) for part in blueprint.parts}
        assert not {part for one in HELD_OUT for part in one.parts} - known


def test_most_parts_are_in_both_halves_of_their_category() -> None:
    trained = [key for key, count in parts_of(TRAIN).items() if count > 1]
    for half in ("sft", "rl"):
        known = parts_of(blueprint for blueprint, _ in in_split(half))
        assert sum(key in known for key in trained) >= 0.85 * len(trained)


def test_triples_of_a_half_are_of_its_problems_only() -> None:
    for half in ("sft", "rl"):
        keys = {one.key for one in load_suite(f"starter:{half}").problems}
        assert {one.problem.key for one in template_triples(half)} == keys
    both = len(template_triples("sft")) + len(template_triples("rl"))
    assert both == len(template_triples())


def test_there_are_no_triples_of_what_is_held_out() -> None:
    with pytest.raises(ValueError, match="train, sft or rl, not of 'held_out'"):
        template_triples("held_out")


def test_no_kernel_of_a_held_out_family_is_that_of_a_training_family() -> None:
    for dialect, answers in ANSWERS.items():
        taught = {one.source for one in template_triples(dialect=dialect)}
        right = {source for one in HELD_OUT for _, source in answers(one)}
        assert not taught & right


@pytest.mark.parametrize("kind", ["layers", "scalars"])
def test_weights_and_scalars_are_trained_on_and_held_out(kind: str) -> None:
    for some in (TRAIN, HELD_OUT):
        assert sum(bool(getattr(one, kind)) for one in some) >= 8


def test_several_outputs_are_trained_on_and_held_out() -> None:
    for some in (TRAIN, HELD_OUT):
        assert sum(len(one.output_types) > 1 for one in some) >= 8
