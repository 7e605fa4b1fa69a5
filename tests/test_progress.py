"""What a user sees of a run that goes on, and what is kept of what its trainers log."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.runs.metrics import MetricsFile
from kernelwright.data.runs.process import Process
from kernelwright.data.runs.progress import (
    LOG,
    Answered,
    Counted,
    RunPlan,
    StageDisplay,
    logged,
    minutes,
    plan_run,
    resident_bytes,
    told_while_waiting,
)
from kernelwright.envs.types import Baseline
from kernelwright.evals.evaluate.model import Attempt, EvalError
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.recipe.stage_names import stage_names
from kernelwright.run.run_folder import RunFolder
from kernelwright.run.train import Run

ROOT = Path(__file__).resolve().parents[1]
LONG = """
import time
from kernelwright.data.runs.progress import StageDisplay, plan_run
plan_run(["sft", "grpo", "eval_after"], {"sft": 9.0})
display = StageDisplay("grpo")
display.begin(2, 0)
logs = {"loss": 0.123, "mean_token_accuracy": 0.9, "sampled/reward": 0.5, "verdict/correct": 0.25,
        "groups/live": 3, "speedup_mean": 1.5, "sampled/tokens": 222.0,
        "sampled/truncated": 0.5, "validation/correct_rate": 0.75}
