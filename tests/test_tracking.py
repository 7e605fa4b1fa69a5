"""One tracker for one run: its axes, figures and id over attempts, read back from its files."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.runs.records import RecordStore
from kernelwright.envs.types import Record, Verdict
from kernelwright.preflight.check import preflight
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.tracking import metrics_callback
from kernelwright.rl.tracking.metrics_callback import Samples, log_metrics
from kernelwright.rl.tracking.run_tracker import (
    SAMPLES,
    samples,
    sends_samples,
    tracker_of,
    tracking,
    why_not,
)
from kernelwright.rl.tracking.trackers import Attempts
from kernelwright.run.tracked_results import send_files, send_stage, send_summary
from tests.nouns import record, verdict
from tests.wandb_file import OfflineRun, offline_runs

pytestmark = pytest.mark.model

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    monkeypatch.setenv("WANDB_MODE", "offline")
    run = tmp_path / "run"
    run.mkdir()
    return Recipe.model_validate(
        {"name": "tracked", "run_dir": run, "report_to": "wandb", "project": "kernels"}
    )


def measured(recipe: Recipe, stage: str, verdicts: list[Verdict]) -> None:
    rows = [
        record(stage, 0, row, evaluation=verdict(one), completion=f"answer {row}\nof {stage}")
        for row, one in enumerate(verdicts)
        if one is not Verdict.NO_KERNEL
    ]
    RecordStore(recipe.run_dir).append(rows)
    send_stage(recipe, stage)


def one_attempt(recipe: Recipe, stage: str, steps: range) -> None:
    with tracking(recipe):
        for step in steps:
            log_metrics(recipe, stage, step, {"loss": 1 / step, "note": "x", "kl": float("nan")})


def values(run: OfflineRun, key: str) -> list[tuple[int, float]]:
    axis = run.axes[f"{key.partition('/')[0]}/*"]
    return [(row[axis], row[key]) for row in run.rows if key in row]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.slow
def test_one_wandb_run_holds_all_stages_on_their_own_axes_and_goes_on_after_a_resume(
    recipe: Recipe,
) -> None:
    one_attempt(recipe, "sft", range(1, 4))
    with tracking(recipe):
        measured(recipe, "eval_sft", [Verdict.CORRECT, Verdict.WRONG])
    one_attempt(recipe, "grpo", range(1, 3))
    sft, held_out, grpo = offline_runs(recipe.run_dir)
    assert {sft.id, held_out.id, grpo.id} == {Attempts(recipe.run_dir).id}
    assert {sft.project, held_out.project, grpo.project} == {"kernels"}
    assert values(sft, "sft/loss") == [(1, 1.0), (2, 0.5), (3, pytest.approx(1 / 3))]
    assert values(grpo, "grpo/loss") == [(1, 1.0), (2, 0.5)]
    assert values(held_out, "eval/correct_rate") == [(3, 0.5)]
    counted = [row["_step"] for run in (sft, held_out, grpo) for row in run.rows]
    assert counted == list(range(len(counted)))
    assert not any(
        "kl" in key or "note" in key for run in (sft, grpo) for row in run.rows for key in row
    )
    assert sft.config["grpo"]["method"] == {"name": "grpo"}
    assert sft.config["project"] == "kernels"
    assert not (Path.cwd() / "wandb").exists()


@pytest.mark.slow
def test_a_killed_attempt_has_left_on_disk_what_it_logged(recipe: Recipe) -> None:
    script = (
        "import sys, time\nfrom kernelwright.rl.recipe.schema import Recipe\n"
        "from kernelwright.rl.tracking.run_tracker import tracking\n"
        "with tracking(Recipe.model_validate_json(sys.argv[1])) as tracker:\n"
        "    tracker.log('sft', 1, {'loss': 2.5})\n    time.sleep(600)\n"
    )
    words = [sys.executable, "-c", script, recipe.model_dump_json()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not Attempts(recipe.run_dir).rows and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(8)  # less than wandb's own interval
    finally:
        process.kill()
        process.wait()
    (run,) = offline_runs(recipe.run_dir)
    assert values(run, "sft/loss") == [(1, 2.5)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_held_out_figures_stand_in_the_summary_and_samples_in_a_table(recipe: Recipe) -> None:
    side = dict.fromkeys(("fast_1", "geomean_speedup", "mean_reward"))
    rates = {"correct_rate": 0.75, "correct_rate_ci": [0.5, 0.9], "n": 4}
    gain = {"correct_rate": {"mean": 0.1, "low": -0.1, "high": 0.3}, "mean_reward": None}
    with tracking(recipe):
        measured(recipe, "eval_before", [Verdict.CORRECT, Verdict.BUILD_FAILED])
        send_summary(
            recipe,
            {
                "held_out": {"before": side | rates},
                "gains": {"before_to_after": gain},
                "seconds": {"total": 9.0},
            },
        )
        for name in ("summary.json", "report.html", "other.txt"):
            (recipe.run_dir / name).write_text(name)
        send_files(recipe)
    (run,) = offline_runs(recipe.run_dir)
    assert run.summary["held_out/before/correct_rate"] == 0.75
    assert run.summary["held_out/before/correct_rate_low"] == 0.5
    assert run.summary["gain/before_to_after/correct_rate_mean"] == 0.1
    assert run.summary["seconds"] == 9.0
    assert sorted(run.files) == ["report.html", "summary.json"]
    (table,) = recipe.run_dir.glob("wandb/offline-run-*/files/media/table/eval/samples*.json")
    kept = json.loads(table.read_text())
    verdicts = [row[kept["columns"].index("verdict")] for row in kept["data"]]
    assert verdicts == ["correct", "build_failed"]


def test_only_the_first_process_tracks(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    one_attempt(recipe, "sft", range(1, 2))
    assert offline_runs(recipe.run_dir) == []
    assert why_not(recipe) is None


def test_without_a_key_the_run_is_refused_before_it_starts_in_one_line(
    recipe: Recipe, tmp_path: Path
) -> None:
    script = (
        "from kernelwright.rl.recipe.schema import Recipe\n"
        "from kernelwright.rl.tracking.run_tracker import why_not\n"
        "print(why_not(Recipe(name='a', report_to='wandb')))"
    )
    clean = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "src"),
    }
    done = subprocess.run(
        [sys.executable, "-c", script], env=clean, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("alone")
    assert "wandb login" in done.stdout
    assert len(done.stdout.splitlines()) == 1


def events(recipe: Recipe, stage: str) -> Any:
    """What TensorBoard shows of a stage."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return EventAccumulator(str(recipe.run_dir / "tensorboard" / stage)).Reload()


