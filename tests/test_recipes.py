"""Recipes: what is read, from where, and what is said about a mistake."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kernelwright.data.triples.templates import template_triples
from kernelwright.envs.system.hardware import gpus
from kernelwright.preflight.budget import Budget
from kernelwright.preflight.check import preflight
from kernelwright.preflight.estimate import measurements, parameters, weight_bytes
from kernelwright.recipe.resolve import RecipeError, resolve
from kernelwright.recipe.yaml_tree import Tree, merge, parse_value
from kernelwright.rewards.price import PRESETS
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.recipe.stage_names import stage_names
from kernelwright.run.dry_run import dry_run_text, estimates

ROOT = Path(__file__).parents[1]
FIXTURES = Path(__file__).with_name("fixtures") / "recipes"
SHIPPED = [one for one in sorted((ROOT / "recipes").glob("*.yaml")) if "data" not in one.stem]
HEADER = (
    'if __name__ == "__main__": import kernelwright.launch; '
    'kernelwright.launch.run(__file__); r"""\n'
)


def mistakes(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        resolve(path, overrides)
    return caught.value.lines


def written(folder: Path, text: str) -> Path:
    path = folder / "recipe.yaml"
    path.write_text(text, encoding="utf-8")
    return path


# --- what is shipped ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_recipe_is_yaml_and_python_and_resolves(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert isinstance(yaml.safe_load(text), dict)
    compile(text, str(path), "exec")
    assert resolve(path).recipe.name == path.stem


def test_there_are_recipes_and_no_python_among_them() -> None:
    assert {"quickstart", "quickstart-long", "contrastive", "grpo"} <= {one.stem for one in SHIPPED}
    assert not list((ROOT / "recipes").rglob("*.py"))


def test_the_recipe_for_cuda_says_why_it_cannot_run_here() -> None:
    if gpus():
        pytest.skip("this machine has a GPU")
    reasons = preflight(resolve(ROOT / "recipes" / "grpo-7b.yaml").recipe)
    assert any("cuda answers" in reason for reason in reasons)  # no speed, or no nvcc


# --- reading -----------------------------------------------------------------------------------


def test_a_child_overlays_its_parents_and_replaces_lists() -> None:
    recipe = resolve(FIXTURES / "grandchild.yaml").recipe
    assert recipe.name == "grandchild"
    assert (recipe.seed, recipe.sft.epochs, recipe.grpo.steps) == (3, 2, 9)
    assert (recipe.model.lora.rank, recipe.model.lora.targets) == (4, ("o_proj",))


def test_a_number_with_an_exponent_needs_no_point() -> None:
    assert resolve(FIXTURES / "base.yaml").recipe.sft.learning_rate == 1e-6
    assert parse_value("5E-4") == 5e-4
    assert parse_value("1e-6b") == "1e-6b"


def test_all_three_spellings_of_an_override_win_over_the_file() -> None:
    words = ["seed=7", "--grpo.steps=2", "--sft.learning_rate", "2e-5", "stages=[sft]"]
    recipe = resolve(FIXTURES / "base.yaml", words).recipe
    assert (recipe.seed, recipe.grpo.steps, recipe.sft.learning_rate) == (7, 2, 2e-5)
    assert recipe.stages == ("sft",)


def test_the_run_folder_follows_the_name_unless_it_is_given() -> None:
    assert resolve(FIXTURES / "base.yaml").recipe.run_dir == Path("runs/base")
    assert resolve(FIXTURES / "base.yaml", ["run_dir=here"]).recipe.run_dir == Path("here")


def test_origins_name_the_file_the_line_and_the_command_line() -> None:
    origins = resolve(FIXTURES / "child.yaml", ["seed=1"]).origins
    assert origins["name",] == f"{FIXTURES / 'child.yaml'}:2:1"
    assert origins["sft", "epochs"] == f"{FIXTURES / 'base.yaml'}:4:3"
    assert origins["seed",] == "command line"
    assert ("reward",) not in origins


SCALARS = st.one_of(st.integers(), st.booleans(), st.lists(st.integers(), max_size=2))
TREES = st.recursive(
    st.dictionaries(st.sampled_from("abc"), SCALARS, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), st.one_of(inner, SCALARS), max_size=3),
    max_leaves=8,
)


