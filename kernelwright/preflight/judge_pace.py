"""Measures the judge's seconds for each answer on this machine, with a few of its own examples."""

from __future__ import annotations

import json
import sys
import textwrap
import time

from kernelwright.data.suites.starter import USUAL
from kernelwright.data.triple import Triple
from kernelwright.data.triples.templates import template_triples
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.envs.sandbox.toolchain import (
    SandboxUnavailableError,
    code_version,
    toolchain_fingerprint,
)
from kernelwright.envs.system.cores import usable_cores
from kernelwright.envs.system.hardware import gpus
from kernelwright.envs.system.paths import cache_folder, write_whole
from kernelwright.envs.types import Candidate, Evaluation, Problem, content_hash
from kernelwright.envs.workers.pool import JudgeError, default_workers, uses_gpu
from kernelwright.rl.recipe.schema import Recipe

EXAMPLES = 6
"""Answers measured for each worker. The first is left out: it starts the sandbox that the others
use."""
DEVICE_EXAMPLES = 2
"""The same on a GPU, where workers take turns: some seconds each, or half a minute if timed."""


def judged_s(recipe: Recipe) -> float | None:
    """Seconds from one verdict to the next in GRPO, with all of the recipe's workers; kept in the
    cache.

    None where it is unknown: a cluster judges, the dialect has no examples, or no judge starts.
    """
    section, dialects = recipe.judge, recipe.data.dialects
    if section.ray_address:
        return None
    workers = section.workers or default_workers(dialects)
    known = [
        *dialects,
        section.timed,
        workers,
        len(usable_cores()),
        code_version(),
        toolchain_fingerprint(),
    ]
    known += _device(recipe)
    kept = cache_folder() / "judge_pace" / f"{content_hash(*map(str, known))}.json"
    if kept.exists():
        return float(json.loads(kept.read_text(encoding="utf-8")))
    triples = examples(recipe)
    count = workers * (DEVICE_EXAMPLES if _device(recipe) else EXAMPLES)
    if len(triples) < count:
        return None
    print(f"{count} examples are judged, to tell the minutes of judging", file=sys.stderr)
    spread = triples[:: len(triples) // count][:count]
    jobs = [(one.problem, one.candidate) for one in spread]
    try:
        with open_judge(workers, section.minimum_sandbox, on_gpu=section.on_gpu) as judge:
            (first, *_) = judge.evaluate_many(jobs[:workers], timed=section.timed)
            print(_told(*jobs[0], first), file=sys.stderr)
            started = time.monotonic()
            judge.evaluate_many(jobs[workers:], timed=section.timed)
            found = (time.monotonic() - started) / (count - workers)
    except (JudgeError, SandboxUnavailableError):
        return None
    write_whole(kept, json.dumps(found))
    return found


def _told(problem: Problem, candidate: Candidate, evaluation: Evaluation) -> str:
    """An example, and the verdict on it."""
    said = f"{evaluation.verdict} ({evaluation.reason})"
    if evaluation.timing is not None:
        said += f", {evaluation.timing.speedup.median:.2f} times as fast as PyTorch"
    source = textwrap.indent(candidate.source.strip(), "    ")
    return f"the first of them, a kernel for {problem.name}:\n{source}\nit is {said}"


def examples(recipe: Recipe) -> list[Triple]:
    """The first example to each problem, at the sizes that the recipe trains on."""
    sizes = _sizes(recipe)
    every = [
        one for it in recipe.data.dialects for one in template_triples(dialect=it, sizes=sizes)
    ]
    return [one for one in every if one.variant == 0]


def _sizes(recipe: Recipe) -> str:
    return "gpu" if recipe.data.train_suite.endswith("?sizes=gpu") else USUAL


def _device(recipe: Recipe) -> list[str]:
    """The settings that decide the pace where answers are judged on a GPU; empty elsewhere."""
    if not any(map(uses_gpu, recipe.data.dialects)) or not gpus():
        return []
    return [
        gpus()[0].environment,
        recipe.judge.precision,
        *recipe.judge.on_gpu.tools,
        _sizes(recipe),
    ]
