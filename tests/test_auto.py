"""`auto` takes what fits the machine, and says so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kernelwright.envs.system.hardware import Gpu
from kernelwright.recipe.auto import settle
from kernelwright.recipe.resolve import parse_overrides, resolve
from kernelwright.recipe.yaml_tree import Tree, merge, read_tree

QUICKSTART = Path(__file__).parents[1] / "recipes" / "quickstart.yaml"

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


SUITES = ("train_suite", "sft_suite", "held_out_suite")


def suites(*overrides: str, on: Sequence[Gpu]) -> list[str | None]:
    """Of the quickstart with these, where there are such GPUs: its suites."""
    tree = merge(read_tree(QUICKSTART), parse_overrides(overrides))
    found, lines = settle(tree, on, nvcc=True)
    data = found.values["data"]
    assert sum("sizes=gpu" in line for line in lines) == sum(
        data[name] != tree.values["data"].get(name) for name in SUITES
    )
    return [data[name] for name in SUITES]


ON_CPU = ["starter:rl", "starter:sft", "starter:held_out"]
ON_TRAIN = "starter:train?sizes=gpu"
ON_GPU = [f"{one}?sizes=gpu" for one in ON_CPU]


@pytest.mark.parametrize("dialect", ["cuda", "triton", "inline"])
def test_suites_have_gpu_sizes_where_answers_are_timed_on_a_gpu(dialect: str) -> None:
    assert suites(f"data.dialect={dialect}", on=[gpu(80)]) == ON_GPU
    assert suites(f"data.dialect={dialect}", on=[]) == ON_CPU


@pytest.mark.parametrize(
    "overrides",
    [
        ["data.dialect=cpp"],
        ["data.dialect=cuda", "judge.ray_address=auto"],
        ["data.dialect=cuda", "judge.timed=false", "eval.timed=false"],
        ["data.dialect=cuda", "judge.timed=false", "stages=[sft, grpo]"],
        ["data.dialect=cuda", "eval.timed=false", "stages=[sft, eval]"],
        ["data.dialect=cuda", "stages=[sft]"],
    ],
)
def test_suites_keep_cpu_sizes_where_nothing_is_timed_on_this_machines_gpu(
    overrides: list[str],
) -> None:
    assert suites(*overrides, on=[gpu(80)]) == ON_CPU


@pytest.mark.parametrize("timed", ["judge.timed=true", "eval.timed=true", "eval.greedy=true"])
def test_one_timed_stage_gives_all_suites_of_a_recipe_gpu_sizes(timed: str) -> None:
    untimed = ("data.dialect=cuda", "judge.timed=false", "eval.timed=false")
    assert suites(*untimed, timed, on=[gpu(80)]) == ON_GPU


def test_a_recipe_that_says_its_sizes_keeps_them_as_does_a_suite_of_another_kind() -> None:
    said = ["starter:rl?sizes=cpu", "kernelbench:mine", "starter:held_out?sizes=gpu"]
    words = [f"data.{name}={one}" for name, one in zip(SUITES, said, strict=True)]
    assert suites("data.dialect=cuda", *words, on=[gpu(80)]) == said


@pytest.mark.parametrize("dialect", ["cobol", ["cpp", "triton"], None, 3])
def test_what_is_no_language_is_left_for_the_schema_to_name_also_on_a_gpu(dialect: Any) -> None:
    tree = Tree({"data": {"dialect": dialect}}, {})
    assert settle(tree, [gpu(80)], nvcc=False) == (tree, [])


def test_suites_that_a_recipe_leaves_to_the_default_get_gpu_sizes_too() -> None:
    found, lines = settle(Tree({"data": {"dialect": "triton"}}, {}), [gpu(80)], nvcc=False)
    data = {"dialect": "triton", "train_suite": ON_TRAIN, "held_out_suite": ON_GPU[-1]}
    assert found.values["data"] == data
    assert lines[0] == f"data.train_suite: {ON_TRAIN} (answers are timed on a GPU)"
    assert found.origins["data", "train_suite"] == "default: auto"


@pytest.mark.parametrize("wrong", [{"data": 5}, {"stages": 5}, {"data": {"train_suite": 5}}])
def test_a_recipe_with_a_mistake_is_left_to_whoever_says_so(wrong: dict[str, object]) -> None:
    cuda: dict[str, object] = {"judge": 5, "data": {"dialect": "cuda"}}
    found, _ = settle(merge(Tree(cuda, {}), Tree(wrong, {})), [gpu(80)], nvcc=False)
    assert found.values["judge"] == 5
    assert 5 in (found.values["data"], found.values.get("stages"), _trained(found))


def _trained(tree: Tree) -> object:
    data = tree.values["data"]
    return data.get("train_suite") if isinstance(data, dict) else None
