"""The judge as a reward function of TRL's own trainer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernelwright.data.runs.records import read_records
from kernelwright.data.suites.load import load_suite
from kernelwright.data.triples.templates import template_triples
from kernelwright.envs.types import Evaluation, Verdict
from kernelwright.rewards.price import price
from kernelwright.trl_reward import KernelReward
from tests.fixed_judge import FixedJudge
from tests.tiny_model import save_tiny

pytestmark = pytest.mark.model

ROOT = Path(__file__).resolve().parents[1]
SUITE = "starter:held_out"
BLOCK = "```cpp\nint x;\n```"


def keys(count: int) -> list[str]:
    return [problem.key for problem in load_suite(SUITE).problems[:count]]


def test_a_judge_that_was_given_is_let_go_and_not_ended() -> None:
    reward = KernelReward(SUITE, judge=FixedJudge())
    reward.close()
    reward.close()


def test_what_a_full_disk_left_of_a_line_is_cut_before_more_is_written(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text('{"half": ')
    KernelReward(SUITE, judge=FixedJudge(), records=tmp_path)
    assert read_records(tmp_path) == []
    assert (tmp_path / "records.jsonl").read_text() == ""


def test_unjudged_is_none_and_the_rest_is_priced(tmp_path: Path) -> None:
    court = FixedJudge(Verdict.UNJUDGED, Verdict.WRONG)
    reward = KernelReward(SUITE, judge=court, records=tmp_path)
    logged: dict[str, float] = {}
    found = reward(
        prompts=["p"] * 3,
        completions=[BLOCK, [{"role": "assistant", "content": BLOCK}], "no code"],
        problem=keys(3),
        trainer_state=SimpleNamespace(global_step=4),
        log_metric=logged.__setitem__,
    )
    wrong = price("default", Evaluation(verdict=Verdict.WRONG, reason="said"))
    assert wrong is not None
    assert found == [None, wrong.total, 0.0]
    assert logged["verdict/unjudged"] == pytest.approx(1 / 3)
    kept = read_records(tmp_path)
    assert [one.id for one in kept] == [("grpo", 4, 0), ("grpo", 4, 1), ("grpo", 4, 2)]
    assert [one.completion for one in kept] == [BLOCK, BLOCK, "no code"]


def test_calls_of_one_step_and_processes_of_one_launch_share_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        reward = KernelReward(SUITE, judge=FixedJudge(), records=tmp_path)
        for _ in range(2):
            reward(prompts=["p"] * 2, completions=["", ""], problem=keys(2))
    assert sorted(one.row for one in read_records(tmp_path)) == list(range(8))


def attempt(folder: Path, steps: range, text: str) -> None:
    """A process that is told these steps by TRL's trainer."""
    reward = KernelReward(SUITE, judge=FixedJudge(), records=folder)
    for step in steps:
        state = SimpleNamespace(global_step=step)
        reward(prompts=["p"] * 2, completions=[text] * 2, problem=keys(2), trainer_state=state)


def test_steps_that_a_resumed_run_does_again_are_kept_once(tmp_path: Path) -> None:
    attempt(tmp_path, range(3), "first")
    attempt(tmp_path, range(1, 4), "again")
    kept = read_records(tmp_path)
    assert sorted(one.id[1:] for one in kept) == [(at, row) for at in range(4) for row in (0, 1)]
    assert {one.completion for one in kept if one.step} == {"again"}


def test_a_process_takes_back_no_record_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for text, ranks in (("first", "01"), ("again", "10")):
        for rank in ranks:
            monkeypatch.setenv("RANK", rank)
            attempt(tmp_path, range(1, 3), text)
    kept = read_records(tmp_path)
    assert sorted(one.id[1:] for one in kept) == [(at, row) for at in (1, 2) for row in range(4)]
    assert {one.completion for one in kept} == {"again"}


@pytest.mark.parametrize("column", [(), ["another key"]])
def test_a_data_set_of_another_suite_is_refused_with_what_to_take(column: list[str]) -> None:
    reward = KernelReward(SUITE, judge=FixedJudge())
    with pytest.raises(ValueError, match="take kernel_dataset"):
        reward(prompts=["p"], completions=[""], problem=column)


@pytest.mark.slow
def test_a_right_kernel_is_paid_by_the_real_judge_and_a_wrong_one_is_not() -> None:
    triple = template_triples()[0]
    reward = KernelReward("starter:train", timed=False)
    wrong = "```cpp\nint nothing;\n```"
    found = reward(
        prompts=["p"] * 2,
        completions=[triple.completion(), wrong],
        problem=[triple.problem.key] * 2,
    )
    reward.close()
    assert found[0] is not None
    assert found[0] > 0
    assert found[1] == 0


def test_an_unknown_preset_is_refused_before_anything_is_judged() -> None:
    with pytest.raises(ValueError, match="there are: autotriton, default"):
        KernelReward(SUITE, preset="defalt")


@pytest.mark.slow
def test_the_example_trains_a_step_with_trls_own_trainer(tmp_path: Path) -> None:
    model, run = save_tiny(tmp_path / "model"), tmp_path / "run"
    words = ["--output_dir", str(run), "--max_steps", "1", "--max_completion_length", "8"]
    words += ["--per_device_train_batch_size", "2", "--num_generations", "2", "--use_cpu"]
    words += ["--bf16", "False", "--report_to", "none", "--logging_steps", "1"]
    done = subprocess.run(
        [sys.executable, "examples/trl_reward.py", str(model), *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert {one.evaluation.reason for one in read_records(run)} == {"no_code_block"}
    state = json.loads((run / "checkpoint-1" / "trainer_state.json").read_text())
    assert state["log_history"][0]["rewards/kernel/mean"] == 0
    assert state["log_history"][0]["verdict/no_kernel"] == 1
