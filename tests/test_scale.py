"""docs/scale.md says what scripts/scale.py computes from figures that docs/measured has."""

from __future__ import annotations

from pathlib import Path

from kernelwright.recipe.resolve import resolve
from scripts import scale
from scripts.scale import PLANS, ROWS, STEPS, Measured, table

ROOT = Path(__file__).parents[1]


def test_the_page_has_the_table_that_is_computed() -> None:
    assert table() in (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


def test_each_measured_figure_stands_among_those_that_were_measured() -> None:
    page = (ROOT / "docs" / "measured" / "README.md").read_text(encoding="utf-8")
    figures = {name: one for name, one in vars(scale).items() if isinstance(one, Measured)}
    assert len(figures) == 6
    assert [name for name, one in figures.items() if one.words not in page] == []


def test_the_plans_are_steps_of_the_recipe_that_they_name() -> None:
    grpo = resolve(ROOT / "recipes" / "grpo-7b.yaml", []).recipe.grpo
    assert (grpo.rollouts_per_step, grpo.steps) == (ROWS, STEPS)
    assert (grpo.max_completion_length, grpo.micro_batch_size) == (scale.LONGEST, scale.MICRO_ROWS)
    assert all(grpo.groups_per_step % one.trainers == 0 for one in PLANS)
