"""A recipe that does not go together is refused before anything is trained."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.data.suites.row_folder import Done, RowFolder
from kernelwright.data.suites.rows import Row, row_line
from kernelwright.envs.types import Verdict
from kernelwright.preflight.consistency import contradictions
from kernelwright.recipe.resolve import resolve
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.train.trainer_options import common_options
from kernelwright.run.dry_run import estimates
from tests.nouns import cpp_row

MINE = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x + 1.0


def get_inputs():
    return [torch.randn(16, 32)]


def get_init_inputs():
    return []
"""
QUICKSTART = Path(__file__).parents[1] / "recipes" / "quickstart.yaml"


def found(*overrides: str, processes: int = 1) -> str:
    return "\n".join(contradictions(resolve(QUICKSTART, overrides).recipe, processes))


def test_the_quickstart_contradicts_nothing() -> None:
    assert found() == ""
    assert found(processes=4) == ""


def test_answers_are_not_to_be_dropped_by_what_nobody_measures() -> None:
    drop, blind = "grpo.drop_mismatched=0.001", "grpo.trainer.vllm_importance_sampling_correction"
    assert found(drop) == found(f"{blind}=false") == found(drop, f"{blind}=true") == ""
    assert found(drop, f"{blind}=false").startswith("grpo.drop_mismatched: with grpo.trainer.vllm")
    assert found(drop, f"{blind}=false", "stages=[sft, eval]") == ""


def test_pairs_of_problems_that_are_held_out_are_refused(tmp_path: Path) -> None:
    row, wrong = cpp_row(MINE, "int x;"), cpp_row(MINE, "int y;", Verdict.WRONG)
    rows = RowFolder(tmp_path)
    rows.open({})
    rows.add([Done(id="1", rows=(row,), wrong=(wrong,))])
    asked = ["stages=[dpo, eval]", f"dpo.pairs=rows:{tmp_path}"]
    assert "dpo.pairs: " not in found(*asked)
    said = found(*asked, f"data.held_out_suite=rows:{tmp_path}")
    assert "dpo.pairs: 1 of the 1 problems of data.held_out_suite are trained on (mine, …)" in said


def test_copies_of_held_out_problems_are_refused_whatever_their_sizes_and_names(
    tmp_path: Path,
) -> None:
    sized = MINE.replace("\nclass", "\nN = 16\n\nclass").replace("16, 32", "N, 32")
    copies = {
        "size": sized.replace("N = 16", "N = 24"),
        "names": sized.replace("(self, x)", "(self, image)").replace("x + 1.0", "image + 1.0"),
        "comment": f"# mine\n{sized}",
        "another": sized.replace("x + 1.0", "x + 2.0"),
    }
    for name, text in {"mine": sized, **copies}.items():
        row = Row(name=name, code=text)
        (tmp_path / f"{name}.jsonl").write_text(row_line(row), encoding="utf-8")
    held_out = f"data.held_out_suite=rows:{tmp_path}/mine.jsonl"
    words = ["stages=[grpo, eval]", "grpo.groups_per_step=1", "data.sft_suite=null"]
    for name in copies:
        said = found(f"data.train_suite=rows:{tmp_path}/{name}.jsonl", held_out, *words)
        assert ("are trained on (mine, …)" in said) == (name != "another"), name


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        (["data.held_out_suite=starter:sft"], "data.sft_suite: "),
        (["data.held_out_suite=starter:rl"], "data.train_suite: "),
        (["data.held_out_suite=starter:rl?sizes=gpu"], "data.train_suite: "),
        (["data.held_out_suite=starter:rl", "stages=[sft, eval]"], ""),
        (["data.held_out_suite=starter:sft", "stages=[grpo, eval]"], ""),
        (["data.held_out_suite=starter:sft", "stages=[sft, grpo]"], ""),
        (["data.held_out_suite=starter:sft", "data.train_on_held_out=true"], ""),
        (["data.sft_suite=null", "data.held_out_suite=starter:rl", "stages=[sft, eval]"], "data."),
        (["data.held_out_suite=starter:rl", "stages=[rft, eval]"], "data.train_suite: "),
        (["data.train_suite=exam"], "data.train_suite: exam is for evaluation"),
        (["data.train_suite=exam:losses", "stages=[sft, eval]"], ""),
        (["data.sft_suite=starter:nothing"], "data.sft_suite: "),
        (["data.sft_suite=starter:nothing", "stages=[sft]"], "data.sft_suite: "),
        (["data.sft_suite=starter:nothing", "stages=[grpo]"], ""),
        (["data.sft_suite=starter:nothing", "stages=[eval]"], ""),
    ],
)
def test_no_stage_learns_from_problems_that_are_measured_on(
    overrides: list[str], reason: str
) -> None:
    said = found(*overrides)
    assert said.startswith(reason)
    assert bool(said) == bool(reason)


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        (["stages=[sft, dpo]"], "dpo.pairs: no stage before dpo samples answers"),
        (["stages=[sft, rft, dpo]"], ""),
        (["stages=[sft, dpo]", "dpo.pairs=data:/nothing"], "dpo.pairs: /nothing has no rows"),
        (["stages=[dpo]", "dpo.pairs=starter:sft"], "dpo.pairs: starter:sft is neither"),
        (["stages=[sft]", "dpo.pairs=data:/nothing"], ""),
    ],
)
def test_preferences_without_pairs_are_refused_before_anything_is_trained(
    overrides: list[str], reason: str
) -> None:
    said = found(*overrides)
    assert said.startswith(reason)
    assert bool(said) == bool(reason)


