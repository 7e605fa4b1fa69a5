"""Memory and minutes of a recipe on this machine, from a probe of its own steps.

What does not fit is shrunk where that changes nothing but the seconds, and else refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.envs.hardware import available_bytes, visible_gpus
from kernelwright.estimate import (
    evaluated_answers,
    judged_answers,
    sampled_answers,
    sft_steps,
    validated_answers,
)
from kernelwright.judge_pace import judged_s
from kernelwright.machine import cores
from kernelwright.rl.config import Recipe
from kernelwright.rl.probe import Probe, ProbeError, ProbeKilledError, probe

JUDGE_BYTES = 500 << 20
"""Of each worker with its reference process, in the largest of the starter problems."""
TYPICAL, TYPICAL_EXAMPLE = 0.6, 0.75
"""Shares of their limits that answers and SFT's examples take, as in the quickstart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The recipe as it can run, its memory and seconds; `reason` says why it cannot."""

    recipe: Recipe
    bytes: int | None = None
    seconds: float | None = None
    judged: bool = False
    """Whether judging is among the seconds."""
    notes: tuple[str, ...] = ()
    reason: str | None = None

    def line(self) -> str | None:
        """The figures in a sentence; None where nothing was measured."""
        if self.bytes is None or self.seconds is None:
            return None
        without = "" if self.judged else " without judging"
        return (
            f"about {self.seconds / 60:.0f} min{without} and {self.bytes / 1e9:.1f} GB at the "
            f"peak, by a probe of its steps here; {available_bytes() / 1e9:.1f} GB are free"
        )


def budget(
    recipe: Recipe,
    measured: Callable[[Recipe], Probe] = probe,
    pace: Callable[[Recipe], float | None] = judged_s,
) -> Budget:
    """What a run takes, shrunk to fit. On a GPU nothing is probed."""
    if visible_gpus() or not {"sft", "grpo"} & set(recipe.stages):
        return Budget(recipe=recipe)
    notes: tuple[str, ...] = ()
    free = available_bytes()
    while True:
        try:
            found: Probe | None = measured(recipe)
        except ProbeKilledError:
            found = None
        except ProbeError as error:
            return Budget(recipe=recipe, reason=f"a probe of its steps failed: {error}")
        needed = _needed_bytes(recipe, found)
        if found and needed is not None and needed <= free:
            seconds, judging = run_seconds(recipe, found), _judging_seconds(recipe, pace)
            return Budget(
                recipe=recipe,
                bytes=needed,
                seconds=seconds + (judging or 0.0),
                judged=judging is not None,
                notes=notes,
            )
        micro = recipe.sft.micro_batch_size
        if "sft" not in recipe.stages or micro == 1:
            return Budget(recipe=recipe, reason=_too_large(needed, free))
        less = next(one for one in range(micro // 2, 0, -1) if not recipe.sft.batch_size % one)
        sft = recipe.sft.model_copy(update={"micro_batch_size": less})
        recipe = recipe.model_copy(update={"sft": sft})
        notes = (f"sft.micro_batch_size: {less}, for {free / 1e9:.1f} GB are free",)


def _needed_bytes(recipe: Recipe, found: Probe | None) -> int | None:
    """At the peak, with the judge; None where the probe did not live to tell."""
    workers = recipe.judge.workers or cores()
    return found.peak_bytes + workers * JUDGE_BYTES if found else None


def _too_large(needed: int | None, free: int) -> str:
    taken = "more memory than there is" if needed is None else f"{needed / 1e9:.1f} GB"
    return (
        f"its steps take {taken} (measured here), {free / 1e9:.1f} GB are free; end other "
        "programs, take a smaller model, or lower grpo.max_completion_length and sft.max_length"
    )


def _judging_seconds(recipe: Recipe, pace: Callable[[Recipe], float | None]) -> float | None:
    """Of all answers. Some are judged while others are sampled, and by the same cores."""
    answers = judged_answers(recipe)
    each = None if answers is None else pace(recipe)
    return None if answers is None or each is None else answers * each


def run_seconds(recipe: Recipe, found: Probe) -> float:
    """Seconds of training and evaluating, for answers of typical length, without judging."""
    grpo, trained = recipe.grpo, 0.0
    if found.sft_step_s is not None:
        trained += TYPICAL_EXAMPLE * (sft_steps(recipe) or 0) * found.sft_step_s
    if found.trained_token_s is not None:
        sampled = sampled_answers(recipe) + validated_answers(recipe)
        tokens = TYPICAL * grpo.max_completion_length
        trained += sampled * tokens / found.rows * found.decoding_step_s
        trained += grpo.steps * grpo.rollouts_per_step * tokens * found.trained_token_s
    if "eval" in recipe.stages:
        tokens = TYPICAL * recipe.eval.max_new_tokens
        answers = evaluated_answers(recipe) or 0
        trained += answers * tokens / found.rows * found.decoding_step_s
    return trained
