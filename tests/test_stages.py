"""The table of stages: one more is a row, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernelwright.data.runs.process import this_process
from kernelwright.data.runs.stages import STAGES, Stage, axis, chosen, sides, training
from kernelwright.evals.numbers.summary import SIDE_NAMES, SIDES
from kernelwright.evals.page.report import STAGE_NAMES
from kernelwright.preflight.estimate import measurements
from kernelwright.recipe.resolve import RecipeError, resolve
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.recipe.stage_names import FOLLOWS, stage_names
from kernelwright.run.dry_run import estimates
from kernelwright.run.run_folder import RunError, RunFolder
from kernelwright.run.train import WORKS, Run, Work
from tests.rollouts import ScriptedJudge

Added = Callable[[Stage, str], None]


def test_each_stage_of_a_run_measures_or_has_a_work_and_no_other_has_one() -> None:
    own = {name for name, row in STAGES.items() if not row.also_shown and not row.side}
    assert own == WORKS.keys()
    assert own - set(chosen()) == FOLLOWS.keys()
    assert all(row.measured is None or row.measured in WORKS for row in STAGES.values())


def test_a_recipe_may_name_each_stage_that_trains_and_each_that_it_names_has_an_estimate() -> None:
    assert set(training()) <= set(chosen())
    recipe = Recipe.model_validate({"name": "a", "stages": chosen()})
    told = estimates(recipe, on_gpu=False)
    assert {name for name in chosen() if not told.get(name)} == set()


def test_each_side_has_a_title_and_a_greedy_one_repeats_another() -> None:
    assert sides() == SIDES
    assert all(SIDE_NAMES.values())
    assert all(STAGE_NAMES[stage] for stage in SIDES)
    greedy = [row for row in STAGES.values() if row.greedy_of]
    assert [axis(row.name) for row in greedy] == ["eval_greedy"] * len(greedy)
    assert all(STAGES[str(row.greedy_of)].measured == row.measured for row in greedy)


@pytest.fixture
def add() -> Iterator[Added]:
    """Adds a row to the table, behind the one of a name."""
    before = dict(STAGES)

    def added(row: Stage, behind: str) -> None:
        rows = list(STAGES.values())
        rows.insert([one.name for one in rows].index(behind) + 1, row)
        STAGES.clear()
        STAGES.update({one.name: one for one in rows})

    yield added
    STAGES.clear()
    STAGES.update(before)


@pytest.fixture
def toy(add: Added) -> str:
    """A stage between SFT and GRPO, whose adapter is a file."""
    add(Stage(name="toy", title="a toy", chosen=True, trains=True), "sft")
    return "toy"


def begun(recipe: Recipe) -> RunFolder:
    """The folder of a run after all its stages."""
    folder = RunFolder(recipe.run_dir)
    Run(recipe, folder, ScriptedJudge(), this_process(), lambda: None, resume=True).all_stages()
    return folder


def test_one_more_stage_that_trains_is_a_row_and_a_work(
    toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs once, in its place, on the adapter before it, and the next goes on from its own."""
    began: list[tuple[str, Path | None]] = []

    def work(stage: str) -> None:
        def done(run: Run) -> None:
            began.append((stage, run.began_with(stage)))
            run.adapters[stage].mkdir(parents=True)

        monkeypatch.setitem(WORKS, stage, Work(do=done))

    for stage in ("sft", toy, "grpo"):
        work(stage)
    monkeypatch.setitem(WORKS, "triples", Work(do=lambda run: None))
    recipe = Recipe(name="run", run_dir=tmp_path, stages=("grpo", toy, "sft"))
    assert training(recipe.stages) == ["sft", toy, "grpo"]
    for _ in range(2):
        folder = begun(recipe)
    made = tmp_path / "checkpoints"
    assert began == [("sft", None), (toy, made / "sft-final"), ("grpo", made / "toy-final")]
    assert list(folder.seconds()) == stage_names(recipe) == ["triples", "sft", toy, "grpo", "final"]
    assert (made / "final").resolve() == made / "grpo-final"


def test_a_model_in_the_middle_of_three_that_train_is_measured_too(toy: str) -> None:
    recipe = Recipe(name="run", stages=("sft", toy, "grpo", "eval"))
    assert [row.name for row in measurements(recipe)] == ["eval_before", "eval_sft", "eval_after"]


def test_a_stage_that_leaves_no_adapter_though_it_trains_is_one_clear_error(
    toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not count as done, so that a resumed run does it again."""
    recipe = Recipe(name="run", run_dir=tmp_path, stages=(toy,))
    monkeypatch.setitem(WORKS, toy, Work(do=lambda run: None))
    with pytest.raises(RunError, match=r"stage toy trains, and .*toy-final, the adapter"):
        begun(recipe)
    assert RunFolder(tmp_path).seconds() == {}
    monkeypatch.setitem(WORKS, toy, Work(do=lambda run: run.adapters[toy].mkdir(parents=True)))
    assert list(begun(recipe).seconds()) == [toy, "final"]


def test_a_stage_that_does_not_train_runs_where_a_recipe_names_it_and_nowhere_else(
    add: Added, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(Stage(name="note", chosen=True), "triples")
    ran: list[Path] = []
    work = Work(do=lambda run: ran.append(run.folder.path), estimate=lambda recipe: "a line")
    monkeypatch.setitem(WORKS, "note", work)
    recipe = Recipe(name="run", run_dir=tmp_path, stages=("note",))
    assert estimates(recipe, on_gpu=False)["note"] == "a line"
    for _ in range(2):
        folder = begun(recipe)
    assert ran == [tmp_path]
    assert list(folder.seconds()) == stage_names(recipe) == ["note"]
    for others in (["eval"], ["sft"], ["sft", "grpo", "eval"]):
        without = Recipe.model_validate({"name": "run", "stages": others})
        with_it = Recipe.model_validate({"name": "run", "stages": [*others, "note"]})
        assert "note" not in {*stage_names(without), *estimates(without, on_gpu=False)}
        assert set(stage_names(with_it)) == {*stage_names(without), "note"}


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ("[triples]", "stages.0: no stage 'triples' (there are: {})"),
        ("[sft, evil]", "stages.1: no stage 'evil'; did you mean 'eval'? (there are: {})"),
        ("[]", "stages: no stage is named (there are: {})"),
        ("[sft, sft]", "stages: a stage is named twice: sft, sft"),
    ],
)
def test_stages_that_no_recipe_may_name_are_refused_in_one_line(stages: str, said: str) -> None:
    with pytest.raises(RecipeError) as caught:
        resolve(Path("quickstart"), [f"stages={stages}"])
    (line,) = caught.value.lines
    assert said.format(", ".join(chosen())) in line