def test_a_suite_too_small_for_a_step_is_refused_for_nothing_would_be_trained() -> None:
    problems = ("grpo.validate_every=1", "grpo.steps=1", "grpo.validation_problems=100000")
    assert "leaves 0 to train on" in found(*problems)
    assert found(*problems, "stages=[sft, eval]") == ""


def test_a_method_that_asks_for_a_problem_twice_fills_a_step_with_half_as_many(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.jsonl").write_text(row_line(Row(name="mine", code=MINE)), encoding="utf-8")
    suite = [f"data.train_suite=rows:{tmp_path}/mine.jsonl", "data.sft_suite=null"]
    for method, tasks in (("grpo", 1), ("stitchcuda", 2)):
        asked = [*suite, "stages=[grpo]", f"grpo.method={method}"]
        assert found(*asked, f"grpo.groups_per_step={tasks}") == ""
        said = found(*asked, f"grpo.groups_per_step={tasks + 1}")
        assert said.endswith(f"data.train_suite leaves {tasks} to train on")


def test_a_step_that_does_not_split_says_what_would() -> None:
    assert "a multiple of 3, or --num_processes 1" in found(processes=3)
    assert "--num_processes 2" in found(processes=6)
    assert found("stages=[eval]", processes=3) == ""
    assert "sft.batch_size (4)" in found("stages=[rft]", "sft.batch_size=4", processes=3)
    pairs = ("stages=[rft, dpo]", "dpo.batch_size=4")
    assert "dpo.batch_size (4) cannot be split evenly over 3" in found(*pairs, processes=3)


@given(micro=st.integers(1, 64), groups=st.integers(1, 8), world=st.sampled_from([1, 2, 4]))
def test_every_row_of_a_step_is_trained_on_whatever_the_micro_batch(
    micro: int, groups: int, world: int
) -> None:
    rows = 4 * groups * world
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("WORLD_SIZE", str(world))
        options = common_options(Recipe(name="a"), "grpo", micro, rows)
    each = options["per_device_train_batch_size"]
    assert each <= micro
    assert each * options["gradient_accumulation_steps"] * world == rows


@pytest.mark.parametrize("stages", ["[sft]", "[sft, grpo, eval]"])
def test_sft_on_problems_that_nobody_wrote_examples_for_is_refused(
    stages: str, tmp_path: Path
) -> None:
    folder = tmp_path / "suite" / "level1"
    folder.mkdir(parents=True)
    for number in range(8):
        (folder / f"{number}_mine.py").write_text(MINE.replace("1.0", f"{number}.5"))
    own = (f"data.train_suite=kernelbench:{folder.parent}", "data.sft_suite=null")
    assert "data.train_suite: there are no triples for" in found(*own, f"stages={stages}")
    assert "triples" not in found(*own, "stages=[grpo, eval]")


def test_rollouts_are_counted_once_for_all_updates_on_them_and_for_each_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["grpo.steps=4", "grpo.iterations=2", "grpo.oversampled_groups=1", "grpo.group_size=4"]
    words += ["grpo.groups_per_step=6", "grpo.micro_batch_size=4"]
    recipe = resolve(QUICKSTART, words).recipe
    monkeypatch.setenv("WORLD_SIZE", "2")
    said = estimates(recipe, on_gpu=False)["grpo"]
    assert said.startswith(f"4 steps, {2 * (6 + 2) * 4} rollouts")


@pytest.mark.sandbox
def test_a_module_of_ones_own_that_does_not_run_is_refused_by_its_name(tmp_path: Path) -> None:
    for number in range(5):
        text = MINE.replace("1.0", f"{number}.0")
        (tmp_path / f"m{number}.py").write_text(text, encoding="utf-8")
    words = f"data.train_suite=modules:{tmp_path}", "data.sft_suite=starter:sft"
    assert found(*words) == ""
    (tmp_path / "m3.py").write_text(MINE.replace("x + 1.0", "x + y"), encoding="utf-8")
    (line,) = found(*words).splitlines()
    assert line.startswith("data.train_suite: m3 does not run (NameError: name 'y' is not defined")
    assert line.endswith("mend it, or take it out")
