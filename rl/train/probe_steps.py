"""The process that measures the cost of training: it runs steps of a recipe with its own model.

A few decoding steps and one training pass at the longest answer, and one SFT step at the longest
example, as far as the recipe has these stages. On a GPU: `rl/train/probe_gpu.py`.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from kernelwright.envs.system.cores import usable_cores
from kernelwright.envs.system.lifetime import die_with
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.probe import (
    DECODING_STEPS,
    PROMPT_TOKENS,
    Probe,
    ProbeFullError,
    shown_tokens,
)
from kernelwright.rl.train.probe_gpu import measure_on

ANSWERS = 4
"""Answers of the training pass; more take longer and no more memory (`rl/train/fast_pass.py`)."""


def measure(recipe: Recipe) -> Probe:
    """Runs the steps here and now, on the GPU where there is one."""
    import torch

    if torch.cuda.is_available():
        return measure_on("cuda", recipe)

    from kernelwright.rl.models.load import hush_libraries, load_tokenizer
    from kernelwright.rl.train.adapter import policy_model

    hush_libraries()
    torch.set_num_threads(len(usable_cores()))  # accelerate leaves a process with one
    tokenizer = load_tokenizer(recipe.model.name)
    model = policy_model(recipe, None)
    decoding_s, rows = _decode(recipe, model, len(tokenizer))
    model.train()
    trained_s = _train(recipe, model, len(tokenizer)) if "grpo" in recipe.stages else None
    sft_s = _sft(recipe, model, len(tokenizer)) if recipe.learns_examples else None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Probe(
        sft_step_s=sft_s,
        trained_token_s=trained_s,
        decoding_step_s=decoding_s,
        rows=rows,
        peak_bytes=peak,
    )


def _decode(recipe: Recipe, model: Any, vocabulary: int) -> tuple[float, int]:
    from kernelwright.rl.policies.decode import sample
    from kernelwright.rl.policies.kv_slots import ROWS

    rows = min(ROWS, recipe.grpo.rollouts_at_once)
    asked = PROMPT_TOKENS + shown_tokens(recipe)
    prompts = [_ids(asked, vocabulary).tolist() for _ in range(rows)]

    def few(steps: int) -> float:
        return _timed(
            lambda: sample(
                model,
                prompts,
                max_new_tokens=steps,
                temperature=1.0,
                end_token_ids=(),
                seed=0,
            )
        )

    sample(  # every token ends a row: room is made for whole answers, and they take no time
        model,
        prompts,
        max_new_tokens=recipe.grpo.max_completion_length,
        temperature=1.0,
        end_token_ids=range(vocabulary),
        seed=0,
    )
    return max(0.0, few(DECODING_STEPS + 1) - few(1)) / DECODING_STEPS, rows


def _train(recipe: Recipe, model: Any, vocabulary: int) -> float:
    """Seconds for a token of an answer."""
    import torch

    from kernelwright.rl.train.fast_pass import Clip, backward_pass
    from kernelwright.rl.train.grpo import is_ours

    length, asked = recipe.grpo.max_completion_length, PROMPT_TOKENS + shown_tokens(recipe)
    if not is_ours(recipe, model):
        count = recipe.grpo.micro_batch_size
        rows = [_ids(asked + length, vocabulary) for _ in range(count)]
        return _timed(lambda: _learn(model, torch.stack(rows))) / (count * length)
    prompt, answers = _ids(asked, vocabulary), [_ids(length, vocabulary)] * ANSWERS
    answers = [torch.roll(one, number) for number, one in enumerate(answers)]
    inputs = {
        "prompt_ids": prompt.expand(ANSWERS, -1),
        "prompt_mask": torch.ones(ANSWERS, asked, dtype=torch.long),
        "completion_ids": torch.stack(answers),
        "completion_mask": torch.ones(ANSWERS, length, dtype=torch.long),
        "advantages": torch.tensor([1.0, -1.0] * (ANSWERS // 2)),
    }
    clip = Clip(low=0.2, high=0.28, normalizer=1.0, temperature=1.0)
    return _timed(lambda: backward_pass(model, inputs, clip)) / (ANSWERS * length)


def _learn(model: Any, ids: Any, learned_from: int = 0) -> None:
    """A pass of the model's own loss."""
    labels = ids.clone()
    labels[:, :learned_from] = -100
    model(input_ids=ids, attention_mask=ids.new_ones(ids.shape), labels=labels).loss.backward()


def _sft(recipe: Recipe, model: Any, vocabulary: int) -> float:
    """Seconds of an optimiser step, as the trainer does it: what `score_learned_positions` cannot
    score is scored as the model itself does."""
    import torch

    from kernelwright.rl.train.lm_head import score_learned_positions

    section, ours = recipe.sft, score_learned_positions(model)
    ids = torch.stack([_ids(section.max_length, vocabulary)] * section.micro_batch_size)
    labels = ids.clone()
    labels[:, : section.max_length // 3] = -100

    def learn() -> None:
        if not ours:
            return _learn(model, ids, section.max_length // 3)
        mask = torch.ones_like(ids)
        found = model(input_ids=ids, attention_mask=mask, labels=labels, fused_lm_head=True)
        (-found.log_probs.sum()).backward()

    return section.batch_size // section.micro_batch_size * _timed(learn)


def _ids(count: int, vocabulary: int) -> Any:
    import torch

    return torch.randint(vocabulary, (count,))


def _timed(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def main() -> None:
    """Reads a recipe, writes what was measured or which part finds no room, as JSON."""
    die_with(int(sys.argv[1]))
    asked = Recipe.model_validate_json(sys.stdin.read())
    try:
        found = asdict(measure(asked))
    except ProbeFullError as error:
        found = {"full": error.part}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
