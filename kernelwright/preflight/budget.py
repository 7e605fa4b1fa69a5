"""Memory and minutes of a recipe on this machine, from a probe of its own steps.

A batch that is too large is cut where only the seconds change; otherwise the run is refused. On a
GPU the limit is its memory less the judge's share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.envs.device.memory import CONTEXT_BYTES
from kernelwright.envs.system.hardware import available_bytes, memory_bytes, visible_gpus
from kernelwright.envs.workers.pool import default_workers
from kernelwright.preflight.estimate import (
    evaluated_answers,
    judge_device_bytes,
    judged_answers,
    rft_answers,
    rft_steps,
    sampled_answers,
    sft_steps,
    validated_answers,
)
from kernelwright.preflight.judge_pace import judged_s
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.probe import Probe, ProbeError, ProbeFullError, ProbeKilledError, probe

JUDGE_BYTES = 500 << 20
"""Memory of each worker with its reference process, in the largest of the starter problems."""
MICRO_BATCHED = {"sft": ("sft", "rft"), "grpo": ("grpo",)}
"""Part of a probe that takes less memory in smaller micro batches, a section of the recipe → the
stages that train by it."""
ADVICE = {
    "sampling": "lower grpo.max_completion_length and eval.max_new_tokens, or sample fewer than 48 "
    "answers in a step (grpo.group_size, grpo.groups_per_step)",
    "grpo": "lower grpo.max_completion_length",
    "sft": "lower sft.max_length",
}
"""Part of a probe → what lets it fit on a GPU."""
UNTIMED = ("dpo",)
"""Stages whose minutes are not known before there are answers."""
TYPICAL, TYPICAL_EXAMPLE = 0.6, 0.75
"""Shares of their token limits that answers and SFT's examples use, as in the quickstart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The recipe as it can run, with memory and seconds; `reason` says why it cannot."""

    recipe: Recipe
    bytes: int | None = None
    device_bytes: int | None = None
    """Memory of the GPU that trains, less the judge's share; None on a machine without one."""
    seconds: float | None = None
    judged: bool = False
    """Whether judging is among the seconds."""
    notes: tuple[str, ...] = ()
    reason: str | None = None

    def line(self) -> str | None:
        """The figures in a sentence; None where nothing was measured."""
        if self.bytes is None or self.seconds is None:
            return None
        untried = [stage for stage in UNTIMED if stage in self.recipe.stages]
        left_out = [*(["judging"] if not self.judged else []), *untried]
        without = f" without {' and '.join(left_out)}" if left_out else ""
        uncounted = f" (that of {' and '.join(untried)} was not tried)" if untried else ""
        free = f"{available_bytes() / 1e9:.1f} GB are free"
        line = (
            f"about {self.seconds / 60:.0f} min{without} and {self.bytes / 1e9:.1f} GB at the "
            f"peak, by a probe of its steps here{uncounted}; {free}"
        )
        if self.device_bytes is None:
            return line
        return f"{line}; on the GPU {self.device_bytes / 1e9:.1f} GB, and {_device(self.recipe)}"


def budget(
    recipe: Recipe,
    measured: Callable[[Recipe], Probe] = probe,
    pace: Callable[[Recipe], float | None] = judged_s,
) -> Budget:
    """What a run takes, shrunk to fit."""
    if not (recipe.learns_examples or "grpo" in recipe.stages):
        return Budget(recipe=recipe)
    judging = _judging_seconds(recipe, pace)  # first: it shows a verdict within a minute
    notes: dict[str, str] = {}
    free = available_bytes()
    while True:
        found, part = None, None
        try:
            found = measured(recipe)
            part = _part_beyond(recipe, found)
        except ProbeKilledError:
            pass
        except ProbeFullError as error:
            part = error.part
        except ProbeError as error:
            return Budget(recipe=recipe, reason=f"a probe of its steps failed: {error}")
        needed = _needed_bytes(recipe, found)
        if found and part is None and needed is not None and needed <= free:
            return Budget(
                recipe=recipe,
                bytes=needed,
                device_bytes=_device_needed(found),
                seconds=run_seconds(recipe, found) + (judging or 0.0),
                judged=judging is not None,
                notes=tuple(notes.values()),
            )
        short = "sft" if part is None else part
        smaller = _in_smaller_batches(recipe, short)
        if smaller is None:
            why = _too_large(needed, free) if part is None else _too_large_for_gpu(recipe, part)
            return Budget(recipe=recipe, reason=why)
        recipe, key = smaller
        has = _device(recipe) if part else f"{free / 1e9:.1f} GB are free"
        notes[short] = f"{key}, for {has}"