def leaves(values: dict[str, Any], prefix: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for key, value in values.items():
        path = (*prefix, key)
        found |= leaves(value, path) if isinstance(value, dict) and value else {path: value}
    return found


@given(TREES, TREES)
def test_what_is_above_stays_and_merging_it_again_changes_nothing(
    a: dict[str, Any], b: dict[str, Any]
) -> None:
    below, above = Tree(a, {}), Tree(b, {})
    merged = merge(below, above)
    kept = leaves(merged.values)
    assert all(kept[path] == value for path, value in leaves(b).items() if value != {})
    assert kept.keys() <= leaves(a).keys() | leaves(b).keys()
    assert merge(merged, above).values == merged.values
    assert merge(below, Tree({}, {})).values == a
    assert merge(Tree({}, {}), above).values == b


# --- mistakes ----------------------------------------------------------------------------------


def test_every_mistake_is_reported_at_once_with_its_place_and_the_likely_key() -> None:
    path = FIXTURES / "mistakes.yaml"
    found = {line.removeprefix(f"{path}:") for line in mistakes(path)}
    assert found == {
        "3:1: learning_rate: unknown key; did you mean 'sft.learning_rate' or "
        "'rft.learning_rate' or 'dpo.learning_rate' or 'grpo.learning_rate'?",
        "4:1: reward: no reward preset is named 'defalt'; did you mean 'default'? "
        f"(there are: {', '.join(sorted(PRESETS))})",
        "6:3: model.dtype: input should be 'auto', 'bfloat16' or 'float32', not 'bfloat'; "
        "did you mean 'bfloat16'?",
        "7:3: model.quantisation: unknown key; did you mean 'quantization'?",
        "9:3: sft.epochs: input should be a valid number, not '6'",
        "11:3: grpo.stepz: unknown key; did you mean 'steps'?",
        "12:3: grpo.beta: unknown key; it is an option of TRL: set grpo.trainer.beta",
        "13:3: grpo.group_size: input should be greater than or equal to 2, not 1",
        "15:5: grpo.trainer.betta: TRL's GRPOConfig has no such option; did you mean 'beta'?",
        "16:5: grpo.trainer.max_steps: the recipe decides this; set grpo.steps instead",
        "17:5: grpo.trainer.gradient_checkpointing: transformers calls it activation_checkpointing",
        "18:5: grpo.trainer.fsdp: not supported: every process holds the whole model, in NF4 if "
        "need be",
        "19:1: eval: a section: give its keys below it, or leave it out",
    }


def test_a_mistake_on_the_command_line_says_so() -> None:
    assert mistakes(FIXTURES / "base.yaml", "grpo.stpes=4") == [
        "command line: grpo.stpes: unknown key; did you mean 'steps'?"
    ]
    assert mistakes(FIXTURES / "base.yaml", "seed", "a..b=1", "seed=[", "--resum") == [
        "command line: seed: not an override; write key=value",
        "command line: a..b=1: not an override; write key=value",
        "command line: seed: not a YAML value: [",
        "command line: --resum: not an override; write key=value",
    ]


def test_a_list_of_languages_is_told_where_the_others_go() -> None:
    (line,) = mistakes(FIXTURES / "base.yaml", "data.dialect=[cpp, triton]")
    assert line.endswith("['cpp', 'triton']; give one, and the others as data.more_dialects")
    for words in ("data.more_dialects=[[cpp]]", "name=[a]"):
        (line,) = mistakes(FIXTURES / "base.yaml", words)
        assert "and the others as" not in line


def test_an_option_of_dpos_trainer_is_told_where_it_goes() -> None:
    (line,) = mistakes(FIXTURES / "base.yaml", "dpo.loss_type=ipo")
    assert line.endswith("unknown key; it is an option of TRL: set dpo.trainer.loss_type")


def test_a_recipe_that_extends_itself_is_an_error_and_so_is_a_missing_parent(
    tmp_path: Path,
) -> None:
    (line,) = mistakes(FIXTURES / "cycle.yaml")
    assert line.startswith(f"{FIXTURES / 'cycle_back.yaml'}:1:1: extends: a recipe cannot extend")
    orphan = written(tmp_path, "name: a\nextends: nobody.yaml\n")
    (line,) = mistakes(orphan)
    parent = tmp_path / "nobody.yaml"
    assert line == f"{orphan}:2:1: extends: cannot read {parent}: No such file or directory"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: a\nfoo: [1\nbar: 2", "3:4: not YAML: expected ',' or ']'"),
        ("name: a\nname: b\n", "2:1: name: set twice"),
        ("", "1:1: a recipe is a mapping"),
        ("- a\n", "1:1: a recipe is a mapping"),
        ("name: &x a\nreward: *x\n", "2:9: not YAML: aliases are not used"),
        ("name: a\n2020-01-01: 1\n", "2:1: 2020-01-01: a key is plain text"),
        ("name: !!python/object:os.system x\n", "1:7: not YAML: could not determine"),
        ("seed: 1\n", "1:1: name: required, but not set"),
        ("name: ../evil\n", "1:1: name: letters, digits and"),
    ],
)
def test_a_malformed_file_is_one_line_with_a_place(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = written(tmp_path, text)
    (line,) = mistakes(path)
    assert line.startswith(f"{path}:{expected}")


def test_the_header_must_be_closed_and_nothing_may_close_it_early(tmp_path: Path) -> None:
    (line,) = mistakes(written(tmp_path, HEADER + "name: a\n"))
    assert line.endswith('2:1: the last line of a recipe must be `# """`')
    (line,) = mistakes(written(tmp_path, HEADER + 'name: a  # """\n# """\n'))
    assert line.endswith("2:12: three quotes in a row end the recipe early")
    assert resolve(written(tmp_path, HEADER + 'name: a\n# """\n')).recipe.name == "a"


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("grpo.micro_batch_size=5", "grpo.micro_batch_size"),
        ("sft.micro_batch_size=3", "sft.micro_batch_size"),
        ("eval.samples=4", "eval"),
        ("stages=[sft,sft]", "stages"),
        ("model.lora.rank=x", "model.lora.rank"),
        ("judge.minimum_sandbox=hope", "judge.minimum_sandbox"),
        ("grpo.learning_rate=.nan", "grpo.learning_rate"),
    ],
)
def test_values_that_do_not_fit_together_are_refused(override: str, key: str) -> None:
    (line,) = mistakes(FIXTURES / "base.yaml", override)
    assert f": {key}: " in line


