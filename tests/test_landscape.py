"""Every method learns what it is for, in a world where right and fast are known."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

import kernelwright.envs.prompt
from kernelwright.envs.referee.feedback import feedback
from kernelwright.envs.types import Evaluation, Verdict
from kernelwright.rl.methods import turns
from kernelwright.rl.methods.base import Method
from kernelwright.rl.methods.contrastive import Exemplar
from kernelwright.rl.methods.find import method_names
from tests import nouns
from tests.landscape import learned, named

BEFORE_RIGHT, BEFORE_PLAN = 0.21, 0.8
"""What the policy begins with."""


@pytest.fixture(autouse=True)
def _short_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems of this world are no modules that a prompt could describe."""
    monkeypatch.setattr(kernelwright.envs.prompt, "task_prompt", named)
    for name in method_names():
        module = import_module(f"kernelwright.rl.methods.{name}")
        if hasattr(module, "task_prompt"):
            monkeypatch.setattr(module, "task_prompt", named)


@pytest.mark.parametrize("method", method_names())
def test_a_method_learns_to_be_right_then_fast_and_not_to_cheat(
    method: str, tmp_path: Path
) -> None:
    found = learned(tmp_path, method)
    assert found.right > 3 * BEFORE_RIGHT
    assert found.cheats < 0.1
    assert found.plan > BEFORE_PLAN + 1


def test_a_reward_without_speed_teaches_to_be_right_and_no_more(tmp_path: Path) -> None:
    fast, right = (tmp_path / one for one in ("fast", "right"))
    for folder in (fast, right):
        folder.mkdir()
    one, other = learned(fast, "grpo"), learned(right, "grpo", preset="autotriton")
    assert other.right > 0.7
    assert other.plan < one.plan - 1


@pytest.mark.parametrize("method", ["contrastive", "cuda_l1"])
def test_kernels_shown_with_true_speeds_help_and_with_exchanged_ones_do_not(
    method: str, tmp_path: Path
) -> None:
    def exchanged(started: Method) -> None:
        draw = started.drawn  # type: ignore[attr-defined]

        def drawn(*asked: object) -> list[Exemplar]:
            shown = draw(*asked)
            speeds = [one.speedup for one in reversed(shown)]
            return [replace(a, speedup=b) for a, b in zip(shown, speeds, strict=True)]

        started.drawn = drawn  # type: ignore[attr-defined]

    true, false = (tmp_path / one for one in ("true", "false"))
    for folder in (true, false):
        folder.mkdir()
    with_true = learned(true, method, steps=20)
    with_false = learned(false, method, steps=20, changed=exchanged)
    assert with_true.plan > with_false.plan + 1.5


@pytest.mark.parametrize("method", ["kevin", "trloo"])
def test_what_the_judge_says_helps_and_the_contrary_does_not(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, false = (tmp_path / one for one in ("true", "false"))
    for folder in (true, false):
        folder.mkdir()
    with_true = learned(true, method, steps=20)
    said = feedback

    def contrary(evaluation: Evaluation, another: str) -> str:
        right = evaluation.verdict is Verdict.CORRECT
        return said(nouns.verdict(Verdict.WRONG) if right else nouns.correct(), another)

    monkeypatch.setattr(turns, "feedback", contrary)
    with_false = learned(false, method, steps=20)
    assert with_true.plan > with_false.plan + 0.5
