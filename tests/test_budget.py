"""What a recipe costs here: probed, shrunk to fit, or refused before minutes are spent."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

import kernelwright.preflight.budget
import kernelwright.preflight.judge_pace
from kernelwright.envs.system.paths import SEARCHED
from kernelwright.envs.system.processes import still_alive
from kernelwright.envs.types import Dialect
from kernelwright.preflight.budget import Budget, run_seconds
from kernelwright.preflight.budget import budget as measured_budget
from kernelwright.preflight.judge_pace import judged_s
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.probe import Probe, ProbeError, ProbeKilledError, probe, shown_tokens
from tests.tiny_model import save_tiny

pytestmark = pytest.mark.model

PROBE = Probe(
    sft_step_s=2.0, trained_token_s=0.01, decoding_step_s=0.1, rows=8, peak_bytes=6_000_000_000
)


@pytest.fixture(autouse=True)
def _this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """8 GB free, two cores, no GPU."""
    monkeypatch.setattr(kernelwright.preflight.budget, "available_bytes", lambda: 8_000_000_000)
    monkeypatch.setattr(kernelwright.preflight.budget, "default_workers", lambda _: 2)
    monkeypatch.setattr(kernelwright.preflight.budget, "visible_gpus", tuple)


def recipe(**changed: Any) -> Recipe:
    section = {"batch_size": 4, "micro_batch_size": 4}
    return Recipe.model_validate({"name": "a", "sft": section, **changed})


def budget(asked: Recipe, measured: Callable[[Recipe], Probe], pace: float | None = 0.5) -> Budget:
    """What a run takes where the judge needs that long for an answer."""
    return measured_budget(asked, measured, lambda _: pace)


def by_rows(asked: Recipe) -> Probe:
    """Memory in proportion to the rows of an SFT step."""
    return replace(PROBE, peak_bytes=asked.sft.micro_batch_size * 3_000_000_000)


def test_what_fits_is_run_as_it_is_and_its_cost_is_said() -> None:
    found = budget(recipe(), lambda _: PROBE)
    assert found.recipe == recipe()
    assert found.notes == ()
    line = found.line()
    assert line is not None
    assert "7.0 GB at the peak" in line
    assert "8.0 GB are free" in line


def test_judging_is_among_the_minutes_or_said_not_to_be() -> None:
    lines = [budget(recipe(), lambda _: PROBE, pace).line() or "" for pace in (0.5, 50.0, None)]
    minutes = [float(one.split()[1]) for one in lines]
    assert minutes[2] < minutes[0] < minutes[1]
    assert ["without judging" in one for one in lines] == [False, False, True]


def test_the_judges_pace_is_measured_once_and_kept_and_the_first_verdict_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernelwright.preflight.judge_pace, "cache_folder", lambda: tmp_path)
    asked = recipe(judge={"workers": 1, "timed": False})
    found = judged_s(asked)
    assert found is not None
    assert 0 < found < 60
    shown = capsys.readouterr().err
    assert re.search(r"the first of them, a kernel for \w+:\n    .*void kernel\(", shown, re.DOTALL)
    assert "\nit is correct (ok)\n" in shown
    monkeypatch.setattr(kernelwright.preflight.judge_pace, "open_judge", None)
    assert judged_s(asked) == found
    elsewhere = {"workers": 1, "timed": False, "ray_address": "ray://nowhere:1"}
    assert judged_s(recipe(judge=elsewhere)) is None


@pytest.mark.parametrize(
    ("dialect", "judge"), [("inline", {}), ("cpp", {"ray_address": "ray://nowhere:1"})]
)
def test_a_pace_that_cannot_be_measured_here_is_not_known(
    dialect: Dialect, judge: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    assert judged_s(recipe(data={"dialect": dialect}, judge=judge)) is None


def test_an_sft_step_is_cut_until_it_fits_and_that_is_said() -> None:
    found = budget(recipe(), by_rows)
    assert found.reason is None
    assert (found.recipe.sft.batch_size, found.recipe.sft.micro_batch_size) == (4, 2)
    assert found.notes == ("sft.micro_batch_size: 2, for 8.0 GB are free",)


def test_a_stage_that_trains_by_the_batches_of_sft_is_cut_as_sft_is() -> None:
    found = budget(recipe(stages=["rft", "eval"]), by_rows)
    assert found.reason is None
    assert found.notes == ("sft.micro_batch_size: 2, for 8.0 GB are free",)


def test_what_cannot_fit_is_refused_with_its_size_and_what_helps() -> None:
    found = budget(recipe(), lambda _: replace(PROBE, peak_bytes=20_000_000_000))
    assert found.reason is not None
    assert "its steps take 21.0 GB" in found.reason
    assert "take a smaller model" in found.reason
    assert found.line() is None


def test_a_probe_that_the_system_ends_counts_as_too_large() -> None:
    def killed(asked: Recipe) -> Probe:
        if asked.sft.micro_batch_size > 1:
            raise ProbeKilledError("it was ended by SIGKILL")
        return PROBE

    found = budget(recipe(), killed)
    assert found.recipe.sft.micro_batch_size == 1
    assert found.reason is None


def test_a_step_that_fails_is_a_reason() -> None:
    def fails(_: Recipe) -> Probe:
        raise ProbeError("RuntimeError: not enough memory")

    assert budget(recipe(), fails).reason == (
        "a probe of its steps failed: RuntimeError: not enough memory"
    )


def test_nothing_is_probed_where_nothing_is_trained() -> None:
    def never(_: Recipe) -> Probe:
        raise AssertionError

    assert budget(recipe(stages=["eval"]), never).line() is None


def test_more_steps_take_longer() -> None:
    few, many = (recipe(grpo={"steps": steps}) for steps in (2, 20))
    assert run_seconds(few, PROBE) < run_seconds(many, PROBE)


def test_rejection_sampling_is_among_the_minutes_and_sft_only_where_it_is_a_stage() -> None:
    def took(stages: str, **changed: Any) -> float:
        asked = recipe(stages=stages.split(), **changed)
        return run_seconds(asked, replace(PROBE, trained_token_s=None))

    problems = {"problems": 10, "samples": 4, "max_new_tokens": 100, "replay": 0.5}
    rounds = {**problems, "rounds": 2, "kept_per_problem": 2}
    sampled_s = 2 * 10 * 4 * 0.6 * 100 / PROBE.rows * PROBE.decoding_step_s
    learned_s = 0.75 * (20 + 40) * 1.5 / 4 * 2.0
    alone = took("rft", rft=rounds)
    assert alone == pytest.approx(sampled_s + learned_s, rel=0.01)
    sft = {"epochs": 9, "batch_size": 4, "micro_batch_size": 4}
    assert took("rft", rft=rounds, sft=sft) == alone
    assert took("sft rft", rft=rounds) == pytest.approx(took("sft") + alone)
    assert took("rft", rft={**rounds, "retries": 4}) > alone


def test_a_stage_whose_minutes_are_not_known_is_named_beside_them() -> None:
    asked = recipe(stages=["sft", "rft", "dpo", "eval"])
    known, unknown = (budget(asked, lambda _: PROBE, pace).line() or "" for pace in (0.5, None))
    assert " min without dpo and " in known
    assert " min without judging and dpo and " in unknown
    assert "by a probe of its steps here (that of dpo was not tried); " in known
    assert "without" not in (budget(recipe(), lambda _: PROBE).line() or "")


@pytest.mark.parametrize("output", ["plain", "scaled"])
@pytest.mark.slow
def test_a_probe_runs_the_recipes_own_steps_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    """Also of a model whose logits are more than a product, which is trained by its own loss."""
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "cache"))
    folder = save_tiny(tmp_path / "model")
    if output == "scaled":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"logit_scale": 2.0}))
    model = {"name": str(folder), "lora": {"rank": 4}}
    asked = recipe(model=model, grpo={"max_completion_length": 32})
    found = probe(asked)
    assert found.sft_step_s
    assert found.trained_token_s
    only = probe(asked.model_copy(update={"stages": ("grpo", "eval")}))
    assert only.sft_step_s is None
    assert only.trained_token_s
    assert found.peak_bytes > 100 << 20
    assert probe(asked) == found
    broken = recipe(model={"name": str(tmp_path / "nowhere")})
    with pytest.raises(ProbeError):
        probe(broken)


def test_a_probe_does_not_outlive_the_run_that_asked() -> None:
    """It waits for its recipe here, so only its parent's end can end it."""
    asking = (
        "import os, subprocess, sys; "
        "words = ['-P', '-m', 'kernelwright.rl.train.probe_steps', str(os.getpid())]; "
        "probe = subprocess.Popen([sys.executable, *words]); "
        "print(probe.pid, flush=True); probe.wait()"
    )
    environment = {**os.environ, "PYTHONPATH": str(SEARCHED)}
    words = [sys.executable, "-c", asking]
    with subprocess.Popen(words, stdin=PIPE, stdout=PIPE, text=True, env=environment) as run:
        assert run.stdout is not None
        child = int(run.stdout.readline())
        run.kill()
        assert not still_alive({child})


@pytest.mark.parametrize(
    ("method", "shown"),
    [
        *(("grpo", 0), ("tritonrl", 0), ("stitchcuda", 1), ("kernel_smith", 1)),
        *(("contrastive", 2), ("cuda_l1", 2), ({"name": "kevin", "turns": 4}, 3)),
    ],
)
def test_a_probe_s_prompt_is_as_long_as_the_answers_that_a_method_shows(
    method: Any, shown: int
) -> None:
    def tokens(*stages: str) -> int:
        grpo = {"method": method, "max_completion_length": 500}
        return shown_tokens(Recipe.model_validate({"name": "a", "stages": stages, "grpo": grpo}))

    assert tokens("grpo") == 300 * shown
    assert tokens("sft", "eval") == 0