def points(found: Any, key: str) -> list[tuple[int, float]]:
    return [(one.step, one.value) for one in found.Scalars(key)]


def test_tensorboard_keeps_events_in_the_run_folder(recipe: Recipe) -> None:
    pytest.importorskip("tensorboard")
    told = recipe.model_copy(update={"report_to": "tensorboard"})
    one_attempt(told, "sft", range(1, 3))
    with tracking(told) as tracker:
        measured(told, "eval_after", [Verdict.CORRECT])
        tracker.summarise({"seconds": 3.0})
    assert points(events(told, "sft"), "sft/loss") == [(1, 1.0), (2, 0.5)]
    held_out = events(told, "eval")
    assert points(held_out, "eval/correct_rate") == [(2, 1.0)]
    assert "eval/samples/text_summary" in held_out.Tags()["tensors"]
    whole = events(told, "")
    assert [value for _, value in points(whole, "seconds")] == [3.0]
    assert "recipe/text_summary" in whole.Tags()["tensors"]


def test_tensorboard_shows_a_step_that_was_done_again_once(recipe: Recipe) -> None:
    """And takes no step from another stage."""
    pytest.importorskip("tensorboard")
    told = recipe.model_copy(update={"report_to": "tensorboard"})
    one_attempt(told, "sft", range(1, 5))
    one_attempt(told, "grpo", range(1, 4))
    time.sleep(1.1)  # files of events are ordered by the second
    with tracking(told) as tracker:
        for step in (3, 4):
            tracker.log("grpo", step, {"loss": 7.0})
    assert points(events(told, "grpo"), "grpo/loss") == [(1, 1.0), (2, 0.5), (3, 7.0), (4, 7.0)]
    assert [step for step, _ in points(events(told, "sft"), "sft/loss")] == [1, 2, 3, 4]


