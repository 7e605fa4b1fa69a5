"""Fills in `auto` for this machine: `model.name`, `data.dialect`, and the starter suite's sizes
where a recipe leaves them open."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kernelwright.envs.dialects import NAMES
from kernelwright.envs.system.hardware import Gpu
from kernelwright.envs.types import Dialect
from kernelwright.envs.workers.pool import uses_gpu
from kernelwright.recipe.yaml_tree import KeyPath, Tree, merge
from kernelwright.rl.recipe.schema import DataSection

AUTO = "auto"
MODEL, DIALECT, STAGES = ("model", "name"), ("data", "dialect"), ("stages",)
BY_GPU_GB = (
    (22, "Qwen/Qwen2.5-Coder-7B-Instruct"),
    (10, "Qwen/Qwen2.5-Coder-1.5B-Instruct"),
    (0, "qwen2.5-coder-0.5b"),
)
"""Memory of a GPU from which a model can be trained there in NF4, in GB: the largest that fits."""
WITHOUT_GPU = "smollm2-135m"
SUITES = ("train_suite", "sft_suite", "held_out_suite")


def settle(tree: Tree, gpus: Sequence[Gpu], *, nvcc: bool) -> tuple[Tree, list[str]]:
    """The tree with every `auto` replaced, and a line for each that says the choice and its reason.
    Suites of open sizes count as `auto` where answers are timed on a GPU.

    If the dialect becomes a GPU's, SFT is left out: its examples are for models that cannot write
    the language yet, as the embedded one.
    """
    judging = [one for one in gpus if not one.too_old]
    found: dict[KeyPath, tuple[Any, str]] = {}
    if _value(tree.values, MODEL) == AUTO:
        found[MODEL] = _model(gpus)
    if _value(tree.values, DIALECT) == AUTO:
        found[DIALECT] = dialect, why = _dialect(gpus, nvcc=nvcc)
        stages = tree.values.get("stages", ["sft", "grpo", "eval"])
        model = found[MODEL][0] if MODEL in found else _value(tree.values, MODEL)
        if judging and model != WITHOUT_GPU and "sft" in stages:
            left = [one for one in stages if one != "sft"]
            found[STAGES] = left, f"examples in {dialect} are for models that write none ({why})"
    tree = _merged(tree, found)
    suites = _suites(tree.values, judging)
    tree, found = _merged(tree, suites), found | suites
    return tree, [f"{'.'.join(path)}: {value} ({why})" for path, (value, why) in found.items()]


def sized(suite: str, dialect: Dialect, gpus: Sequence[Gpu]) -> str:
    """The suite's spec. The starter suite gets GPU sizes if answers are timed on a GPU and the spec
    leaves sizes open."""
    on_device = gpus and uses_gpu(dialect)
    return f"{suite}?sizes=gpu" if on_device and re.fullmatch(r"starter(:\w+)?", suite) else suite


def _suites(values: Mapping[str, Any], gpus: Sequence[Gpu]) -> dict[KeyPath, tuple[str, str]]:
    """The suites that get GPU sizes, and why: all of a recipe or none, so that its prompts are
    alike."""
    data = values.get("data", {})
    elsewhere = _value(values, ("judge", "ray_address"))
    if elsewhere or not _times(values) or not isinstance(data, dict):
        return {}
    fields = DataSection.model_fields
    found: dict[KeyPath, tuple[str, str]] = {}
    for name in SUITES:
        suite = data.get(name, fields[name].default)
        dialect = data.get("dialect", fields["dialect"].default)
        known = isinstance(suite, str) and dialect in NAMES  # else the schema names the mistake
        if known and (other := sized(suite, dialect, gpus)) != suite:
            found["data", name] = other, "answers are timed on a GPU"
    return found


def _times(values: Mapping[str, Any]) -> bool:
    """Whether a stage of the recipe times answers."""
    stages = values.get("stages")
    stages = stages if isinstance(stages, list) else ["grpo", "eval"]
    trains = _value(values, ("judge", "timed")) is not False
    measures = _value(values, ("eval", "timed")) is not False or _value(values, ("eval", "greedy"))
    return ("grpo" in stages and trains) or ("eval" in stages and bool(measures))


def _merged(tree: Tree, found: Mapping[KeyPath, tuple[Any, str]]) -> Tree:
    for path, (value, _) in found.items():
        tree = merge(tree, _tree(path, value, tree.origins.get(path, "default")))
    return tree


def _model(gpus: Sequence[Gpu]) -> tuple[str, str]:
    known = [one.memory_bytes for one in gpus if one.memory_bytes]
    if not known:
        return WITHOUT_GPU, "no GPU here" if not gpus else "a GPU of unknown memory"
    largest_gb = max(known) / 1e9
    return next(
        (name, f"a GPU with {largest_gb:.0f} GB")
        for least, name in BY_GPU_GB
        if largest_gb >= least
    )


def _dialect(gpus: Sequence[Gpu], *, nvcc: bool) -> tuple[str, str]:
    if not gpus:
        return "cpp", "no GPU here"
    if all(one.too_old for one in gpus):
        return "cpp", f"no kernel is judged on {gpus[0].name}"
    return ("cuda", "a GPU and nvcc") if nvcc else ("triton", "a GPU, and no nvcc")


def _value(values: Mapping[str, Any], path: KeyPath) -> Any:
    section = values.get(path[0])
    if len(path) == 1:
        return section
    return section.get(path[1]) if isinstance(section, dict) else None


def _tree(path: KeyPath, value: Any, origin: str) -> Tree:
    nested = value
    for key in reversed(path):
        nested = {key: nested}
    return Tree(nested, {path: f"{origin}: auto"})