def _in_smaller_batches(recipe: Recipe, stage: str) -> tuple[Recipe, str] | None:
    """(the recipe with the next smaller micro batch of a stage, the change in words); None if there
    is none."""
    if not set(MICRO_BATCHED.get(stage, ())) & set(recipe.stages):
        return None
    rows = {"sft": recipe.sft.batch_size, "grpo": recipe.grpo.rollouts_per_step}[stage]
    section = recipe.sft if stage == "sft" else recipe.grpo
    micro = section.micro_batch_size
    if micro == 1:
        return None
    less = next(one for one in range(micro // 2, 0, -1) if not rows % one)
    changed = section.model_copy(update={"micro_batch_size": less})
    return recipe.model_copy(update={stage: changed}), f"{stage}.micro_batch_size: {less}"


def _device_needed(found: Probe) -> int | None:
    """Peak memory of a GPU with the trainer's own CUDA context; None where none was counted."""
    return max(found.device_bytes.values()) + CONTEXT_BYTES if found.device_bytes else None


def _device_left(recipe: Recipe) -> int:
    """Memory of the GPU that trains, less the judge's share."""
    return (visible_gpus()[0].memory_bytes or memory_bytes()) - judge_device_bytes(recipe)


def _part_beyond(recipe: Recipe, found: Probe) -> str | None:
    """The part of the probe that exceeds the GPU's free memory; None where all fit."""
    if not found.device_bytes:
        return None
    most = _device_left(recipe) - CONTEXT_BYTES
    beyond = {name: size for name, size in found.device_bytes.items() if size > most}
    return max(beyond, key=beyond.__getitem__, default=None)


def _device(recipe: Recipe) -> str:
    """What the GPU has for the policy, in a few words."""
    judge = judge_device_bytes(recipe)
    less = f", {judge / 1e9:.1f} GB of the GPU being the judge's" if judge else ""
    return f"{_device_left(recipe) / 1e9:.1f} GB are there for it{less}"


def _too_large_for_gpu(recipe: Recipe, part: str) -> str:
    quantise = ", set model.quantization to nf4" if recipe.model.quantization == "none" else ""
    return (
        f"{visible_gpus()[0].name} has no room for {part} (tried here): {_device(recipe)}; end "
        f"other programs on it, {ADVICE[part]}{quantise}, or take a smaller model"
    )


def _needed_bytes(recipe: Recipe, found: Probe | None) -> int | None:
    """Peak memory with the judge; None if the probe was killed."""
    workers = recipe.judge.workers or default_workers(recipe.data.dialects)
    return found.peak_bytes + workers * JUDGE_BYTES if found else None


def _too_large(needed: int | None, free: int) -> str:
    taken = "more memory than there is" if needed is None else f"{needed / 1e9:.1f} GB"
    return (
        f"its steps take {taken} (measured here), {free / 1e9:.1f} GB are free; end other "
        "programs, take a smaller model, or lower grpo.max_completion_length and sft.max_length"
    )


def _judging_seconds(recipe: Recipe, pace: Callable[[Recipe], float | None]) -> float | None:
    """Seconds of judging all answers; some are judged while others are sampled, on those cores."""
    answers = judged_answers(recipe)
    each = None if answers is None else pace(recipe)
    return None if answers is None or each is None else answers * each


def run_seconds(recipe: Recipe, found: Probe) -> float:
    """Seconds of training and evaluating, for answers of typical length, without judging; of
    rejection sampling as if each problem were solved."""
    grpo, trained = recipe.grpo, 0.0
    if found.sft_step_s is not None:
        steps = (sft_steps(recipe) or 0) if "sft" in recipe.stages else 0
        steps += rft_steps(recipe) if "rft" in recipe.stages else 0
        trained += TYPICAL_EXAMPLE * steps * found.sft_step_s
    if "rft" in recipe.stages:
        tokens = TYPICAL * recipe.rft.max_new_tokens
        trained += (rft_answers(recipe) or 0) * tokens / found.rows * found.decoding_step_s
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
