"""The validation curve: problems that are never trained on, and the step that did best."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.runs.records import RecordStore
from kernelwright.rl.methods.base import Prompt, RunView
from kernelwright.rl.methods.find import method_options, start_method
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.grpo_callbacks import best_steps, validation_callback
from kernelwright.rl.train.validation import Validation, best_step, reserve
from tests.rollouts import ScriptedJudge, block, player, sampled, task


@given(st.sets(st.text(min_size=1, max_size=4), max_size=12), st.integers(0, 14))
def test_what_is_reserved_is_not_trained_on_and_nothing_is_lost(
    names: set[str], count: int
) -> None:
    tasks = [task(name) for name in sorted(names)]
    kept, trained = reserve(tasks, count)
    assert len(kept) == min(count, len(tasks))
    assert not set(kept) & set(trained)
    assert set(kept) | set(trained) == set(tasks)


@given(st.sets(st.text(min_size=1, max_size=4), min_size=2, max_size=12))
def test_the_reserved_do_not_depend_on_the_order_of_the_suite(names: set[str]) -> None:
    tasks = [task(name) for name in sorted(names)]
    assert set(reserve(tasks, 1)[0]) == set(reserve(tasks[::-1], 1)[0])


def test_the_best_step_is_a_trained_one_and_the_latest_of_equals() -> None:
    assert best_step({0: 0.9, 4: 0.5, 8: 0.5, 12: 0.4}) == 8
    assert best_step({0: 0.9}) is None
    assert best_step({}) is None


@pytest.mark.parametrize(
    ("steps_at_once", "expected"),
    [(1, [[1], [1], [1, 3], [1, 3, 4]]), (4, [[1], [1], [3], [4]])],
)
def test_the_best_adapters_that_a_run_may_go_back_to_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps_at_once: int, expected: list[list[int]]
) -> None:
    """Those of its checkpoints: a run that goes on from one may find nothing better after it."""
    known: dict[int, float] = {}
    scripted = dict(enumerate([0.8, 0.5, 0.4, 0.6, 0.7]))

    def measure(trainer: Any, step: int) -> float:
        known[step] = scripted[step]
        return scripted[step]

    def save(model: Any, recipe: Recipe, folder: Path) -> None:
        folder.mkdir()

    monkeypatch.setattr("kernelwright.rl.train.grpo_callbacks.save_adapter", save)
    shared = {"steps": 8, "steps_per_generation": steps_at_once}
    grpo = {"validate_every": 1, "validation_problems": 2, **shared}
    recipe = Recipe.model_validate({"name": "a", "run_dir": tmp_path, "grpo": grpo})
    validation: Any = SimpleNamespace(measure=measure, rates=lambda: dict(known))
    trainer = SimpleNamespace(accelerator=SimpleNamespace(unwrap_model=lambda m: m), model=None)
    out = tmp_path / "grpo-final"
    curve = validation_callback(recipe, validation, trainer, out)
    curve.on_train_begin(None, SimpleNamespace(global_step=0), None)
    kept = []
    for step in range(1, 5):
        curve.on_step_end(None, SimpleNamespace(global_step=step, max_steps=9), None)
        kept.append(best_steps(out))
    assert kept == expected
    assert best_step(known) == 4
    scripted.update({5: 0.8, 6: 0.9})
    for step in (5, 6):  # then it is killed; the last checkpoint is that of step 4, or of 5
        curve.on_step_end(None, SimpleNamespace(global_step=step, max_steps=9), None)
    assert 4 in best_steps(out)


def test_a_point_is_kept_as_records_and_read_back_as_a_rate(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    method = start_method(method_options("grpo"), RunView(seed=0, store=store))
    drawn = []

    def prompt(task: Any, step: int) -> Prompt:
        drawn.append((task.key, step))
        return Prompt(text=f"do {step}")

    method.prompt = prompt  # type: ignore[method-assign]
    answers = [sampled(block(word)) for word in ("right", "wrong", "odd", "right")]

    def player_at(trainer: Any, step: int) -> Any:
        return player(ScriptedJudge(), answers, step=step)

    validation = Validation(
        tasks=[task("a"), task("b")],
        samples=2,
        method=method,
        player_at=player_at,
        store=store,
        versions={},
    )
    assert validation.measure(SimpleNamespace(), 4) == 2 / 3
    assert validation.rates() == {4: 2 / 3}
    assert len(drawn) == 2
    assert validation.measure(SimpleNamespace(), 6) == 2 / 3
    assert drawn[:2] == drawn[2:], "a later point asks with other prompts"
    assert {one.stage for one in store.read()} == {"validation"}
    assert [one.credit for one in store.read()] == [None] * 8
