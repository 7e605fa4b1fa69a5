"""Measures the cost of training on a GPU: steps of the trainers themselves at the longest answers.

Sampling with keys for whole answers, then an optimiser step of GRPO and one of SFT, each with the
most memory that it took. Whatever TRL does there (its own loss, recomputed activations, Adam) is
in the figures, for nothing is done in its place but decoding whole answers, which takes minutes.
"""

from __future__ import annotations

import gc
import math
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.load import load_suite
from kernelwright.envs.device.memory import says_full
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.types import Evaluation, Reward, Task, Verdict
from kernelwright.rl.methods.base import Ask, Example, Row, RunView
from kernelwright.rl.methods.find import method_options, start_method
from kernelwright.rl.models.free_memory import give_back
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies.kv_slots import MOST_ROWS, rows_at_once
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.probe import (
    DECODING_STEPS,
    PROMPT_TOKENS,
    Probe,
    ProbeFullError,
    shown_tokens,
)

LONGEST = 8
"""Number of problems with the most code whose prompts are tokenized, to find the longest."""


@dataclass(slots=True)
class Meter:
    """The memory of a device that parts of the probe take; none is counted on a CPU."""

    device: str
    peak_bytes: dict[str, int] = field(default_factory=dict)
    reserved_bytes: int = 0

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Counts what the block takes. Raises ProbeFullError where there is no room for it."""
        import torch

        gc.collect()
        give_back()
        on_gpu = self.device == "cuda"
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        try:
            yield
            self.finish()
        except (RuntimeError, ModelError) as error:
            if says_full(error.__cause__ if isinstance(error, ModelError) else error):
                raise ProbeFullError(name) from None
            raise
        if on_gpu:
            self.peak_bytes[name] = torch.cuda.max_memory_allocated()
            self.reserved_bytes = max(self.reserved_bytes, torch.cuda.max_memory_reserved())

    def finish(self) -> None:
        """Returns when the device has done what it was given."""
        import torch

        if self.device == "cuda":
            torch.cuda.synchronize()

    def seconds(self, work: Callable[[], object]) -> float:
        self.finish()
        started = time.monotonic()
        work()
        self.finish()
        return time.monotonic() - started


def measure_on(device: str, recipe: Recipe) -> Probe:
    """Runs the parts of the probe that the recipe has, here and now."""
    from kernelwright.rl.models.load import hush_libraries, load_tokenizer

    hush_libraries()
    meter, tokenizer = Meter(device), load_tokenizer(recipe.model.name)
    trained_token_s = sft_step_s = None
    with TemporaryDirectory() as folder:
        small = _small(recipe, Path(folder))
        tasks, prompt_ids = _longest(small, tokenizer)
        prompt_ids += prompt_ids[-1:] * shown_tokens(recipe)
        decoding_s, rows, model = _sampled(meter, recipe, prompt_ids)
        if "grpo" in recipe.stages:
            with meter.part("grpo"):
                trained_token_s = _trained_token_s(meter, small, tasks, prompt_ids, model)
        del model
        if recipe.learns_examples:
            with meter.part("sft"):
                sft_step_s = _sft_step_s(meter, recipe, small, tokenizer)
    return Probe(
        sft_step_s=sft_step_s,
        trained_token_s=trained_token_s,
        decoding_step_s=decoding_s,
        rows=rows,
        peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        device_bytes=meter.peak_bytes,
        reserved_bytes=meter.reserved_bytes,
    )


def _small(recipe: Recipe, folder: Path) -> Recipe:
    """One step of each stage, of as few rows as take as much memory, in a folder of its own.

    By GRPO's own method: the others sample and credit otherwise, and train alike.
    """
    grpo, sft = recipe.grpo, recipe.sft
    groups = next(
        count
        for count in range(1, grpo.groups_per_step + 1)
        if count * grpo.rows_per_group % grpo.micro_batch_size == 0 or count == grpo.groups_per_step
    )
    changed = {
        "method": method_options("grpo"),
        "trainer": grpo.trainer_options,
        "group_size": grpo.rows_per_group,
        "groups_per_step": groups,
        "steps": 1,
        "iterations": 1,
        "steps_per_generation": 1,
        "oversampled_groups": 0,
        "most_mismatch": math.inf,  # its answers are written by nobody
    }
    return recipe.model_copy(
        update={
            "run_dir": folder,
            "report_to": "none",
            "grpo": grpo.model_copy(update=changed),
            "sft": sft.model_copy(
                update={"epochs": 1.0, "tokens": None, "batch_size": sft.micro_batch_size}
            ),
        }
    )


def _longest(recipe: Recipe, tokenizer: Any) -> tuple[list[Task], list[int]]:
    """(as many tasks as a step has groups, the longest prompt that was found, as tokens)."""
    from kernelwright.rl.models.chat import chat_ids

    problems = sorted(load_suite(recipe.data.train_suite).problems, key=lambda one: -len(one.code))[
        : max(LONGEST, recipe.grpo.groups_per_step)
    ]
    learn_shapes(problems)
    tasks = recipe.data.tasks(problems)
    found = []
    for task in tasks:
        try:
            found.append((task, chat_ids(tokenizer, task_prompt(task))))
        except ProblemError:  # whoever trains on it will say so
            continue
    found.sort(key=lambda one: -len(one[1]))
    ids = found[0][1] if found else [0] * PROMPT_TOKENS
    return [task for task, _ in found[: recipe.grpo.groups_per_step]], ids


def _sampled(meter: Meter, recipe: Recipe, prompt_ids: Sequence[int]) -> tuple[float, int, Any]:
    """(seconds of a decoding step, rows, the model). Memory is that of keys for whole answers."""
    import torch

    from kernelwright.rl.policies.decode import sample
    from kernelwright.rl.train.adapter import policy_model

    def decoded(model: Any, ids: list[int], steps: int, rows: int) -> None:
        sample(
            model,
            [ids] * rows,
            max_new_tokens=steps,
            temperature=1.0,
            end_token_ids=(),
            seed=0,
        )

    with meter.part("sampling"):
        model = policy_model(recipe, None)
        for asked, length in _batches(recipe):
            ids = [*prompt_ids, *torch.randint(1, 100, (length,)).tolist()]
            decoded(model, ids, 2, min(asked, rows_at_once(model, len(ids))))
        longest = len(prompt_ids) + recipe.grpo.max_completion_length
        rows = min(recipe.grpo.rollouts_at_once, rows_at_once(model, longest))
        few, one = (
            meter.seconds(lambda steps=steps: decoded(model, list(prompt_ids), steps, rows))  # type: ignore[misc]
            for steps in (DECODING_STEPS + 1, 1)
        )
    return max(0.0, few - one) / DECODING_STEPS, rows, model


def _batches(recipe: Recipe) -> Iterator[tuple[int, int]]:
    """(answers, tokens of one) of each batch that the stages sample."""
    grpo, section = recipe.grpo, recipe.eval
    if "grpo" in recipe.stages:
        groups = grpo.groups_at_once + grpo.oversampled_groups
        yield groups * grpo.rows_per_group, grpo.max_completion_length
    if "eval" in recipe.stages:
        yield (section.problems or MOST_ROWS) * section.samples, section.max_new_tokens


@dataclass(frozen=True, slots=True)
class LongestAnswers:
    """A player whose answers are as long as they may be, and right by turns."""

    recipe: Recipe
    prompt_ids: Sequence[int]
    step: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def group_size(self) -> int:
        return self.recipe.grpo.group_size

    def play(self, asked: Sequence[Ask]) -> list[Row]:
        import torch

        length = self.recipe.grpo.max_completion_length
        return [
            Row(
                ask=one,
                prompt_ids=tuple(self.prompt_ids),
                token_ids=tuple(torch.randint(1, 100, (length,)).tolist()),
                logprobs=(-1.0,) * length,
                ended=True,
                completion="",
                source="x",
                evaluation=Evaluation(verdict=Verdict.WRONG, reason="mismatch"),
                reward=Reward(parts={"correct": float(number % 2)}),
            )
            for number, one in enumerate(asked)
        ]


def _trained_token_s(
    meter: Meter, recipe: Recipe, tasks: Sequence[Task], prompt_ids: Sequence[int], model: Any
) -> float:
    """Seconds for a token of an answer."""
    from kernelwright.rl.models.load import load_tokenizer
    from kernelwright.rl.rollout.rows import Rollouts, by_key
    from kernelwright.rl.train.grpo import grpo_trainer

    store, grpo = RecordStore(recipe.run_dir), recipe.grpo
    rollouts = Rollouts(
        method=start_method(grpo.method, RunView(seed=0, store=store)),
        tasks=by_key(tasks),
        player_at=lambda *_: LongestAnswers(recipe, prompt_ids),  # type: ignore[arg-type]
        store=store,
        rows_per_group=grpo.rows_per_group,
        oversampled=0,
        seed=0,
        rank=0,
        versions={},
    )
    trainer = grpo_trainer(recipe, rollouts, model, load_tokenizer(recipe.model.name))
    tokens = grpo.rollouts_per_step * grpo.max_completion_length
    return meter.seconds(trainer.train) / tokens


def _sft_step_s(meter: Meter, recipe: Recipe, small: Recipe, tokenizer: Any) -> float:
    """Seconds of an optimiser step on the longest examples that are not left out."""
    from kernelwright.rl.train.sft import sft_trainer

    examples = [longest_example(tokenizer, recipe.sft.max_length)] * small.sft.batch_size
    took_s = meter.seconds(sft_trainer(small, examples, 0).train)
    return took_s * recipe.sft.batch_size / small.sft.batch_size


def longest_example(tokenizer: Any, max_length: int) -> Example:
    """An example of at most `max_length` tokens, and hardly fewer; a third is the question."""

    def example(words: int) -> Example:
        return Example(prompt=" x" * (words // 3), completion=" x" * (words - words // 3))

    def tokens(words: int) -> int:
        one = example(words)
        roles = [("user", one.prompt), ("assistant", one.completion)]
        messages = [{"role": role, "content": text} for role, text in roles]
        text = tokenizer.apply_chat_template(messages, tokenize=False)
        return len(tokenizer(text, add_special_tokens=False).input_ids)

    fewest, most = 3, max_length
    while fewest < most:
        middle = (fewest + most + 1) // 2
        fewest, most = (middle, most) if tokens(middle) <= max_length else (fewest, middle - 1)
    return example(fewest)
