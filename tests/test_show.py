"""`show` prints one rollout of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kernelwright.cli import app
from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.types import Reward, Verdict
from tests.nouns import record, verdict


@pytest.fixture
def run(tmp_path: Path) -> Path:
    paid = Reward(parts={"correct": 0.3, "speed": 0.5})
    nothing = verdict(Verdict.NO_KERNEL)
    rows = [
        record(row=0, reward=paid, credit=1.5),
        record(row=1, source=None, evaluation=nothing, completion="I can't \ud800"),
    ]
    RecordStore(tmp_path).append(rows)
    return tmp_path


def show(*words: object) -> Result:
    return CliRunner().invoke(app, ["show", *map(str, words)])


def test_a_rollout_is_shown_with_verdict_reward_prompt_and_answer(run: Path) -> None:
    first, second, *rest = show(run, "grpo/0/0").output.splitlines()
    assert first == "grpo/0/0 · p · cpp"
    assert second.startswith("correct (ok) · 2.00x")
    assert "reward 0.8 (correct 0.3, speed 0.5) · credit +1.500" in rest
    assert rest[-5:] == ["--- prompt", "do", "", "--- answer", "done"]
    other = show(run, "grpo/0/1").output
    assert "reward none · credit none" in other
    assert other.endswith("I can't ?\n"), "half of a surrogate pair"


def test_a_kernel_alone_and_one_json_object_are_for_other_programs(run: Path) -> None:
    found = show(run, "grpo/0/0", "--kernel")
    assert (found.exit_code, found.output) == (0, "int x;\n")
    assert show(run, "grpo/0/1", "--kernel").exit_code == 1
    told = json.loads(show(run, "grpo/0/1", "--json").output)
    assert (told["completion"], told["evaluation"]["verdict"]) == ("I can't \ud800", "no_kernel")


@pytest.mark.parametrize(
    ("place", "says"),
    [("grpo/0/7", "has no record grpo/0/7; its stages are: grpo"), ("nine", "names no record")],
)
def test_a_rollout_that_is_not_there_is_one_line(run: Path, place: str, says: str) -> None:
    found = show(run, place)
    assert (found.exit_code, found.output.count("\n")) == (2, 1)
    assert says in found.output
