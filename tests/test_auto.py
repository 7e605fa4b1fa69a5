"""`auto` takes what fits the machine, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.auto import settle
from kernelwright.envs.hardware import Gpu
from kernelwright.recipe import resolve
from kernelwright.yaml_tree import Tree

TREE = Tree(
    {"model": {"name": "auto"}, "data": {"dialect": "auto"}}, {("model", "name"): "a.yaml:3:3"}
)


def gpu(gigabytes: float | None) -> Gpu:
    memory_bytes = None if gigabytes is None else int(gigabytes * 1e9)
    return Gpu(uuid="u", name="n", driver="d", architecture=90, memory_bytes=memory_bytes)


def test_without_a_gpu_the_embedded_model_writes_cpp() -> None:
    tree, lines = settle(TREE, [], nvcc=True)
    assert tree.values == {"model": {"name": "smollm2-135m"}, "data": {"dialect": "cpp"}}
    assert lines == ["model.name: smollm2-135m (no GPU here)", "data.dialect: cpp (no GPU here)"]
    assert tree.origins[("model", "name")] == "a.yaml:3:3: auto"


@pytest.mark.parametrize(
    ("gigabytes", "model"),
    [
        (80, "Qwen/Qwen2.5-Coder-7B-Instruct"),
        (16, "Qwen/Qwen2.5-Coder-1.5B-Instruct"),
        (6, "qwen2.5-coder-0.5b"),
        (None, "smollm2-135m"),
    ],
)
def test_a_gpu_gets_the_largest_model_that_fits_it(gigabytes: float | None, model: str) -> None:
    tree, _ = settle(TREE, [gpu(gigabytes)], nvcc=False)
    assert tree.values["model"]["name"] == model
    assert tree.values["data"]["dialect"] == "triton"


def test_sft_is_left_out_where_the_model_writes_the_dialect_already() -> None:
    tree, lines = settle(TREE, [gpu(80)], nvcc=True)
    assert tree.values["data"]["dialect"] == "cuda"
    assert tree.values["stages"] == ["grpo", "eval"]
    assert any(line.startswith("stages: ['grpo', 'eval'] (examples in cuda") for line in lines)


def test_the_embedded_model_is_shown_examples_on_a_gpu_too() -> None:
    tree, _ = settle(TREE, [gpu(None)], nvcc=True)
    assert tree.values["data"]["dialect"] == "cuda"
    assert "stages" not in tree.values


def test_what_is_named_stays() -> None:
    named = Tree({"model": {"name": "me/mine"}, "data": {"dialect": "inline"}}, {})
    assert settle(named, [], nvcc=False) == (named, [])


def test_the_recipe_grpo_resolves_wherever_it_is_started() -> None:
    resolved = resolve(Path(__file__).parents[1] / "recipes" / "grpo.yaml")
    assert len(resolved.chosen) >= 2
    assert resolved.recipe.model.name != "auto"
