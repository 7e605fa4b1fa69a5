"""Prints `--dry-run`: the whole recipe, the origin of each value, and the estimated cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from kernelwright.envs.system.hardware import visible_gpus
from kernelwright.preflight.budget import Budget
from kernelwright.preflight.estimate import eval_estimate, judge_estimate, memory_estimate
from kernelwright.recipe.resolve import Resolved
from kernelwright.recipe.yaml_tree import KeyPath
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.recipe.stage_names import stage_names
from kernelwright.run.train import WORKS

COMMENT_COLUMN = 48


def dry_run_text(resolved: Resolved, found: Budget, reasons: Sequence[str]) -> str:
    """A valid recipe, with everything else in comments; `reasons` against running it come last."""
    plain = resolved.recipe.model_dump(mode="json")
    lines = list(_lines(plain, resolved.origins, ()))
    lines += ["", "# Estimates"]
    costs = estimates(resolved.recipe, on_gpu=bool(visible_gpus()))
    lines += [f"#   {what}: {cost}" for what, cost in costs.items()]
    unknown = "not measured: the model is not here yet, nothing is trained, or vLLM samples"
    lines += [f"#   in all: {found.line() or unknown}", *(f"#   {note}" for note in found.notes)]
    lines += ["# This machine can run it." if not reasons else "# This machine cannot run it:"]
    return "\n".join(lines + [f"#   {reason}" for reason in reasons])


def estimates(recipe: Recipe, *, on_gpu: bool) -> dict[str, str]:
    """Stage, `judge` or `memory` → a figure with its unit, as far as the recipe's text tells."""
    works = {name: WORKS[name] for name in stage_names(recipe) if name in WORKS}
    lines = {name: work.estimate(recipe) for name, work in works.items() if work.estimate}
    if "eval" in recipe.stages:
        lines["eval"] = eval_estimate(recipe)
    lines["judge"] = judge_estimate(recipe)
    lines["memory"] = memory_estimate(recipe, on_gpu=on_gpu)
    return lines


def _lines(
    section: Mapping[str, Any], origins: Mapping[KeyPath, str], prefix: KeyPath
) -> Iterator[str]:
    indent = "  " * len(prefix)
    for key, value in section.items():
        path = (*prefix, key)
        if isinstance(value, dict) and value:
            yield f"{indent}{key}:"
            yield from _lines(value, origins, path)
        else:
            text = f"{indent}{key}: {_flow(value)}"
            yield f"{text:<{COMMENT_COLUMN}}  # {_origin(path, origins)}"


def _origin(path: KeyPath, origins: Mapping[KeyPath, str]) -> str:
    return origins.get(path, "default")


def _flow(value: Any) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True)
    return text.removesuffix("...\n").strip()
