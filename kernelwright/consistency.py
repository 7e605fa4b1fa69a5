"""Where a recipe does not go together: with its suites, or with the number of processes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from kernelwright.data.suite import SuiteError, load_suite
from kernelwright.envs.hardware import gpus
from kernelwright.envs.types import Problem
from kernelwright.rl.config import GrpoSection, Recipe, SftSection

Problems = Mapping[str, Problem]


def contradictions(recipe: Recipe, processes: int) -> list[str]:
    """One sentence for each; empty where there is none."""
    found, reasons = _loaded(recipe)
    if not reasons:
        reasons += [*_trained_on_held_out(recipe, found), *_too_few(recipe, found)]
    return [*reasons, *_unsplittable(recipe, processes), *_curveless(recipe, processes)]


def _loaded(recipe: Recipe) -> tuple[dict[str, Problems], list[str]]:
    """(the suites by their keys, a reason for each that cannot be read)."""
    data = recipe.data
    specs = {"train_suite": data.train_suite, "held_out_suite": data.held_out_suite}
    if data.sft_suite and recipe.judges_triples:
        specs["sft_suite"] = data.sft_suite
    found: dict[str, Problems] = {}
    reasons: list[str] = []
    for key, spec in specs.items():
        try:
            found[key] = load_suite(spec).by_key()
        except SuiteError as error:
            reasons.append(f"data.{key}: {error}")
    return found, reasons


def _trained_on_held_out(recipe: Recipe, found: Mapping[str, Problems]) -> Iterator[str]:
    """What is measured on problems that were trained on says nothing about others."""
    if "eval" not in recipe.stages or recipe.data.train_on_held_out:
        return
    taught = "sft_suite" if "sft_suite" in found else "train_suite"
    keys = {"sft": taught, "grpo": "train_suite"}
    held_out = found["held_out_suite"]
    for key in dict.fromkeys(keys[stage] for stage in recipe.stages if stage in keys):
        if both := found[key].keys() & held_out.keys():
            yield (
                f"data.{key}: {len(both)} of the {len(held_out)} problems of data.held_out_suite "
                f"are trained on ({held_out[min(both)].name}, …): choose suites that share none, "
                "or ask for it with data.train_on_held_out=true"
            )


def _too_few(recipe: Recipe, found: Mapping[str, Problems]) -> Iterator[str]:
    """TRL's sampler leaves out a step that it cannot fill with problems, and ends without one."""
    left = len(found["train_suite"]) - recipe.grpo.validation_problems
    wanted = recipe.grpo.groups_per_step
    if "grpo" in recipe.stages and left < wanted:
        yield (
            f"grpo.groups_per_step: {wanted} problems make a step, and data.train_suite leaves "
            f"{max(0, left)} to train on"
        )


def _unsplittable(recipe: Recipe, processes: int) -> Iterator[str]:
    """Each process gets as many rows of a step: whole groups of them, in whole micro-batches. On a
    CPU `fast_pass` takes all of GRPO's at once."""
    sft, grpo = recipe.sft, recipe.grpo
    rows = sft.batch_size if sft.batch_size > 1 else processes
    steps: dict[str, tuple[str, int, int, SftSection | GrpoSection]] = {
        "sft": ("batch_size", rows, 1, sft),
        "grpo": ("groups_per_step", grpo.groups_per_step, grpo.rows_per_group, grpo),
    }
    for stage, (name, count, rows_each, section) in steps.items():
        share = count // processes * rows_each
        whole = stage == "grpo" and grpo.fast_pass and not gpus()
        micro = max(1, share if whole else min(section.micro_batch_size, share))
        if stage not in recipe.stages:
            continue
        if count % processes:
            yield (
                f"{stage}.{name} ({count}) cannot be split evenly over {processes} processes: take "
                f"a multiple of {processes}, or --num_processes {math.gcd(count, processes)}"
            )
        elif share % micro:
            yield (
                f"{stage}.micro_batch_size ({micro}) does not divide the {share} rows that each of "
                f"{processes} processes has in a step"
            )


def _curveless(recipe: Recipe, processes: int) -> Iterator[str]:
    """One process draws the curve; TRL's vLLM answers all of them together, or none."""
    section = recipe.grpo
    asks_all = "grpo" in recipe.stages and section.generation == "vllm" and processes > 1
    if asks_all and section.validate_every:
        yield "grpo.validate_every: vllm draws no curve for several processes; set it to 0"
