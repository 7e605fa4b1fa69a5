"""docs/scale.md says what scripts/scale.py computes from figures that docs/measured has."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.recipe.resolve import resolve
from scripts import scale
from scripts.scale import (
    AUTO,
    CARDS_GB,
    LARGE,
    PLANS,
    STEPS,
    Measured,
    Work,
    card_table,
    chosen,
    table,
)

ROOT = Path(__file__).parents[1]


def test_the_page_has_the_table_that_is_computed() -> None:
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert table() in page
    assert card_table() in page


def test_each_measured_figure_stands_among_those_that_were_measured() -> None:
    page = (ROOT / "docs" / "measured" / "README.md").read_text(encoding="utf-8")
    figures = {name: one for name, one in vars(scale).items() if isinstance(one, Measured)}
    assert len(figures) == 6
    assert [name for name, one in figures.items() if one.words not in page] == []


def test_the_plans_are_steps_of_the_recipe_that_they_name() -> None:
    grpo = resolve(ROOT / "recipes" / "grpo-7b.yaml", []).recipe.grpo
    assert grpo.steps == STEPS
    assert all(grpo.groups_per_step % one.trainers == 0 for one in PLANS)


@pytest.mark.parametrize(("name", "work"), [("grpo-7b", LARGE), ("grpo", AUTO)])
def test_a_step_is_that_of_its_recipe(name: str, work: Work) -> None:
    recipe = resolve(ROOT / "recipes" / f"{name}.yaml", []).recipe
    grpo = recipe.grpo
    sampled = (grpo.groups_per_step + grpo.oversampled_groups) * grpo.group_size
    micro, longest = grpo.micro_batch_size, grpo.max_completion_length
    found = Work(sampled, grpo.rollouts_per_step, micro, longest, recipe.model.lora.rank)
    assert found == work


def test_auto_chooses_what_fits_each_card() -> None:
    for card_gb in CARDS_GB:
        assert chosen(card_gb).memory_bytes() < scale.FILLED * card_gb * 1e9
