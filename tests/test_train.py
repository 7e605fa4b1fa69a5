"""Whole runs, in processes of their own, on a model of random weights."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from safetensors.torch import load_file

import evals.publish
import kernelwright.train
from data.store import read_records
from envs.types import Record
from kernelwright.run_folder import RunFolder
from kernelwright.train import Run
from rl.adapter import SIDECAR
from rl.config import Recipe
from rl.trainer_options import Process
from scripts.check_card import compare
from tests.tiny_model import save_tiny

ROOT = Path(__file__).resolve().parents[1]
RECIPE = Path(__file__).parent / "fixtures" / "recipes" / "tiny.yaml"
COMMAND = ("-c", "from kernelwright.cli import main; main()", "train")
GRPO_ROWS = {("grpo", step, row) for step in range(3) for row in range(4)}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def whole(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted, started by the command."""
    run = tmp_path_factory.mktemp("whole") / "run"
    finish(start(*words(model, run), launcher=COMMAND))
    return run


def start(*words: str, launcher: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(
        [sys.executable, *launcher, str(RECIPE), *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    output, _ = process.communicate(timeout=600)
    assert process.returncode == code, output[-3000:]
    return output


def words(model: Path, run: Path) -> list[str]:
    return [f"model.name={model}", f"run_dir={run}"]


def assert_whole(run: Path) -> None:
    """Every record of the recipe is there, once; the report is written from them."""
    ids = Counter(record.id for record in read_records(run))
    assert max(ids.values()) == 1
    wanted = GRPO_ROWS | {("triples", 0, row) for row in range(8)}
    wanted |= {(stage, 0, row) for stage in ("eval_before", "eval_after") for row in range(2)}
    assert set(ids) == wanted
    summary = json.loads((run / "summary.json").read_text())
    assert summary["records"] == len(ids)
    assert set(summary["held_out"]) == {"before", "after"}
    assert "<html" in (run / "report.html").read_text()
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in steps if row["stage"] == "grpo"] == [1, 2, 3]


def assert_same(run: Path, other: Path) -> None:
    """The same answers with the same verdicts and rewards, and the same weights to the bit."""

    def seen(one: Record) -> tuple[object, ...]:
        evaluation, reward = one.evaluation, one.reward
        judged = (evaluation.verdict, evaluation.reason, reward and reward.total)
        return (one.id, one.prompt, one.completion, *judged)

    assert sorted(map(seen, read_records(run))) == sorted(map(seen, read_records(other)))
    assert weights_of(run) == weights_of(other)


def weights_of(run: Path) -> dict[str, bytes]:
    loaded = load_file(run / "checkpoints" / "grpo-final" / "adapter_model.safetensors")
    return {name: tensor.numpy().tobytes() for name, tensor in loaded.items()}


@pytest.mark.parametrize("baseline", ["eager", "compile"])
def test_compiled_baselines_are_a_stage_of_their_own_where_the_recipe_asks(
    baseline: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Path, int]] = []
    monkeypatch.setattr(Run, "measure", lambda *_: None)
    monkeypatch.setattr(
        kernelwright.train,
        "keep_baselines",
        lambda folder, problems, advance: asked.append((folder, len(problems))),
    )
    section = {"baseline": baseline, "problems": 2}
    recipe = Recipe.model_validate(
        {"name": "a", "run_dir": tmp_path, "stages": ["eval"], "eval": section}
    )
    folder = RunFolder(tmp_path)
    folder.open(recipe, resume=False)
    judge: Any = None  # nothing is judged
    run = Run(recipe, folder, judge, Process(rank=0, world=1), lambda: None, resume=False)
    run.all_stages()
    run.all_stages()
    assert asked == [(tmp_path, 2)] * (baseline == "compile")
    assert list(folder.seconds()) == ["eval_before", "baselines"][: 1 + len(asked)]


@pytest.mark.slow
def test_accelerate_launch_trains_as_the_command_does(
    model: Path, whole: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    launcher = ("-m", "accelerate.commands.launch", "--num_processes", "1")
    finish(start(*words(model, run), launcher=launcher))
    assert_same(run, whole)


@pytest.mark.slow
def test_a_run_killed_during_grpo_resumes_as_if_it_had_not_been(
    model: Path, whole: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    process = start(*words(model, run))
    deadline = time.monotonic() + 300
    while not any(one.stage == "grpo" and one.step >= 1 for one in read_records(run)):
        assert process.poll() is None, process.communicate()[0][-3000:]
        assert time.monotonic() < deadline, "no GRPO step within five minutes"
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    refused = finish(start(*words(model, run)), code=1)
    assert "--resume" in refused
    finish(start(*words(model, run), "--resume"))
    assert_whole(run)
    assert_same(run, whole)
    other = finish(start(*words(model, run), "--resume", "grpo.steps=4"), code=1)
    assert "grpo" in other


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
def test_the_code_on_the_card_gives_the_completions_of_the_run(
    whole: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In float32: in bfloat16 two tokens of a model of random weights are often equally likely."""
    monkeypatch.setattr(evals.publish, "_public_base", lambda _: "hub/tiny")
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    sidecar, recipe = run / "checkpoints" / "final" / SIDECAR, run / "recipe.resolved.yaml"
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_text()), "quantization": "none"}))
    section = {"name": str(model), "quantization": "none", "dtype": "float32"}
    recipe.write_text(yaml.safe_dump({**yaml.safe_load(recipe.read_text()), "model": section}))
    assert compare(run, model, problems=2) == (2, 2)


@pytest.mark.slow
def test_two_processes_train_one_policy_and_keep_every_record(model: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2")
    finish(start(*words(model, run), "grpo.method=contrastive", launcher=launcher))
    assert_whole(run)
