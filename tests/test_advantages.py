"""What a row is trained with in the end: through the real trainer, to 1e-6."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from kernelwright.data.runs.records import RecordStore, task_key
from kernelwright.recipe.resolve import RecipeError, resolve
from kernelwright.rl.methods.base import RunView
from kernelwright.rl.methods.find import method_options, start_method
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.rollout.rows import by_key
from kernelwright.rl.train.grpo import grpo_options
from tests.one_step import Step, one_step
from tests.rollouts import block, rollouts, sampled, task
from tests.test_rollout import TRAINER, prompts
from tests.tiny_model import save_tiny

pytestmark = pytest.mark.model

OWN = {"name": "tests.own_advantages"}
TOKENS = {**OWN, "token_by_token": True}
ANSWERS = [sampled(block(one)) for one in ("right 4", "wrong", "right 2", "right 1")]
CREDITS = [2.0, 0.0, 1.5, 1.0]
"""By the reward `default`."""
BASE = Path(__file__).with_name("fixtures") / "recipes" / "base.yaml"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("model"))


def four(model: Path, run: Path, method: Any = "grpo", **grpo: Any) -> Step:
    return one_step(model, run, ANSWERS, method=method, group_size=4, **grpo)


def test_by_default_it_is_the_credit_less_the_mean_of_the_group(
    model: Path, tmp_path: Path
) -> None:
    found = four(model, tmp_path)
    assert found.trainer.fast
    assert [one.credit for one in found.records] == CREDITS
    mean = fmean(CREDITS)
    assert found.advantages == pytest.approx([one - mean for one in CREDITS], abs=1e-6)


def test_a_method_may_say_it_itself(model: Path, tmp_path: Path) -> None:
    found = four(model, tmp_path, OWN)
    assert found.advantages == pytest.approx([4.0, 0.0, 3.0, 2.0], abs=1e-6)
    assert [one.credit for one in found.records] == CREDITS


@pytest.mark.parametrize("fast_pass", [True, False])
def test_a_method_may_say_it_of_each_token(model: Path, tmp_path: Path, fast_pass: bool) -> None:
    found = four(model, tmp_path, TOKENS, fast_pass=fast_pass)
    assert found.trainer.fast == fast_pass
    for row, credit, answer in zip(found.advantages, CREDITS, ANSWERS, strict=True):
        length = len(answer.text)
        half = length // 2
        wanted = [2 * credit] * half + [-0.25] * (length - half)
        assert row[:length] == pytest.approx(wanted, abs=1e-6)
        assert not any(row[length:])


def test_a_method_brings_trainer_options_below_those_of_the_recipe(tmp_path: Path) -> None:
    section = {"method": OWN, "trainer": {"epsilon": 0.3}}
    recipe = Recipe.model_validate({"name": "a", "run_dir": tmp_path, "grpo": section})
    found = grpo_options(recipe)
    assert (found["max_grad_norm"], found["epsilon"], found["epsilon_high"]) == (0.05, 0.3, 0.28)


def test_a_loss_that_clips_the_ratio_itself_leaves_a_ratio_of_1_as_it_is(
    model: Path, tmp_path: Path
) -> None:
    found = four(model, tmp_path, trainer={"loss_type": "cispo"}).trainer
    assert found.epsilon_high == 5.0
    assert [one["cispo_clip_ratio"] for one in found.state.log_history[:-1]] == [0.0]
    asked = {"loss_type": "cispo", "epsilon_high": 3.0}
    recipe = Recipe.model_validate({"name": "a", "run_dir": tmp_path, "grpo": {"trainer": asked}})
    assert grpo_options(recipe)["epsilon_high"] == 3.0


def test_what_trl_would_scale_by_is_refused_where_the_method_says_it_all() -> None:
    words = ["grpo.method={name: tests.own_advantages}", "grpo.trainer={scale_rewards: group}"]
    with pytest.raises(RecipeError) as caught:
        resolve(BASE, words)
    (line,) = caught.value.lines
    assert line == (
        "command line: grpo.trainer: method 'tests.own_advantages' computes its advantages itself: "
        "TRL's scale_rewards has no say"
    )
    assert resolve(BASE, words[1:]).recipe.grpo.trainer == {"scale_rewards": "group"}


@pytest.mark.parametrize(
    ("given", "said"),
    [([1.0], "gave 1 advantages for 2 rows"), ([1.0, (1.0,)], "gave 1 advantages for 16 tokens")],
)
def test_too_few_are_the_methods_fault(given: list[Any], said: str, tmp_path: Path) -> None:
    found = rollouts(tmp_path, [sampled(block("right"))])
    found.method.advantages = lambda rows, credits: given  # type: ignore[method-assign]
    with pytest.raises(ValueError, match=said):
        found(prompts(found, "a"), TRAINER)


def test_a_problem_in_two_skills_is_two_tasks_with_records_of_their_own(tmp_path: Path) -> None:
    method = start_method(method_options(OWN), RunView(seed=0, store=RecordStore(tmp_path)))
    tasks = method.tasks([task("a")])
    found = rollouts(tmp_path, [ANSWERS[1]], tasks=by_key(tasks))
    found([[{"role": "user", "content": one.key}] for one in tasks for _ in range(2)], TRAINER)
    assert [one.skill for one in found.store.read()] == ["write", "write", "mend", "mend"]
    assert {task_key(one) for one in found.store.read()} == {one.key for one in tasks}
    assert task("a").key not in {one.key for one in tasks}
