"""Preferences: which answers are paired, and what training on pairs does to a policy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.runs.metrics import MetricsFile
from kernelwright.data.suites.row_folder import Done, RowFolder
from kernelwright.envs.types import Record, Verdict
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.dpo import dpo_trainer, run_dpo
from kernelwright.rl.train.pairs import Pair, pairs_for, pairs_of_records
from tests import nouns
from tests.tiny_model import save_tiny

WRONG = nouns.verdict(Verdict.WRONG)
PAIRS = [Pair(f"Question {k}.", "Yes, sure.", "No, never at all.") for k in range(4)]
CODE = """\
import torch
import torch.nn as nn

N = 64


class Model(nn.Module):
    def forward(self, x):
        return x + 1


def get_inputs():
    return [torch.randn(N)]


def get_init_inputs():
    return []
"""


def answer(text: str, prompt: str = "p", speed: int | None = None, **more: Any) -> Record:
    """A correct sampled answer, `speed` times as fast as its baseline."""
    timing = None if speed is None else nouns.timing(1_000 * speed, 1_000)
    given = {"prompt": prompt, "completion": text, "source": text, "step": 1, **more}
    return nouns.record("rft", **{"evaluation": nouns.correct(timing), **given})


answers = st.builds(
    answer,
    text=st.text("abc", min_size=1, max_size=3),
    prompt=st.sampled_from("pq"),
    speed=st.none() | st.integers(1, 5),
    evaluation=st.sampled_from(
        [nouns.correct(), WRONG, nouns.verdict(Verdict.UNJUDGED), nouns.verdict(Verdict.CRASHED)]
    ),
)


@given(st.lists(answers, max_size=12), st.integers(1, 3), st.integers(0, 2))
def test_the_better_answer_of_a_pair_is_right_and_both_are_of_one_prompt(
    records: list[Record], each: int, seed: int
) -> None:
    pairs = pairs_of_records(records, each, seed)
    by_text: dict[tuple[str, str], set[Verdict]] = {}
    for one in records:
        by_text.setdefault((one.prompt, one.completion), set()).add(one.evaluation.verdict)
    for pair in pairs:
        assert Verdict.CORRECT in by_text[pair.prompt, pair.chosen]
        assert by_text[pair.prompt, pair.rejected] - {Verdict.UNJUDGED}
    for prompt in "pq":
        worse = [one.rejected for one in pairs if one.prompt == prompt]
        assert len(worse) <= each
    again = pairs_of_records(reversed(records), each, seed)
    assert sorted(map(repr, again)) == sorted(map(repr, pairs))


def test_of_two_right_answers_the_faster_one_is_better_where_their_speeds_are_apart() -> None:
    slow, fast, same = answer("slow", speed=1), answer("fast", speed=3), answer("same", speed=3)
    assert pairs_of_records([slow, fast], 9, 0) == [Pair("p", "fast", "slow")]
    assert pairs_of_records([fast, same], 9, 0) == []
    assert pairs_of_records([answer("untimed"), answer("too")], 9, 0) == []
    wrong = answer("wrong", evaluation=WRONG)
    assert pairs_of_records([slow, wrong], 9, 0) == [Pair("p", "slow", "wrong")]


def test_a_kernel_is_paired_once_however_often_it_was_answered() -> None:
    """It may have been timed twice; beside itself it is no faster."""
    fast, again = (answer("same", speed=speed) for speed in (5, 3))
    slow = answer("slow", speed=1)
    assert pairs_of_records([fast, again, slow], 9, 0) == [Pair("p", "same", "slow")]
    assert pairs_of_records([fast, again], 9, 0) == []
    between = answer("other", speed=3)
    twice = [fast, answer("same", speed=1), between]
    assert pairs_of_records(twice, 9, 0) == [Pair("p", "same", "other")]


def test_answers_of_an_evaluation_are_never_paired() -> None:
    measured = [
        nouns.record("eval_after", prompt="p", completion=text, source=text, evaluation=said)
        for text, said in (("a", nouns.correct()), ("b", WRONG))
    ]
    assert pairs_of_records(measured, 9, 0) == []


def recipe(folder: Path, **dpo: Any) -> Recipe:
    section = {"batch_size": 2, "epochs": 4, "learning_rate": 1e-2, "max_length": 256}
    return Recipe.model_validate(
        {
            "name": "pairs",
            "run_dir": folder / "run",
            "stages": ["dpo"],
            "model": {"name": str(save_tiny(folder / "model")), "lora": {"rank": 2}},
            "dpo": section | dpo,
        }
    )


def test_a_folder_of_rows_gives_its_right_and_wrong_answers_as_pairs(tmp_path: Path) -> None:
    rows = RowFolder(tmp_path / "rows")
    rows.open({})
    right, wrong = (
        nouns.cpp_row(CODE, f"int {one};\n", verdict)
        for one, verdict in (("right", Verdict.CORRECT), ("wrong", Verdict.WRONG))
    )
    rows.add([Done(id="1", rows=(right,), wrong=(wrong,))])
    asked = recipe(tmp_path, pairs=f"rows:{tmp_path / 'rows'}")
    (pair,) = pairs_for(asked, [])
    assert "int right;" in pair.chosen
    assert "int wrong;" in pair.rejected
    assert "class Model" in pair.prompt


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        (None, "no pair of a better and a worse answer in the records of this run"),
        ("starter:sft", "starter:sft is neither data:FOLDER nor rows:FOLDER"),
        ("rows:/nothing", "/nothing has no rows"),
    ],
)
def test_nothing_to_learn_from_is_said(tmp_path: Path, pairs: str | None, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        pairs_for(recipe(tmp_path, pairs=pairs), [])


def test_pairs_that_do_not_fit_are_left_out_and_none_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = Pair("Question.", "word " * 200, "no")
    trainer = dpo_trainer(recipe(tmp_path), [*PAIRS, long], 0)
    assert len(trainer.train_dataset) == len(PAIRS)
    assert "dpo: 1 of 5 examples are longer than dpo.max_length" in capsys.readouterr().err
    with pytest.raises(ModelError, match=r"raise dpo.max_length"):
        dpo_trainer(recipe(tmp_path), [long], 0)


def figures(folder: Path, name: str) -> list[float]:
    found = [one for one in MetricsFile(folder / "run").steps() if one["stage"] == "dpo"]
    return [one[name] for one in found if name in one]


def test_the_better_answers_become_likelier_than_the_worse_ones(tmp_path: Path) -> None:
    asked = recipe(tmp_path)
    out = run_dpo(asked, PAIRS, tmp_path / "first", None, resume=False)
    losses = figures(tmp_path, "loss")
    assert losses[0] == pytest.approx(math.log(2), abs=1e-4), "the policy begins as its reference"
    assert losses[-1] < 0.9 * losses[0]
    assert figures(tmp_path, "rewards/margins")[-1] > 0
    assert not (out / "ref").exists()


def test_a_second_stage_is_held_to_the_adapter_that_it_begins_with(tmp_path: Path) -> None:
    first = run_dpo(recipe(tmp_path), PAIRS, tmp_path / "first", None, resume=False)
    run_dpo(recipe(tmp_path), PAIRS, tmp_path / "second", first, resume=False)
    assert figures(tmp_path, "loss")[0] == pytest.approx(math.log(2), abs=1e-4)


def test_a_run_that_was_stopped_ends_with_the_same_weights(tmp_path: Path) -> None:
    whole, halves = tmp_path / "a", tmp_path / "b"
    for folder in (whole, halves):
        folder.mkdir()
    uncut = run_dpo(recipe(whole), PAIRS, whole / "out", None, resume=False)
    trainer = dpo_trainer(recipe(halves), PAIRS, 0)
    trainer.args.save_steps = 4
    trainer.add_callback(_stop_after(4))
    trainer.train()
    again = run_dpo(recipe(halves), PAIRS, halves / "out", None, resume=True)
    name = "adapter_model.safetensors"
    assert (uncut / name).read_bytes() == (again / name).read_bytes()


def test_a_stage_whose_last_step_is_saved_is_not_trained_any_further(tmp_path: Path) -> None:
    """As where a kill comes between the last checkpoint and the end of the stage: here the steps
    are no whole epochs, and transformers would train one more."""
    asked = recipe(tmp_path, epochs=2.5, trainer={"lr_scheduler_type": "constant"})
    done = run_dpo(asked, PAIRS, tmp_path / "done", None, resume=False)
    again = run_dpo(asked, PAIRS, tmp_path / "again", None, resume=True)
    name = "adapter_model.safetensors"
    assert (done / name).read_bytes() == (again / name).read_bytes()


def _stop_after(steps: int) -> Any:
    from transformers import TrainerCallback

    class Stop(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_training_stop = state.global_step == steps
            control.should_save = state.global_step == steps

    return Stop()
