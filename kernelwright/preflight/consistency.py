"""Contradictions between a recipe and its suites, or its number of processes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from kernelwright.data.runs.progress import told_while_waiting
from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.broken import RUN, broken
from kernelwright.data.suites.load import (
    SuiteError,
    brings_triples,
    load_suite,
    read_spec,
    repairs_of,
)
from kernelwright.data.suites.normalised import normalised
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.types import Problem
from kernelwright.preflight.estimate import taught_triples
from kernelwright.rl.methods.base import RunView
from kernelwright.rl.methods.find import start_method
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.rollout.rows import by_key
from kernelwright.rl.train.pairs import pair_folder
from kernelwright.rl.train.validation import reserve

Problems = Mapping[str, Problem]
OF_FILES = ("kernelbench:", "modules:")
"""Suites whose modules nobody has run before."""


def contradictions(recipe: Recipe, processes: int) -> list[str]:
    """One sentence for each contradiction."""
    found, reasons = _loaded(recipe)
    if not reasons:
        reasons += [*_trained_on_held_out(recipe, found), *_too_few(recipe, found)]
    if not reasons:
        reasons += [*_untaught(recipe), *_unmended(recipe), *_broken(recipe, found)]
    reasons += [*_unpaired(recipe), *_undropped(recipe)]
    return [*reasons, *_unsplittable(recipe, processes)]


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
    learned = {f"data.{key}": [*found[key].values()] for key in _trained_on(recipe, found)}
    for key in learned:
        if read_spec(spec := getattr(recipe.data, key.removeprefix("data.")))[0].for_evaluation:
            yield (
                f"{key}: {spec} is for evaluation: choose another suite, or ask for it with "
                "data.train_on_held_out=true"
            )
    if "dpo" in recipe.stages and recipe.dpo.pairs is not None:
        with suppress(ModelError):  # `_unpaired` says it
            learned["dpo.pairs"] = [it.problem for it in pair_folder(recipe.dpo.pairs).entries]
    for key, problems in learned.items():
        yield from _shared(key, problems, found["held_out_suite"])


def _broken(recipe: Recipe, found: Mapping[str, Problems]) -> Iterator[str]:
    """Files of one's own that do not run would end the training when they are first asked for."""
    for key in _trained_on(recipe, found):
        if getattr(recipe.data, key).startswith(OF_FILES):
            problems = list(found[key].values())
            names = {one.key: one.name for one in problems}
            with told_while_waiting(lambda: RUN):
                silent = broken(problems)
            for problem, why in silent.items():
                yield f"data.{key}: {names[problem]} does not run ({why}): mend it, or take it out"


def _shared(key: str, learned: Iterable[Problem], held_out: Problems) -> Iterator[str]:
    """A sentence where held-out problems are among those learned from, whatever their sizes, names
    and precision."""
    trained = {normalised(one.code, exact=True) for one in learned}
    if both := {n for n, one in held_out.items() if normalised(one.code, exact=True) in trained}:
        yield (
            f"{key}: {len(both)} of the {len(held_out)} problems of data.held_out_suite "
            f"are trained on ({held_out[min(both)].name}, …): choose suites that share none, "
            "or ask for it with data.train_on_held_out=true"
        )


def _trained_on(recipe: Recipe, found: Mapping[str, Problems]) -> list[str]:
    """The keys of the suites that the recipe's stages learn from."""
    taught = "sft_suite" if "sft_suite" in found else "train_suite"
    keys = {"sft": taught, "rft": "train_suite", "grpo": "train_suite"}
    return list(dict.fromkeys(keys[stage] for stage in recipe.stages if stage in keys))


def _untaught(recipe: Recipe) -> Iterator[str]:
    data = recipe.data
    has_triples = brings_triples(data.taught_suite) or all(
        DIALECTS[one].has_triples for one in data.dialects
    )
    if "sft" not in recipe.stages or not has_triples:
        return  # a dialect without any is refused by check.py
    if not taught_triples(recipe):
        key = "sft_suite" if data.sft_suite else "train_suite"
        yield (
            f"data.{key}: there are no triples for {data.taught_suite}, and SFT learns from "
            "nothing else: set data.sft_suite=starter:sft, or leave sft out of stages"
        )


def _unmended(recipe: Recipe) -> Iterator[str]:
    data = recipe.data
    if not recipe.sft.mending or not recipe.judges_triples:
        return
    try:
        known = any(repairs_of(data.taught_suite, one) for one in data.dialects)
    except SuiteError as error:
        yield f"sft.mending: {error}"
        return
    if not known:
        yield (
            f"sft.mending: {data.taught_suite} has no repairs: `kernelwright data build FOLDER "
            "--mutants 2` makes them, and data.sft_suite=data:FOLDER:sft teaches them"
        )


def _unpaired(recipe: Recipe) -> Iterator[str]:
    """Preferences need pairs before they are trained on, and that is hours after the start."""
    if "dpo" not in recipe.stages:
        return
    if recipe.dpo.pairs is None:
        if "rft" not in recipe.stages:
            yield (
                "dpo.pairs: no stage before dpo samples answers to pair: add rft to stages, or "
                "name a folder that has wrong answers too, as dpo.pairs=data:FOLDER"
            )
        return
    try:
        pair_folder(recipe.dpo.pairs)
    except ModelError as error:
        yield str(error)


def _undropped(recipe: Recipe) -> Iterator[str]:
    """Without its correction TRL does not ask how far training is from sampling."""
    grpo, name = recipe.grpo, "vllm_importance_sampling_correction"
    if "grpo" in recipe.stages and grpo.drop_mismatched and grpo.trainer_options.get(name) is False:
        yield (
            f"grpo.drop_mismatched: with grpo.trainer.{name} false nobody knows which answers "
            "those are: leave one of the two out"
        )


def _too_few(recipe: Recipe, found: Mapping[str, Problems]) -> Iterator[str]:
    """TRL's sampler leaves out a step that it cannot fill with prompts, and ends without one."""
    if "grpo" not in recipe.stages:
        return
    section, store = recipe.grpo, RecordStore(recipe.run_dir)
    every = recipe.data.tasks(found["train_suite"].values())
    _, left = reserve(every, section.validation_problems)
    method = start_method(section.method, RunView(seed=recipe.seed, store=store))
    asked, wanted = len(by_key(method.tasks(left))), section.groups_at_once
    if asked < wanted:
        yield (
            f"grpo.groups_per_step: {wanted} prompts are asked at once, and data.train_suite "
            f"leaves {asked} to train on"
        )


def _unsplittable(recipe: Recipe, processes: int) -> Iterator[str]:
    """Each process gets an equal number of rows of a step, in whole groups."""
    rows = recipe.sft.batch_size if recipe.sft.batch_size > 1 else processes
    steps = (
        ({"sft", "rft"}, "sft.batch_size", rows),
        ({"dpo"}, "dpo.batch_size", recipe.dpo.batch_size),
        ({"grpo"}, "grpo.groups_per_step", recipe.grpo.groups_per_step),
    )
    for stages, name, count in steps:
        if stages & set(recipe.stages) and count % processes:
            yield (
                f"{name} ({count}) cannot be split evenly over {processes} processes: take "
                f"a multiple of {processes}, or --num_processes {math.gcd(count, processes)}"
            )
