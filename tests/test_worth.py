"""Arms of the comparison of ways to go on after SFT."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from kernelwright.recipe.resolve import resolve
from scripts.worth import ARMS, RECIPES, ROWS, rows_of, table, values_of


def row(arm: str, **more: Any) -> dict[str, Any]:
    known = {"correct_rate_ci": [0.1, 0.3], "fast_1": 0.1, "geomean_speedup": None}
    return {"arm": arm, "seed": 0, "training_s": 100, "correct": 20, "asked": 100, **known, **more}


@pytest.fixture
def options(tmp_path: Path) -> Namespace:
    some = [row("start"), row("rft", training_s=250)]
    (tmp_path / ROWS).write_text("".join(json.dumps(one) + "\n" for one in some))
    return Namespace(
        out=tmp_path, seed=0, triples=80, tokens=1000, samples=2, rounds=1, like="rft", begin=None
    )


@pytest.mark.parametrize("name", ARMS)
def test_every_arm_is_a_recipe_that_trains_one_stage_and_measures(
    name: str, options: Namespace
) -> None:
    recipe = resolve(RECIPES / f"{ARMS[name].recipe}.yaml", values_of(name, options)).recipe
    assert recipe.stages == (ARMS[name].stage, "eval")
    assert (recipe.model.adapter is None) == (name == "start")
    assert (recipe.eval.temperature, recipe.eval.timed, recipe.eval.greedy) == (1.0, True, False)


def test_a_run_whose_sft_is_finished_can_be_the_start(options: Namespace) -> None:
    options.begin = Path("runs/quickstart")
    finished = "model.adapter=runs/quickstart/checkpoints/sft-final"
    found = {name: values_of(name, options) for name in ("start", "grpo", "rft_grpo")}
    assert [finished in values for values in found.values()] == [True, True, False]
    recipe = resolve(RECIPES / "quickstart.yaml", found["start"]).recipe
    assert recipe.stages == ("eval",)
    assert recipe.eval.before_problems is None, "all problems are measured"


def test_sft_gets_the_seconds_of_another_arm(options: Namespace) -> None:
    assert "sft.tokens=2500" in values_of("sft", options)
    options.like = "start"
    assert "sft.tokens=1000" in values_of("sft", options)
    assert "sft.tokens=1000" in values_of("start", options)


def test_arms_that_hang_on_others_say_so(options: Namespace) -> None:
    options.seed = 1
    with pytest.raises(SystemExit, match="run the arms start and rft first"):
        values_of("oracle", options)


def test_a_line_for_each_arm_has_its_interval(options: Namespace) -> None:
    console = Console(record=True, width=120)
    console.print(table(rows_of(options.out)))
    text = console.export_text()
    assert "20 of 100 = 20% [10, 30]" in text
    assert text.index("start") < text.index("rft")
