"""The table of stages: one more that trains is a row, and what it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.data.runs.process import this_process
from kernelwright.data.runs.stages import STAGES, Stage, axis, sides, training
from kernelwright.evals.numbers.summary import SIDE_NAMES, SIDES
from kernelwright.evals.page.report import STAGE_NAMES
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.run.run_folder import RunFolder
from kernelwright.run.tracked_results import stage_names
from kernelwright.run.train import WORKS, Run
from tests.rollouts import ScriptedJudge


def test_each_stage_of_a_run_measures_or_has_a_work_and_no_other_has_one() -> None:
    own = {name for name, row in STAGES.items() if not row.also_shown and not row.side}
    assert own == WORKS.keys()
    assert all(row.measured is None or row.measured in WORKS for row in STAGES.values())


def test_each_side_has_a_title_and_a_greedy_one_repeats_another() -> None:
    assert sides() == SIDES
    assert all(SIDE_NAMES.values())
    assert all(STAGE_NAMES[stage] for stage in SIDES)
    greedy = [row for row in STAGES.values() if row.greedy_of]
    assert [axis(row.name) for row in greedy] == ["eval_greedy"] * len(greedy)
    assert all(STAGES[str(row.greedy_of)].measured == row.measured for row in greedy)


@pytest.fixture
def toy() -> Iterator[str]:
    """A stage between SFT and GRPO, whose adapter is a file."""
    before = dict(STAGES)
    rows = list(STAGES.values())
    place = [row.name for row in rows].index("sft") + 1
    rows.insert(place, Stage(name="toy", title="a toy", trains=True))
    STAGES.clear()
    STAGES.update({row.name: row for row in rows})
    yield "toy"
    STAGES.clear()
    STAGES.update(before)


def test_one_more_stage_that_trains_is_a_row_and_a_work(
    toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs once, in its place, on the adapter before it, and the next goes on from its own."""
    began: list[tuple[str, Path | None]] = []

    def work(stage: str) -> None:
        def done(run: Run) -> None:
            began.append((stage, run.began_with(stage)))
            run.adapters[stage].mkdir(parents=True)

        monkeypatch.setitem(WORKS, stage, done)

    for stage in ("sft", toy, "grpo"):
        work(stage)
    monkeypatch.setitem(WORKS, "triples", lambda run: None)
    recipe = Recipe(name="run", run_dir=tmp_path)
    recipe = recipe.model_copy(update={"stages": ("sft", toy, "grpo")})
    assert training(recipe.stages) == ["sft", toy, "grpo"]
    for _ in range(2):
        judge, folder = ScriptedJudge(), RunFolder(tmp_path)
        Run(recipe, folder, judge, this_process(), lambda: None, resume=True).all_stages()
    made = tmp_path / "checkpoints"
    assert began == [("sft", None), (toy, made / "sft-final"), ("grpo", made / "toy-final")]
    assert list(folder.seconds()) == stage_names(recipe) == ["triples", "sft", toy, "grpo", "final"]
    assert (made / "final").resolve() == made / "grpo-final"
