"""Which stages a run of a recipe has: those that it names, and those that follow from them."""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.data.runs.stages import STAGES, Stage, training
from kernelwright.envs.types import Baseline
from kernelwright.rl.recipe.schema import Recipe

FOLLOWS: dict[str, Callable[[Recipe], bool]] = {
    "triples": lambda recipe: recipe.judges_triples,
    "final": lambda recipe: bool(training(recipe.stages)),
    "baselines": lambda recipe: (
        "eval" in recipe.stages and recipe.eval.baseline is not Baseline.EAGER
    ),
}
"""When a stage is run that no recipe names and that measures no answers."""


def stage_names(recipe: Recipe) -> list[str]:
    """Every stage of a run of this recipe, in order."""
    return [name for name, row in STAGES.items() if not row.also_shown and _wanted(recipe, row)]


def _wanted(recipe: Recipe, row: Stage) -> bool:
    if row.side:
        return _measured(recipe, row)
    return row.name in recipe.stages if row.chosen else FOLLOWS[row.name](recipe)


def _measured(recipe: Recipe, row: Stage) -> bool:
    section, trained = recipe.eval, training(recipe.stages)
    if "eval" not in recipe.stages or (row.greedy_of and not section.also_greedy):
        return False
    if row.measured is None:
        return section.before
    if row.measured == "final":
        return bool(trained)
    return section.after_sft and row.measured in trained[:-1]
