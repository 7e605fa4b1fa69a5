"""Costs of a recipe, as far as its text tells; None or `unknown` otherwise."""

from __future__ import annotations

import math
import re

from kernelwright.data.runs.process import this_process
from kernelwright.data.runs.stages import STAGES, Stage
from kernelwright.data.suites.load import SuiteError, load_suite
from kernelwright.data.triples.templates import triples_of
from kernelwright.envs.device.memory import CONTEXT_BYTES
from kernelwright.envs.system.hardware import gpus
from kernelwright.envs.workers.pool import default_workers, uses_gpu
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.recipe.stage_names import stage_names

BYTES_PER_WEIGHT = {"bfloat16": 2.0, "float32": 4.0}
NF4_BYTES_PER_WEIGHT = 0.55
"""Half a byte, and the scales of each block of 64."""
UNITS = {"m": 1e6, "b": 1e9}
SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)([mb])(?![a-z0-9])", re.IGNORECASE)


def parameters(model: str) -> float | None:
    """The number of weights in a model's name; None if the name has no size.

    >>> parameters("Qwen/Qwen2.5-Coder-7B-Instruct"), parameters("smollm2-135m"), parameters("gpt2")
    (7000000000.0, 135000000.0, None)
    """
    found = SIZE.search(model)
    return float(found[1]) * UNITS[found[2].lower()] if found else None


def weight_bytes(recipe: Recipe, *, on_gpu: bool) -> float | None:
    """Memory of the base weights alone; None where the model's name gives no size.

    On a CPU, NF4 weights are kept beside a copy in the compute dtype (`rl/models/quantize.py`).
    """
    count = parameters(recipe.model.name)
    if count is None:
        return None
    dtype = recipe.model.dtype
    plain = BYTES_PER_WEIGHT["bfloat16" if dtype == "auto" else dtype]
    if recipe.model.quantization == "none":
        return count * plain
    return count * (NF4_BYTES_PER_WEIGHT + (0 if on_gpu else plain))


def judge_device_bytes(recipe: Recipe) -> int:
    """Memory that the judge takes of each GPU beside the policy; 0 where no answer is replayed.

    That is a CUDA context and a buffer that empties the L2 cache for each worker, and the replay's
    memory.
    """
    dialects, section = recipe.data.dialects, recipe.judge
    if not gpus() or not any(map(uses_gpu, dialects)) or section.ray_address:
        return 0
    workers = section.workers or default_workers(dialects)
    return (math.ceil(workers / len(gpus())) + 1) * CONTEXT_BYTES


def judge_estimate(recipe: Recipe) -> str:
    """Calls of the judge in all stages, in words."""
    calls = judged_answers(recipe)
    return "unknown" if calls is None else f"at most {calls} answers judged"


def memory_estimate(recipe: Recipe, *, on_gpu: bool) -> str:
    """Memory of the weights, and where they lie, in words."""
    weights = weight_bytes(recipe, on_gpu=on_gpu)
    if weights is None:
        return f"unknown: the name {recipe.model.name!r} gives no size"
    return (
        f"at least {weights / 1e9:.1f} GB of weights (by the model's name); "
        f"{_beside(recipe) if on_gpu else 'without a GPU'}; activations come on top"
    )


def _beside(recipe: Recipe) -> str:
    judge = judge_device_bytes(recipe)
    return f"on the GPU, of which the judge takes {judge / 1e9:.1f} GB" if judge else "on the GPU"


def sft_estimate(recipe: Recipe) -> str:
    steps, tokens = sft_steps(recipe), recipe.sft.tokens
    if steps is not None and tokens is not None:
        return f"{tokens} tokens of answers, about {steps} optimiser steps"
    return "unknown" if steps is None else f"at most {steps} optimiser steps"


def rft_estimate(recipe: Recipe) -> str:
    sampled = rft_answers(recipe)
    return "unknown" if sampled is None else f"{recipe.rft.rounds} rounds, {sampled} answers"


def dpo_estimate(recipe: Recipe) -> str:
    from_where = recipe.dpo.pairs or "the answers of this run"
    return f"at most {recipe.dpo.pairs_per_prompt} pairs a prompt, from {from_where}"


def rft_answers(recipe: Recipe) -> int | None:
    """Answers of all rounds of rejection sampling; None where there is no such suite."""
    try:
        problems = len(load_suite(recipe.data.train_suite).problems)
    except SuiteError:
        return None
    section, dialects = recipe.rft, len(recipe.data.dialects)
    asked = min(section.problems or problems, problems) * dialects
    return section.rounds * asked * (section.samples + section.retries)


