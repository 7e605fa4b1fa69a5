"""Warnings: said once, when they are due, with what would help."""

from __future__ import annotations

import pytest

from kernelwright.rl.train.advice import STEPS, Adviser

FINE = {
    "groups/live": 3.0,
    "groups/dead": 1.0,
    "groups/distinct_answers": 0.9,
    "sampled/entropy": 0.1,
    "sampled/truncated": 0.0,
    "verdict/correct": 0.5,
}


def test_a_step_that_works_is_not_commented() -> None:
    adviser = Adviser()
    assert [adviser.hear(step, FINE) for step in range(1, 9)] == [[]] * 8


def test_dead_groups_are_told_at_the_first_step_with_what_helps() -> None:
    dead = {**FINE, "groups/live": 0.0, "groups/dead": 4.0, "verdict/correct": 0.0}
    (line,) = Adviser().hear(1, dead)
    assert line.startswith("grpo step 1: dead groups: 0 of 4 groups can teach anything")
    assert "sft.epochs" in line
    (same,) = Adviser().hear(1, {**dead, "verdict/correct": 1.0})
    assert "grpo.temperature" in same


@pytest.mark.parametrize(
    ("metric", "value", "kind"),
    [
        ("groups/distinct_answers", 0.1, "few distinct answers"),
        ("sampled/entropy", 0.001, "entropy collapse"),
        ("sampled/truncated", 0.9, "truncation"),
    ],
)
def test_what_lasts_is_told_once(metric: str, value: float, kind: str) -> None:
    adviser = Adviser()
    said = [adviser.hear(step, {**FINE, metric: value}) for step in range(1, STEPS + 4)]
    assert [len(lines) for lines in said] == [0] * (STEPS - 1) + [1] + [0] * 3
    assert kind in said[STEPS - 1][0]


def test_steps_without_a_rollout_of_their_own_do_not_pass_for_ones_that_work() -> None:
    """With `iterations`, steps train again on what is known."""
    adviser, said = Adviser(), []
    for step in range(1, 2 * STEPS + 1):
        sampled = {**FINE, "sampled/truncated": 0.9} if step % 2 else {"loss": 0.1}
        said += adviser.hear(step, sampled)
    assert len(said) == 1


def test_what_passes_is_not_told() -> None:
    adviser = Adviser()
    for step in range(1, 12):
        metrics = {**FINE, "sampled/truncated": 0.9 if step % 2 else 0.0}
        assert adviser.hear(step, metrics) == []