def test_a_mistake_in_a_file_is_not_blamed_on_an_override_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path, "name: a\ngrpo:\n  group_size: 9\n  micro_batch_size: 5\n")
    (line,) = mistakes(path, "grpo.steps=3")
    assert line.startswith(f"{path}:4:3: grpo.micro_batch_size: group_size x groups_per_step (36)")
    path = written(tmp_path, "name: a\ngrpo:\n  group_size: 9\n")
    (line,) = mistakes(path, "grpo.steps=3")
    assert line.startswith(f"{path}:2:1: grpo.micro_batch_size: group_size x groups_per_step (36)")


def test_a_value_that_fits_no_kind_is_told_by_its_key_alone() -> None:
    lines = mistakes(FIXTURES / "base.yaml", "model.lora.targets=q_proj")
    assert {line.split(": input")[0] for line in lines} == {"command line: model.lora.targets"}


def test_a_compiled_baseline_is_measured_where_kernels_are_or_refused() -> None:
    for mode in ("compile", "max-autotune"):
        words = [f"eval.baseline={mode}"]
        assert resolve(FIXTURES / "base.yaml", words).recipe.eval.baseline == mode
        (line,) = mistakes(FIXTURES / "base.yaml", *words, "judge.ray_address=auto")
        assert f": eval: baseline '{mode}' is measured on this machine" in line


def test_contrastive_prompts_need_speeds_to_show() -> None:
    (line,) = mistakes(FIXTURES / "base.yaml", "grpo.method=contrastive", "judge.timed=false")
    assert line.startswith("command line: judge: method 'contrastive' needs to know how fast")


def test_a_run_is_not_paid_for_what_it_does_not_measure() -> None:
    (line,) = mistakes(FIXTURES / "base.yaml", "reward=makora")
    assert line.startswith("command line: reward: reward 'makora' pays for speed against")


def test_a_recipe_does_not_change_after_the_check() -> None:
    recipe = Recipe.model_validate({"name": "a"})
    with pytest.raises(ValidationError):
        recipe.seed = 1


# --- estimates ---------------------------------------------------------------------------------


def test_the_size_of_a_model_is_read_from_its_name() -> None:
    assert parameters("Qwen/Qwen2.5-Coder-7B-Instruct") == 7e9
    assert parameters("qwen2.5-coder-0.5b") == 0.5e9
    assert parameters("smollm2-135m") == 135e6
    assert parameters("mistral-8x7b") is None
    assert parameters("gpt2") is None


def test_four_bits_save_memory_on_a_gpu_only() -> None:
    nf4 = Recipe.model_validate({"name": "a", "model": {"name": "x-7b"}})
    whole = Recipe.model_validate({"name": "a", "model": {"name": "x-7b", "quantization": "none"}})
    full = weight_bytes(whole, on_gpu=True)
    on_gpu, on_cpu = weight_bytes(nf4, on_gpu=True), weight_bytes(nf4, on_gpu=False)
    assert full == 14e9
    assert on_gpu
    assert on_cpu
    assert on_gpu < full < on_cpu


