"""Examples of mending: the chat of a second turn, of which the last answer alone is learned."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.graphs.build import Build, Wanted
from kernelwright.data.graphs.build import Recipe as BuildRecipe
from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.built import built_triples
from kernelwright.data.suites.repairs import REPAIRS
from kernelwright.data.triple import JudgedTriple
from kernelwright.envs.answer import fenced
from kernelwright.envs.policy import Completion, Finish, Message
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.types import Candidate, CaseCheck, Check, Evaluation, Problem, Verdict
from kernelwright.preflight.consistency import contradictions
from kernelwright.rl.methods.base import Example, Prompt, RunView
from kernelwright.rl.methods.find import method_options, start_method
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.mending import evenly, with_mending
from kernelwright.rl.train.sft import sft_trainer
from tests import nouns
from tests.fixed_judge import FixedJudge
from tests.rollouts import player
from tests.tiny_model import save_tiny

WRONG = Evaluation(
    verdict=Verdict.WRONG,
    reason="mismatch",
    check=Check(rounds=(CaseCheck(case="a", passed=False, error=4.0),)),
    log="off by 2",
)


class RefusesMutants(FixedJudge):
    """Finds the first kernels it is given right, and all later ones wrong."""

    def evaluate_many(
        self, jobs: Sequence[tuple[Problem, Candidate]], **_: Any
    ) -> list[Evaluation]:
        first, self.verdicts = not self.verdicts, [Verdict.WRONG]
        return [nouns.correct() if first else WRONG for _ in jobs]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of two problems, one batch, each with two mutants."""
    out = tmp_path_factory.mktemp("rows")
    build = Build.begin(out, BuildRecipe(seed=27, mutants=2))
    build.run(Wanted(count=2, batch=8, timed=False), RefusesMutants())
    return out


def recipe(folder: Path, share: float, **more: Any) -> Recipe:
    suites = {"train_suite": f"data:{folder}", "held_out_suite": "starter:held_out"}
    return Recipe.model_validate(
        {"name": "a", "stages": ["sft"], "data": suites, "sft": {"mending": share}, **more}
    )


def judged(folder: Path, evaluation: Evaluation) -> list[JudgedTriple]:
    return [
        JudgedTriple(triple=one, prompt=task_prompt(one.task), evaluation=evaluation)
        for one in built_triples(str(folder), "cpp")
    ]


@pytest.mark.sandbox
def test_an_example_of_mending_is_what_a_second_turn_asks_and_its_answer_is_right(
    folder: Path, tmp_path: Path
) -> None:
    """Word for word as `kevin` asks, of the same broken kernel with the same verdict."""
    triples = judged(folder, nouns.correct())
    plain = [Example(prompt="q", completion="a")]
    found = next(one for one in with_mending(recipe(folder, 9.0), plain, triples) if one.before)
    rows = [json.loads(line) for line in (folder / REPAIRS).read_text().splitlines()]
    (row,) = (
        one
        for one in rows
        if one["completion"] == found.completion
        and fenced(one["broken"], "cpp") == found.before[1].content
    )
    (triple,) = (one.triple for one in triples if one.triple.problem.key == row["problem_key"])
    assert found.completion.endswith(triple.block())
    method = start_method(
        method_options({"name": "kevin", "turns": 2}),
        RunView(seed=0, store=RecordStore(tmp_path)),
    )
    method.prompt = lambda task, step: Prompt(text=task_prompt(task))  # type: ignore[method-assign]
    broken = Completion(
        text=fenced(row["broken"], "cpp"),
        finish=Finish.STOP,
        prompt_ids=(1,),
        token_ids=(1,),
        logprobs=(0.0,),
    )
    judge: Any = FixedJudge()
    judge.evaluate_many = lambda jobs, **_: [WRONG for _ in jobs]
    played = method.rollout([triple.task], player(judge, [broken], group_size=1))
    assert played[1].ask.prompt.chat == found.chat