display.show(1, logs)
time.sleep(0.4)
display.end()
"""


def test_a_metrics_row_is_whole_and_what_is_no_number_is_null(tmp_path: Path) -> None:
    metrics = MetricsFile(tmp_path)
    metrics.append("sft", 1, {"loss": float("nan"), "lr": 0.5})
    assert json.loads(metrics.path.read_text()) == {
        "stage": "sft",
        "step": 1,
        "loss": None,
        "lr": 0.5,
    }


def test_a_row_after_a_torn_one_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    metrics = MetricsFile(tmp_path)
    metrics.append("sft", 1, {"loss": 2.0})
    with metrics.path.open("a") as file:
        file.write('{"stage": "sft", "st')
    metrics.append("sft", 2, {"loss": 1.0})
    assert [row["loss"] for row in metrics.read()[0]] == [2.0, 1.0]
    assert metrics.read()[1] == 1


def test_values_of_a_step_logged_twice_are_the_later_ones(tmp_path: Path) -> None:
    metrics = MetricsFile(tmp_path)
    for loss in (3.0, 1.0):
        metrics.append("grpo", 1, {"loss": loss})
    metrics.append("grpo", 1, {"entropy": 0.5})
    assert metrics.steps() == [{"stage": "grpo", "step": 1, "loss": 1.0, "entropy": 0.5}]


def test_a_damaged_line_does_not_stop_a_resumed_run(tmp_path: Path) -> None:
    metrics = MetricsFile(tmp_path)
    for stage, step in (("sft", 1), ("grpo", 1), ("grpo", 2), ("grpo", 3)):
        metrics.append(stage, step, {})
    metrics.path.write_text("{bad}\n[1]\n" + metrics.path.read_text())
    metrics.rewind("grpo", 1)
    assert [(row["stage"], row["step"]) for row in metrics.read()[0]] == [("sft", 1), ("grpo", 1)]
    assert metrics.read()[1] == 0


def test_what_cannot_be_foreseen_is_named_and_the_rest_is_added_up() -> None:
    stages = ["triples", "eval_before", "sft", "eval_sft", "grpo", "final", "eval_greedy"]
    plan = RunPlan(stages, {"triples": 9.0, "eval_before": 120.0})
    assert plan.left("sft", 60.0) == "1.0 min left, then eval_sft, grpo, eval_greedy"
    assert RunPlan(stages[:-1], plan.seconds).left("grpo", 60.0) == "1.0 min left"
    assert RunPlan(stages[:4], plan.seconds).left("sft", 60.0) == "1.0 min left, 3.0 min for all"


@given(st.floats(0, 1e6))
def test_a_duration_is_short_whatever_it_is(seconds: float) -> None:
    assert len(minutes(seconds)) <= 12


def test_without_a_terminal_a_step_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    plan_run([], {})
    display = StageDisplay("grpo")
    display.begin(2, 0)
    display.show(1, {"loss": 0.5, "reward": None, "grad_norm": 3.0})
    display.show(2, {"loss": 0.25})
    display.end()
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("grpo 1/2  loss 0.5  ")
    assert "left)" in first
    assert "reward" not in first
    assert second.startswith("grpo 2/2  loss 0.25  ")
    assert "left" not in second


def test_judging_what_is_written_is_a_part_of_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    plan_run([], {})
    with Answered("eval_after", 32) as watcher:
        for _ in range(32):
            watcher.one_written()
        for _ in range(32):
            watcher.one_judged()
    lines = capsys.readouterr().err.splitlines()
    assert [one.partition("  ")[0] for one in lines] == [
        "eval_after 16/32 written, 0 judged",
        "eval_after 32/32 written, 0 judged",
        "eval_after 32/32 written, 16 judged",
        "eval_after 32/32 written, 32 judged",
    ]
    assert ["left" in one for one in lines] == [True, True, True, False]


def test_on_a_narrow_terminal_no_figure_is_cut() -> None:
    parent, child = pty.openpty()
    environment = {**os.environ, "COLUMNS": "60", "TERM": "xterm", "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen([sys.executable, "-c", LONG], stderr=child, env=environment)
    os.close(child)
    shown = b""
    try:
        while piece := os.read(parent, 4096):
            shown += piece
    except OSError:
        pass  # the other end is closed
    os.close(parent)
    assert process.wait() == 0
    text = " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).split())
    for figure in ("loss 0.123", "live groups 3", "speedup 1.5", "cut off 0.5", "validation 0.75"):
        assert figure in text
    assert "then eval_after" in text


def test_memory_of_this_process_is_known() -> None:
    held = resident_bytes()
    assert held is None or held > 1 << 20


@pytest.mark.parametrize("stages", [("sft", "grpo", "eval"), ("sft",), ("grpo", "eval"), ("eval",)])
@pytest.mark.parametrize("baseline", Baseline)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_stages_that_are_planned_are_those_that_are_run(
    stages: tuple[str, ...],
    baseline: Baseline,
    temperature: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[str] = []
    monkeypatch.setattr(Run, "stage", lambda self, name, work, *, alone=False: ran.append(name))
    measured = {"baseline": baseline, "temperature": temperature, "greedy": True}
    recipe = Recipe.model_validate(
        {"name": "a", "run_dir": tmp_path, "stages": stages, "eval": measured}
    )
    process = Process(rank=0, world=1)
    judge: object = None
    Run(recipe, RunFolder(tmp_path), judge, process, lambda: None, resume=False).all_stages()  # type: ignore[arg-type]
    assert stage_names(recipe) == ran


def test_progress_is_also_written_to_a_log_of_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with logged(tmp_path), Counted("sorted", 40, every=10) as one_more:
        for _ in range(40):
            one_more()
    first, last = (tmp_path / LOG).read_text().splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d [\d:]{8}  sorted 10/40 .*", first)
    assert "  sorted 40/40  " in last
    shown = [line.partition("  ")[0] for line in capsys.readouterr().err.splitlines()]
    assert shown == [f"sorted {count}/40" for count in (10, 20, 30, 40)]
    for folder in (None, tmp_path / "nowhere"):
        with logged(folder), Counted("sorted", 1) as one_more:
            one_more()
    assert len((tmp_path / LOG).read_text().splitlines()) == 2


def test_slow_things_are_told_of_before_there_are_many(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with Counted("written", 9, every=16) as one_more:
        for now[0] in range(0, 56, 7):
            one_more()
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["4/9", "7/9"]


def test_what_is_waited_for_is_named_again_and_again_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = iter(range(10**9))
    with logged(tmp_path), told_while_waiting(lambda: f"problem {next(place)}", 0.01):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""
    with logged(tmp_path), told_while_waiting(lambda: "endless", 0.01):
        time.sleep(0.2)
    said = capsys.readouterr().err.splitlines()
    assert len(said) >= 2
    assert set(said) == {"endless: 0 s so far"}
    assert (tmp_path / LOG).read_text().count("endless") == len(said)


def test_a_folder_with_nothing_but_a_log_is_unused(tmp_path: Path) -> None:
    """The model's download is shown before there is anything to go on with."""
    attempt = Attempt(tmp_path / "eval.json", {})
    (tmp_path / LOG).write_text("SmolLM2 MB 1/140\n")
    attempt.open(resume=False)
    (tmp_path / "records.jsonl").write_text("")
    with pytest.raises(EvalError, match="is not empty"):
        attempt.open(resume=False)