def test_the_judge_is_called_for_every_rollout_and_every_held_out_answer() -> None:
    words = ["eval.problems=5", "eval.samples=2", "eval.temperature=1", "grpo.steps=3"]
    lines = estimates(resolve(FIXTURES / "base.yaml", words).recipe, on_gpu=False)
    assert lines["eval"] == f"{5 * 2 * 3} answers"
    known = len(template_triples("train")) + 3 * 32 + 30
    assert lines["judge"] == f"at most {known} answers judged"
    assert lines["memory"].startswith("at least 0.3 GB")
    assert "baselines" not in lines


def test_sft_has_no_more_steps_than_its_estimate_says() -> None:
    """Some methods make several examples of a triple, and examples of mending come on top."""
    size = ["sft.epochs=1", "sft.batch_size=1", "sft.micro_batch_size=1"]
    triples = len(template_triples("train"))
    for words, each in (
        ([], 1.0),
        (["sft.mending=0.5"], 1.5),
        (["grpo.method=contrastive"], 1.5),
        (["grpo.method=cuda_l1", "sft.mending=1"], 3.0),
        (["grpo.method=kernel_smith"], 2.0),
    ):
        recipe = resolve(FIXTURES / "base.yaml", [*size, *words]).recipe
        steps = math.ceil(triples * each)
        assert estimates(recipe, on_gpu=False)["sft"] == f"at most {steps} optimiser steps"


def test_the_estimate_tells_how_many_problems_are_compiled() -> None:
    words = ["eval.problems=5", "eval.samples=2", "eval.temperature=1", "eval.baseline=compile"]
    lines = estimates(resolve(FIXTURES / "base.yaml", words).recipe, on_gpu=False)
    assert lines["baselines"] == "torch.compile of at most 5 problems, timed"


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ([], 3),
        (["eval.after_sft=false"], 2),
        (["eval.before=false"], 2),
        (["stages=[grpo, eval]"], 2),
        (["stages=[eval]"], 1),
        (["eval.greedy=true", "eval.temperature=1"], 5),
        (["stages=[eval]", "eval.before=false"], 0),
    ],
)
def test_the_held_out_suite_is_measured_around_each_stage(
    overrides: list[str], expected: int
) -> None:
    assert len(measurements(resolve(FIXTURES / "base.yaml", overrides).recipe)) == expected


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ([], True),
        (["stages=[grpo, eval]"], False),
        (["stages=[grpo]", "grpo.method.name=contrastive", "judge.timed=true"], True),
        (["stages=[eval]", "grpo.method.name=contrastive", "judge.timed=true"], False),
    ],
)
def test_examples_are_judged_where_anything_reads_them(
    overrides: list[str], *, expected: bool
) -> None:
    recipe = resolve(FIXTURES / "base.yaml", overrides).recipe
    assert recipe.judges_triples is ("triples" in stage_names(recipe)) is expected


def test_the_dry_run_is_itself_a_recipe_and_says_where_each_value_is_from(tmp_path: Path) -> None:
    resolved = resolve(FIXTURES / "child.yaml", ["seed=1", "sft.learning_rate=1e-6"])
    text = dry_run_text(resolved, Budget(recipe=resolved.recipe), ["a reason"])
    assert resolve(written(tmp_path, text)).recipe == resolved.recipe
    lines = {line.split("#")[0].strip(): line.split("#")[-1].strip() for line in text.splitlines()}
    assert lines["seed: 1"] == "command line"
    assert lines["epochs: 2.0"] == f"{FIXTURES / 'base.yaml'}:4:3"
    assert lines["reward: default"] == "default"


def test_a_recipe_that_comes_with_the_package_is_found_by_its_name_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = resolve(Path("quickstart")).recipe
    assert named == resolve(ROOT / "recipes" / "quickstart.yaml").recipe
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: quickstart.yaml\nname: mine\n")
    assert resolve(mine).recipe.sft == named.sft
    (tmp_path / "quickstart.yaml").write_text("name: here\n")
    assert resolve(mine).recipe.sft != named.sft
    with pytest.raises(RecipeError) as caught:
        resolve(Path("recipes/quickstart.yaml"))
    assert "by their name alone: contrastive, cuda_l1, dpo" in str(caught.value.lines)