@pytest.mark.sandbox
def test_mending_is_a_share_of_the_triples_and_only_towards_what_was_judged_right(
    folder: Path,
) -> None:
    triples = judged(folder, nouns.correct())
    plain = [Example(prompt="q", completion=f"a{k}") for k in range(4)]
    assert with_mending(recipe(folder, 0.0), plain, triples) == plain
    half = with_mending(recipe(folder, 0.5), plain, triples)
    assert [bool(one.before) for one in half].count(True) == 2
    assert [one for one in half if not one.before] == plain
    assert with_mending(recipe(folder, 0.5), plain, judged(folder, WRONG)) == plain
    assert with_mending(recipe(folder, 0.5), plain, triples[:0]) == plain


@pytest.mark.sandbox
def test_fewer_examples_of_mending_than_are_asked_for_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    triples, plain = judged(folder, nouns.correct()), [Example(prompt="q", completion="a")] * 4
    many = len((folder / REPAIRS).read_text().splitlines())
    for share, right, fewer in ((0.5, triples, False), (9.0, triples, True), (0.5, [], True)):
        found = with_mending(recipe(folder, share), plain, right)
        taught, said = sum(bool(one.before) for one in found), capsys.readouterr().err
        wanted = f"sft.mending: {taught} examples of mending, where {round(4 * share)} are asked"
        assert said.startswith(wanted) == bool(said) == fewer
        assert f" has {many} repairs, " in said or not fewer


@given(st.integers(0, 9), st.integers(0, 9))
def test_both_kinds_are_spread_through_each_other_in_their_orders(some: int, others: int) -> None:
    first = [Example(prompt="p", completion=str(k)) for k in range(some)]
    second = [Example(prompt="m", completion=str(k)) for k in range(others)]
    found = evenly(first, second)
    assert [one for one in found if one.prompt == "p"] == first
    assert [one for one in found if one.prompt == "m"] == second
    for end in range(len(found) + 1):
        taken = sum(one.prompt == "m" for one in found[:end])
        assert abs(taken - end * others / max(len(found), 1)) <= 1


@pytest.mark.model
@pytest.mark.filterwarnings("ignore")
def test_sft_learns_the_last_answer_of_a_chat_alone(tmp_path: Path) -> None:
    known = {"name": str(save_tiny(tmp_path / "model")), "lora": {"rank": 2}}
    sizes = {"batch_size": 1, "micro_batch_size": 1, "max_length": 512}
    fields = {"name": "a", "run_dir": tmp_path / "run", "model": known, "sft": sizes}
    chat = Example(
        prompt="Mend it.",
        completion="Right.",
        before=(
            Message("user", "Add."),
            Message("assistant", "A broken one."),
        ),
    )
    trainer = sft_trainer(Recipe.model_validate(fields), [chat], 0)
    (batch,) = trainer.get_train_dataloader()
    learned = batch["input_ids"][batch["labels"] != -100]
    text = trainer.processing_class.decode(learned)
    assert text.strip().removesuffix("<|im_end|>").strip() == "Right."
    whole = trainer.processing_class.decode(batch["input_ids"][0])
    assert [whole.index(one) for one in ("Add.", "A broken one.", "Mend it.", "Right.")] == sorted(
        whole.index(one) for one in ("Add.", "A broken one.", "Mend it.", "Right.")
    )


def test_a_suite_without_repairs_is_told_before_anything_is_trained(tmp_path: Path) -> None:
    asked = Recipe.model_validate({"name": "a", "stages": ["sft"], "sft": {"mending": 0.5}})
    (line,) = contradictions(asked, 1)
    assert line.startswith("sft.mending: starter:train has no repairs: `kernelwright data build")


@pytest.mark.sandbox
def test_a_damaged_repair_is_named(folder: Path) -> None:
    path = folder / REPAIRS
    text = path.read_text()
    try:
        path.write_text(text + '{"problem_key": 1}\n')
        assert f"{REPAIRS}:{text.count(chr(10)) + 1}: not a repair (" in "".join(
            contradictions(recipe(folder, 0.5), 1)
        )
    finally:
        path.write_text(text)