def rft_steps(recipe: Recipe) -> int:
    """Optimiser steps of all rounds at most: each goes through the kernels kept so far, and through
    examples beside them."""
    section = recipe.rft
    answers = (rft_answers(recipe) or 0) / section.rounds
    each = section.samples + section.retries
    kept = answers / each * min(section.kept_per_problem, each)
    rounds = sum(range(1, section.rounds + 1))
    return math.ceil(rounds * kept * (1 + section.replay) * section.epochs / recipe.sft.batch_size)


def grpo_estimate(recipe: Recipe) -> str:
    rollouts = sampled_answers(recipe)
    tokens = rollouts * recipe.grpo.max_completion_length
    return f"{recipe.grpo.steps} steps, {rollouts} rollouts, at most {tokens} tokens"


def eval_estimate(recipe: Recipe) -> str:
    """Answers of all measurements, in words."""
    answers = evaluated_answers(recipe)
    return "unknown" if answers is None else f"{answers} answers"


def baselines_estimate(recipe: Recipe) -> str:
    count = evaluated_problems(recipe)
    return "unknown" if count is None else f"torch.compile of at most {count} problems, timed"


def measurements(recipe: Recipe) -> list[Stage]:
    """The stages that measure the held-out suite; greedy repetitions are stages of their own."""
    rows = (STAGES[name] for name in stage_names(recipe))
    return [row for row in rows if row.side]


def sft_steps(recipe: Recipe) -> int | None:
    """Optimiser steps of SFT at most; None where there are no triples for the suite. Of a budget
    of tokens about so many, with answers half as long as a triple may be."""
    used, section = taught_triples(recipe), recipe.sft
    if not used:
        return None
    examples = used * recipe.grpo.method.most_examples * (1 + section.mending) * section.epochs
    if section.tokens is not None:
        examples = section.tokens / (section.max_length / 2)
    return math.ceil(examples / section.batch_size)


def taught_triples(recipe: Recipe) -> int | None:
    """Triples that are judged before SFT; None where there is no such suite."""
    try:
        data = recipe.data
        triples = sum(len(triples_of(data.taught_suite, one)) for one in data.dialects)
    except SuiteError:
        return None
    return min(triples, recipe.data.max_triples or triples)


def sampled_answers(recipe: Recipe) -> int:
    """Rollouts of all steps of GRPO."""
    grpo = recipe.grpo
    groups = grpo.groups_at_once + this_process().world * grpo.oversampled_groups
    return math.ceil(grpo.steps / grpo.steps_at_once) * groups * grpo.rows_per_group


def judged_answers(recipe: Recipe) -> int | None:
    """Answers that are judged in all stages, at most; None where a suite is not known."""
    counts: list[int | None] = [taught_triples(recipe)] if recipe.judges_triples else []
    if "rft" in recipe.stages:
        counts.append(rft_answers(recipe))
    if "grpo" in recipe.stages:
        counts += [sampled_answers(recipe), validated_answers(recipe)]
    if "eval" in recipe.stages:
        counts.append(evaluated_answers(recipe))
    known = [one for one in counts if one is not None]
    return sum(known) if len(known) == len(counts) else None


def validated_answers(recipe: Recipe) -> int:
    """Answers to all points of the validation curve."""
    grpo = recipe.grpo
    points = math.ceil(grpo.steps / grpo.validate_every) + 1 if grpo.validate_every else 0
    asked = grpo.validation_problems * len(recipe.data.dialects)
    return points * asked * grpo.validation_samples


def evaluated_problems(recipe: Recipe) -> int | None:
    """Held-out problems of one measurement; None where there is no such suite."""
    try:
        problems = len(load_suite(recipe.data.held_out_suite).problems)
    except SuiteError:
        return None
    return min(problems, recipe.eval.problems or problems)


def evaluated_answers(recipe: Recipe) -> int | None:
    """Held-out answers of all measurements; None where there is no such suite."""
    asked, section = evaluated_problems(recipe), recipe.eval
    if asked is None:
        return None
    before = min(asked, section.before_problems or asked)
    each = sum(
        (asked if row.measured else before) * (1 if row.greedy_of else section.samples)
        for row in measurements(recipe)
    )
    return each * len(recipe.data.dialects)
