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

import kernelwright.evals.hub.publish
import kernelwright.run.train
from kernelwright.data.runs.process import Process
from kernelwright.data.runs.records import read_records
from kernelwright.envs.system.processes import living_below, still_alive
from kernelwright.envs.types import Record
from kernelwright.rl.models.adapter_folder import SIDECAR
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.run.run_folder import RunFolder
from kernelwright.run.train import Run
from scripts.check_card import compare
from tests.tiny_model import save_tiny

pytestmark = pytest.mark.model

ROOT = Path(__file__).resolve().parents[1]
RECIPE = Path(__file__).parent / "fixtures" / "recipes" / "tiny.yaml"
PAID_BY_HASH = Path(__file__).parent / "fixtures" / "paid_by_hash"
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


def start(*words: str, launcher: tuple[str, ...] = (), weights: str = "") -> subprocess.Popen[str]:
    """A run that is paid by the hash of its answers; `weights` is where their hashes are left."""
    path = os.pathsep.join([str(PAID_BY_HASH), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
    environment["TRAINED_WEIGHTS"] = weights
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
    trained = [row for row in steps if row["stage"] == "grpo"]
    assert [row["step"] for row in trained] == [1, 2, 3]
    assert all("sampled/reward" in row for row in trained)
    assert all(row["memory/trainer_bytes"] > 1e8 for row in trained)
    keys = {key for row in trained for key in row}
    assert not {"reward", "reward_std", "rewards/credit/mean", "frac_reward_zero_std"} & keys


def assert_same(run: Path, other: Path) -> None:
    """The same answers with the same verdicts and rewards, and the same weights to the bit."""

    def seen(one: Record) -> tuple[object, ...]:
        evaluation, reward = one.evaluation, one.reward
        judged = (evaluation.verdict, evaluation.reason, reward and reward.total)
        return (one.id, one.prompt, one.completion, *judged)

    assert sorted(map(seen, read_records(run))) == sorted(map(seen, read_records(other)))
    assert weights_of(run) == weights_of(other)


def weights_of(run: Path, stage: str = "grpo") -> dict[str, bytes]:
    loaded = load_file(run / "checkpoints" / f"{stage}-final" / "adapter_model.safetensors")
    return {name: tensor.numpy().tobytes() for name, tensor in loaded.items()}


@pytest.mark.parametrize("baseline", ["eager", "compile", "max-autotune"])
def test_compiled_baselines_are_a_stage_of_their_own_where_the_recipe_asks(
    baseline: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Path, int, str]] = []
    monkeypatch.setattr(Run, "ask", lambda *_: None)
    monkeypatch.setattr(
        kernelwright.run.train,
        "keep_baselines",
        lambda folder, problems, _, __, mode: asked.append((folder, len(problems), mode)),
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
    assert asked == [(tmp_path, 2, baseline)] * (baseline != "eager")
    assert list(folder.seconds()) == ["eval_before", "baselines"][: 1 + len(asked)]


@pytest.mark.slow(always=True)
def test_accelerate_launch_trains_as_the_command_does(
    model: Path, whole: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    launcher = ("-m", "accelerate.commands.launch", "--num_processes", "1")
    finish(start(*words(model, run), launcher=launcher))
    assert_same(run, whole)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["sft", "grpo"])
def test_a_run_goes_on_from_the_adapter_of_another(
    stage: str, model: Path, whole: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    barely = f"{stage}.learning_rate=1e-9"
    finish(start(*words(model, run), f"model.adapter={whole}", f"stages=[{stage}, eval]", barely))
    answers = [
        [one.completion for one in read_records(folder) if one.stage == measured]
        for folder, measured in ((run, "eval_before"), (whole, "eval_after"))
    ]
    assert answers[0] == answers[1]
    before, after = (
        load_file(folder / "checkpoints" / "final" / "adapter_model.safetensors")
        for folder in (whole, run)
    )
    assert before.keys() == after.keys()
    assert all((before[name] - after[name]).abs().max() < 1e-6 for name in before)


@pytest.mark.slow
def test_an_adapter_that_is_not_there_or_of_another_model_is_told_before_any_stage(
    whole: Path, tmp_path: Path
) -> None:
    absent = start("stages=[sft]", f"run_dir={tmp_path}", f"model.adapter={tmp_path}")
    assert f"model.adapter: no adapter in '{tmp_path}'" in finish(absent, code=1)
    other = start("stages=[sft]", f"run_dir={tmp_path}", f"model.adapter={whole}")
    assert f"model.adapter: {whole} was trained over" in finish(other, code=1)


@pytest.mark.slow
def test_a_run_killed_during_grpo_resumes_as_if_it_had_not_been(
    model: Path, whole: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    assert weights_of(whole) != weights_of(whole, "sft"), "GRPO moved nothing"
    process = start(*words(model, run))
    wait_for_grpo(process, run)
    (trainer,) = children_of(process.pid)
    os.kill(trainer, signal.SIGKILL)
    told = finish(process, code=1).splitlines()
    command = f"{RECIPE.name} {' '.join(words(model, run))} --resume"
    assert told[-1].startswith("training was ended by SIGKILL")
    assert "; go on with: python " in told[-1]
    assert told[-1].endswith(command)
    assert command in finish(start(*words(model, run)), code=1)
    finish(start(*words(model, run), "--resume"))
    assert_whole(run)
    assert_same(run, whole)
    other = finish(start(*words(model, run), "--resume", "grpo.steps=4"), code=1)
    assert "grpo.steps (was 3, is 4)" in other


@pytest.mark.slow
def test_a_damaged_checkpoint_and_torn_files_cost_steps_and_no_results(
    model: Path, whole: Path, tmp_path: Path
) -> None:
    """The newest checkpoint ends early, the records are those of the steps it was for."""
    run = tmp_path / "run"
    shutil.copytree(whole, run, symlinks=True)
    for name in ("recipe.resolved.yaml", "stages.json"):
        text = (run / name).read_text().replace(str(whole), str(run))
        (run / name).write_text(text)
    stages = json.loads((run / "stages.json").read_text())
    unfinished = {name: stages[name] for name in ("triples", "eval_before", "sft")}
    (run / "stages.json").write_text(json.dumps(unfinished))
    newest = run / "checkpoints" / "grpo" / "checkpoint-3"
    for damaged in (newest / "optimizer.pt", newest / "adapter_model.safetensors"):
        damaged.write_bytes(damaged.read_bytes()[:-100])
    with (run / "metrics.jsonl").open("a") as file:
        file.write("nonsense\n")
    final = run / "checkpoints" / "final"
    final.unlink()
    shutil.copytree(run / "checkpoints" / "grpo-final", final)
    told = finish(start(*words(model, run), "--resume"))
    assert f"{newest / 'optimizer.pt'} is damaged: an older checkpoint is taken" in told
    assert "metrics.jsonl: 1 lines are not rows" in told
    assert "final was a folder" in told
    assert_whole(run)
    assert_same(run, whole)
    assert final.is_symlink()


def wait_for_grpo(process: subprocess.Popen[str], run: Path) -> None:
    """Returns once the run is in its second step of GRPO."""
    deadline = time.monotonic() + 300
    while not any(one.stage == "grpo" and one.step >= 1 for one in read_records(run)):
        assert process.poll() is None, process.communicate()[0][-3000:]
        assert time.monotonic() < deadline, "no GRPO step within five minutes"
        time.sleep(0.05)


def rank_of(process_id: int) -> str | None:
    """What a launcher has set as the process's rank."""
    given = Path(f"/proc/{process_id}/environ").read_text().split("\0")
    return next((one.removeprefix("RANK=") for one in given if one.startswith("RANK=")), None)


def children_of(process_id: int) -> list[int]:
    text = Path(f"/proc/{process_id}/task/{process_id}/children").read_text()
    return [int(one) for one in text.split()]


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
def test_the_code_on_the_card_gives_the_completions_of_the_run(
    whole: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In float32: in bfloat16 two tokens of a model of random weights are often equally likely."""
    monkeypatch.setattr(kernelwright.evals.hub.publish, "_public_base", lambda _: "hub/tiny")
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    sidecar, recipe = run / "checkpoints" / "final" / SIDECAR, run / "recipe.resolved.yaml"
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_text()), "quantization": "none"}))
    section = {"name": str(model), "quantization": "none", "dtype": "float32"}
    recipe.write_text(yaml.safe_dump({**yaml.safe_load(recipe.read_text()), "model": section}))
    assert compare(run, model, problems=2) == (2, 2)


@pytest.mark.slow
def test_two_processes_train_one_policy_and_keep_every_record_though_one_is_killed(
    model: Path, tmp_path: Path
) -> None:
    """The second is killed in a step of GRPO: all end, one line says who, and they go on."""
    run, weights = tmp_path / "run", tmp_path / "weights"
    weights.mkdir()
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2")
    asked = [*words(model, run), "grpo.method=contrastive"]
    process = start(*asked, launcher=launcher, weights=str(weights))
    wait_for_grpo(process, run)
    below = living_below(process.pid)
    (second,) = (one for one in children_of(process.pid) if rank_of(one) == "1")
    os.kill(children_of(second)[0], signal.SIGKILL)
    killed = time.monotonic()
    told = finish(process, code=1).splitlines()
    assert time.monotonic() - killed < 60
    assert not still_alive(below)
    (line,) = (one for one in told if one.startswith("rank "))
    assert line.startswith("rank 1 of 2 processes: training was ended by SIGKILL")
    finish(start(*asked, "--resume", launcher=launcher, weights=str(weights)))
    assert_whole(run)
    ended = {file.name: file.read_text() for file in weights.iterdir()}
    assert set(ended) == {"sft-0", "sft-1", "grpo-0", "grpo-1"}
    assert ended["sft-0"] == ended["sft-1"] != ended["grpo-0"] == ended["grpo-1"]


@pytest.mark.slow
def test_a_process_that_fails_ends_the_launch_and_the_others_do_not_wait(
    model: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "records.jsonl").write_text("")
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2")
    told = finish(start(*words(model, run), launcher=launcher), code=1)
    assert f"{run} is not empty" in told


@pytest.mark.slow
def test_processes_wait_for_each_other_longer_than_an_evaluation_takes(tmp_path: Path) -> None:
    """torch's own limit is ten minutes with NCCL, and half an hour with gloo."""
    program = tmp_path / "joins.py"
    program.write_text(
        "from pathlib import Path\n"
        "import torch\n"
        "from kernelwright.run.processes import join\n"
        "from kernelwright.data.runs.process import this_process\n"
        "join(this_process())()\n"
        "group = torch.distributed.group.WORLD\n"
        "limit = group._get_backend(torch.device('cpu')).options._timeout\n"
        "hours = Path(f'hours{this_process().rank}')\n"
        "hours.write_text(str(limit.total_seconds() / 3600))\n"
    )
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2")
    subprocess.run(
        [sys.executable, *launcher, str(program)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "CUDA_VISIBLE_DEVICES": ""},
        cwd=tmp_path,
        timeout=300,
        check=True,
    )
    hours = sorted((at.name, at.read_text()) for at in tmp_path.glob("hours*"))
    assert hours == [("hours0", "168.0"), ("hours1", "168.0")]