def test_trackio_keeps_one_run_over_attempts(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("trackio")
    monkeypatch.setattr("trackio.utils.TRACKIO_DIR", tmp_path)
    monkeypatch.setattr("trackio.sqlite_storage.TRACKIO_DIR", tmp_path)
    told = recipe.model_copy(update={"report_to": "trackio"})
    one_attempt(told, "sft", range(1, 3))
    one_attempt(told, "grpo", range(1, 3))
    (database,) = tmp_path.glob("*.db")
    with sqlite3.connect(database) as opened:
        rows = opened.execute("select run_name, metrics from metrics").fetchall()
    assert {name for name, _ in rows} == {f"tracked-{Attempts(recipe.run_dir).id}"}
    logged = [json.loads(one) for _, one in rows]
    assert [one["grpo/step"] for one in logged if "grpo/loss" in one] == [1, 2]


def test_a_tracker_without_its_package_is_refused_with_the_extra_that_has_it(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "kernelwright.preflight.check.find_spec", lambda name: name != "trackio" or None
    )
    reasons = preflight(recipe.model_copy(update={"report_to": "trackio"}))
    assert any("report_to" in one and "[trackers]" in one for one in reasons)


def test_nothing_is_tracked_unless_the_recipe_says_so(recipe: Recipe) -> None:
    one_attempt(recipe.model_copy(update={"report_to": "none"}), "sft", range(1, 3))
    assert sorted(one.name for one in recipe.run_dir.iterdir()) == ["metrics.jsonl"]
    tracker_of(recipe).log("sft", 1, {"loss": 1.0})


def test_a_damaged_tracker_file_costs_the_id_and_not_the_run(tmp_path: Path) -> None:
    (tmp_path / "tracker.json").write_text("{")
    first = Attempts(tmp_path)
    assert first.next_row() == 0
    again = Attempts(tmp_path)
    assert (again.id, again.next_row()) == (first.id, 1)


@given(st.integers(1, 10_000))
def test_samples_of_a_few_steps_are_sent_the_ends_among_them(last: int) -> None:
    sent = [step for step in range(1, last + 1) if sends_samples(step, last)]
    assert sent[0] == 1
    assert sent[-1] == last
    assert len(sent) <= 10


@given(st.integers(0, 300))
def test_a_table_is_small_and_in_order(count: int) -> None:
    table = samples([record(row=row) for row in range(count)])
    rows = [row[0] for row in table.rows]
    assert len(rows) == min(count, SAMPLES)
    assert rows == sorted(set(rows))


@pytest.mark.parametrize(
    ("iterations", "asked"), [(1, [0, 1, 2, 3]), (2, [0, 0, 2, 2]), (4, [0, 0, 0, 0])]
)
def test_samples_of_a_step_are_the_records_that_it_trains_on(
    iterations: int, asked: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a rollout, which serves so many steps."""
    fields = {"name": "a", "run_dir": tmp_path, "grpo": {"steps": 4, "iterations": iterations}}
    sent: list[list[Record]] = []
    monkeypatch.setattr(metrics_callback, "samples", sent.append)
    monkeypatch.setattr(metrics_callback, "tracker_of", lambda _: SimpleNamespace(table=print))
    store = RecordStore(tmp_path)
    send = Samples(Recipe.model_validate(fields), "grpo")
    for step in range(1, 5):
        rollout = [record("grpo", step - 1, row) for row in range(2)]
        store.append(rollout if (step - 1) % iterations == 0 else [])
        store.append([record("eval_after", step - 1)])
        send(step)
    assert [{one.step for one in some} for some in sent] == [{one} for one in asked]
    assert [len(some) for some in sent] == [2] * 4
