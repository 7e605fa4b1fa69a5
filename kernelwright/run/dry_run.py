"""Tells of a `--dry-run`: the whole recipe, the origin of each value, and the estimated cost."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kernelwright.envs.system.hardware import visible_gpus
from kernelwright.preflight.budget import Budget
from kernelwright.preflight.estimate import eval_estimate, judge_estimate, memory_estimate
from kernelwright.recipe.resolve import Resolved
from kernelwright.recipe.shown import recipe_lines
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.recipe.stage_names import stage_names
from kernelwright.run.train import WORKS


def dry_run_text(resolved: Resolved, found: Budget, reasons: Sequence[str]) -> str:
    """A valid recipe, with everything else in comments; `reasons` against running it come last."""
    plain = resolved.recipe.model_dump(mode="json")
    lines = recipe_lines(plain, resolved.origins)
    lines += ["", "# Estimates"]
    costs = estimates(resolved.recipe, on_gpu=bool(visible_gpus()))
    lines += [f"#   {what}: {cost}" for what, cost in costs.items()]
    unknown = "not measured: the model is not here yet, nothing is trained, or vLLM samples"
    lines += [f"#   in all: {found.line() or unknown}", *(f"#   {note}" for note in found.notes)]
    lines += ["# This machine can run it." if not reasons else "# This machine cannot run it:"]
    return "\n".join(lines + [f"#   {reason}" for reason in reasons])


def dry_run_json(resolved: Resolved, found: Budget, reasons: Sequence[str]) -> str:
    """The same as one JSON object; `seconds` and the bytes are null where nothing was measured."""
    told = {
        "recipe": resolved.recipe.model_dump(mode="json"),
        "origins": {".".join(map(str, path)): one for path, one in resolved.origins.items()},
        "estimates": estimates(resolved.recipe, on_gpu=bool(visible_gpus())),
        "seconds": found.seconds,
        "judging_included": found.judged,
        "peak_bytes": found.bytes,
        "peak_device_bytes": found.device_bytes,
        "notes": list(found.notes),
        "reasons": list(reasons),
    }
    return json.dumps(told, ensure_ascii=False)


def estimates(recipe: Recipe, *, on_gpu: bool) -> dict[str, str]:
    """Stage, `judge` or `memory` → a figure with its unit, as far as the recipe's text tells."""
    works = {name: WORKS[name] for name in stage_names(recipe) if name in WORKS}
    lines = {name: work.estimate(recipe) for name, work in works.items() if work.estimate}
    if "eval" in recipe.stages:
        lines["eval"] = eval_estimate(recipe)
    lines["judge"] = judge_estimate(recipe)
    lines["memory"] = memory_estimate(recipe, on_gpu=on_gpu)
    return lines
